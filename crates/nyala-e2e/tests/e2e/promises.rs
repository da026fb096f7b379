// SPDX-License-Identifier: Apache-2.0

//! Promises that go beyond what the local file system under the checks of `posix` can show: XFS's limits, what is refused,
//! what is on the servers.

use nyala_e2e::cluster::text;
use nyala_e2e::posix::{pattern, same};
use nyala_e2e::{Cluster, Options, beside_others, cleanup, run, shared, sys};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);

#[track_caller]
fn refused<T: std::fmt::Debug>(result: io::Result<T>, errno: i32) {
    assert_eq!(result.unwrap_err().raw_os_error(), Some(errno));
}

fn new_file(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create_new(true).open(path).unwrap()
}

fn as_nobody(script: &str) -> String {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-ec", script]).current_dir("/");
    run::run(&mut command, LIMIT).must()
}

/// XFS's limits: 255 bytes of name, 64 KiB of value; `trusted.` is not even listed to others than root.
#[test]
fn e2e_xattr_limits() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("xattrs");
    let path = dir.join("f");
    fs::write(&path, b"x").unwrap();
    let (longest, longer) = (format!("user.{}", "n".repeat(250)), format!("user.{}", "n".repeat(251)));
    for (value, name) in
        [(pattern(1, 65_536), longest.as_str()), (pattern(2, 4000), "trusted.t"), (vec![], "security.s")]
    {
        sys::setxattr(&path, name, &value, 0).unwrap();
        same(&sys::getxattr(&path, name).unwrap(), &value);
    }
    refused(sys::setxattr(&path, &longer, b"x", 0), libc::ERANGE);
    refused(sys::setxattr(&path, "user.big", &pattern(1, 65_537), 0), libc::E2BIG);
    refused(sys::setxattr(&path, "unknown.x", b"x", 0), libc::ENOTSUP);
    std::os::unix::fs::symlink("f", dir.join("s")).unwrap();
    refused(sys::setxattr(&dir.join("s"), "user.x", b"x", 0), libc::EPERM);
    sys::setxattr(&dir.join("s"), "trusted.x", b"x", 0).unwrap();
    for number in 0..200 {
        sys::setxattr(&path, &format!("user.many{number}"), format!("{number}").as_bytes(), 0).unwrap();
    }
    assert_eq!(sys::listxattr(&path).unwrap().len(), 201);
    let list = |more: &str| format!("getfattr --absolute-names -m - {more} '{}'", path.display());
    assert!(run::sh(&list(""), LIMIT).must().contains("trusted.t"));
    let seen = as_nobody(&list(""));
    assert!(seen.contains("user.many199") && seen.contains("security.s") && !seen.contains("trusted."), "{seen}");
    fs::remove_dir_all(&dir).unwrap();
}

/// A file of 8 EiB − 1, nearly all of it a hole. Bytes can be where the targets' own file systems can have them.
#[test]
fn e2e_largest_file() {
    const SIZE: u64 = i64::MAX as u64;
    const FAR: u64 = 10 << 40;
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("largest");
    let path = dir.join("f");
    let file = new_file(&path);
    file.write_all_at(b"begin", 0).unwrap();
    file.set_len(SIZE).unwrap();
    file.write_all_at(b"!", FAR).unwrap();
    file.sync_all().unwrap();
    let meta = fs::metadata(&path).unwrap();
    assert!(meta.len() == SIZE && meta.blocks() < 100_000, "{} bytes in {} blocks", meta.len(), meta.blocks());
    let mut end = [7; 4096];
    file.read_exact_at(&mut end, SIZE - 4096).unwrap();
    assert_eq!(end, [0; 4096]);
    file.read_exact_at(&mut end, FAR - 4095).unwrap();
    assert!(end[..4095].iter().all(|byte| *byte == 0) && end[4095] == b'!');
    assert_eq!(file.read_at(&mut end[..1], SIZE - 1).unwrap(), 1, "the last byte there can be");
    let data = sys::seek(&file, 1 << 40, libc::SEEK_DATA).unwrap() as u64;
    assert!(data > 1 << 40 && data <= FAR, "{data}");
    let hole = sys::seek(&file, FAR as i64, libc::SEEK_HOLE).unwrap() as u64;
    assert!(hole > FAR && hole < FAR + (1 << 40), "{hole}");
    sys::fallocate(&file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, 1, 1 << 30).unwrap();
    file.read_exact_at(&mut end[..5], 0).unwrap();
    assert_eq!(&end[..5], b"b\0\0\0\0");
    file.set_len(1).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"b");
    fs::remove_dir_all(&dir).unwrap();
}

/// The modes that move what is behind them are refused and change nothing.
#[test]
fn e2e_fallocate_modes() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("modes");
    for len in [3000, 3_000_000] {
        let path = dir.join(format!("f{len}"));
        let mut want = pattern(1, len);
        let file = new_file(&path);
        file.write_all_at(&want, 0).unwrap();
        for mode in [libc::FALLOC_FL_COLLAPSE_RANGE, libc::FALLOC_FL_INSERT_RANGE, libc::FALLOC_FL_UNSHARE_RANGE] {
            refused(sys::fallocate(&file, mode, 0, 4096), libc::EOPNOTSUPP);
        }
        refused(sys::fallocate(&file, libc::FALLOC_FL_PUNCH_HOLE, 0, 4096), libc::EOPNOTSUPP);
        same(&fs::read(&path).unwrap(), &want);
        sys::fallocate(&file, libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE, 1000, len as i64).unwrap();
        want[1000..].fill(0);
        same(&fs::read(&path).unwrap(), &want);
        sys::fallocate(&file, libc::FALLOC_FL_ZERO_RANGE, 1000, len as i64).unwrap();
        want.resize(1000 + len, 0);
        same(&fs::read(&path).unwrap(), &want);
        refused(sys::fallocate(&file, 0, i64::MAX - 10, 100), libc::EFBIG);
        refused(sys::fallocate(&File::open(&path).unwrap(), 0, 0, 10), libc::EBADF);
    }
    fs::remove_dir_all(&dir).unwrap();
}

/// A further mount.
fn mount(cluster: &Cluster, name: &str) -> PathBuf {
    let point = cluster.root().join(name);
    fs::create_dir(&point).unwrap();
    let source = format!("127.0.0.1:{}:/", cluster.port());
    let secret = format!("secret={}", text(&cluster.dir().join("secret")));
    cluster.nyala(["mount", &source, &text(&point), "-o", &secret]).must();
    point
}

/// The process that serves a mount.
fn served_by(cluster: &Cluster, point: &Path) -> i32 {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let serves = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        cleanup::alive(*pid, cluster.root()) && line.split(|byte| *byte == 0).any(|word| word == text(point).as_bytes())
    };
    numbers.filter(|pid| *pid > 1).find(serves).expect("the mount has a process")
}

/// What was written with O_SYNC, O_DSYNC, or before fsync, does not die with the client.
#[test]
fn e2e_synced_writes_outlive_the_client() {
    let _one = beside_others();
    // What the client held is free when its session has ended.
    let more = ["--session-timeout", "3s"].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 1, more });
    let dir = cluster.test_dir("synced");
    let point = mount(&cluster, "synced-mount");
    let there = point.join("synced");
    let write = |name: &str, flags: i32, len: usize| {
        let mut file =
            OpenOptions::new().write(true).create_new(true).custom_flags(flags).open(there.join(name)).unwrap();
        file.write_all(&pattern(len as u64, len)).unwrap();
        file
    };
    let mut held = Vec::new();
    for len in [1000, 700_000] {
        held.push(write(&format!("sync-{len}"), libc::O_SYNC, len));
        held.push(write(&format!("dsync-{len}"), libc::O_DSYNC, len));
        let fsynced = write(&format!("fsync-{len}"), 0, len);
        fsynced.sync_all().unwrap();
        held.push(fsynced);
        let data_synced = write(&format!("fdatasync-{len}"), 0, len);
        data_synced.sync_data().unwrap();
        held.push(data_synced);
    }
    cleanup::signal(served_by(&cluster, &point), libc::SIGKILL);
    drop(held);
    run::sh(&format!("umount -l '{}'", point.display()), LIMIT).must();
    for way in ["sync", "dsync", "fsync", "fdatasync"] {
        for len in [1000, 700_000] {
            same(&fs::read(dir.join(format!("{way}-{len}"))).unwrap(), &pattern(len as u64, len));
        }
    }
}
