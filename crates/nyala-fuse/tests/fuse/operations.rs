// SPDX-License-Identifier: Apache-2.0

//! Every common operation through the kernel, on a real mount (as root, with `/dev/fuse`).

use crate::harness::Mounted;
use nyala_fuse::SessionConfig;
use nyala_fuse::mount::Via;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::Ordering;

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 31 + index / 4096) as u8).collect()
}

#[test]
fn files_are_written_read_truncated_and_synced() {
    let mounted = Mounted::new();
    let path = mounted.path("file");
    let data = pattern(5 * 1024 * 1024 + 77);
    let mut file = File::create_new(&path).unwrap();
    file.write_all(&data).unwrap();
    file.sync_all().unwrap();
    file.sync_data().unwrap();
    assert_eq!(mounted.fs.fsyncs.load(Ordering::SeqCst), 2);
    drop(file);
    assert_eq!(fs::read(&path).unwrap(), data);
    assert_eq!(fs::metadata(&path).unwrap().len(), data.len() as u64);

    let mut file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    file.write_all_at(b"middle", 1 << 20).unwrap();
    file.set_len(1 << 21).unwrap();
    file.seek(SeekFrom::Start((1 << 20) - 2)).unwrap();
    let mut bytes = [0; 10];
    file.read_exact(&mut bytes).unwrap();
    assert_eq!((&bytes[..2], &bytes[2..8]), (&data[(1 << 20) - 2..1 << 20], &b"middle"[..]));
    assert_eq!(file.metadata().unwrap().len(), 1 << 21);
    drop(file);
    assert_eq!(fs::read(&path).unwrap().len(), 1 << 21);
    // O_TRUNC arrives with the open.
    File::create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    assert_eq!(File::create_new(&path).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(mounted.path("none")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn direct_reads_and_writes_of_a_megabyte_pass() {
    use std::os::unix::fs::OpenOptionsExt;
    let mounted = Mounted::new();
    let path = mounted.path("direct");
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).custom_flags(libc::O_DIRECT).open(&path).unwrap();
    let data = pattern(3 << 20);
    file.write_all_at(&data, 0).unwrap();
    let mut back = vec![0; 3 << 20];
    file.read_exact_at(&mut back, 0).unwrap();
    assert!(back == data);
}

#[test]
fn names_are_made_renamed_linked_and_removed() {
    let mounted = Mounted::new();
    let (a, b, dir) = (mounted.path("a"), mounted.path("b"), mounted.path("dir"));
    fs::write(&a, b"content").unwrap();
    fs::create_dir(&dir).unwrap();
    fs::rename(&a, dir.join("a2")).unwrap();
    assert!(!a.exists());
    fs::write(&b, b"other").unwrap();
    fs::rename(dir.join("a2"), &b).unwrap();
    assert_eq!(fs::read(&b).unwrap(), b"content");
    fs::hard_link(&b, dir.join("hard")).unwrap();
    assert_eq!(fs::metadata(dir.join("hard")).unwrap().ino(), fs::metadata(&b).unwrap().ino());
    symlink("../b", dir.join("soft")).unwrap();
    assert_eq!(fs::read_link(dir.join("soft")).unwrap().to_str(), Some("../b"));
    assert_eq!(fs::read(dir.join("soft")).unwrap(), b"content");
    assert_eq!(fs::remove_dir(&dir).unwrap_err().raw_os_error(), Some(libc::ENOTEMPTY));
    fs::remove_file(dir.join("hard")).unwrap();
    fs::remove_file(dir.join("soft")).unwrap();
    fs::remove_dir(&dir).unwrap();
    // RENAME_NOREPLACE reaches the handler.
    fs::write(&a, b"x").unwrap();
    let result =
        rustix::fs::renameat_with(rustix::fs::CWD, &a, rustix::fs::CWD, &b, rustix::fs::RenameFlags::NOREPLACE);
    assert_eq!(result, Err(rustix::io::Errno::EXIST));
    // An open file outlives its name.
    let mut open = File::open(&b).unwrap();
    fs::remove_file(&b).unwrap();
    let mut content = String::new();
    open.read_to_string(&mut content).unwrap();
    assert_eq!(content, "content");
}

#[test]
fn attributes_are_set() {
    let mounted = Mounted::new();
    let path = mounted.path("file");
    fs::write(&path, b"x").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4711)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o4711);
    std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (12, 34));
    let time = std::time::UNIX_EPOCH - std::time::Duration::from_millis(1500);
    File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), time);
    let stat = rustix::fs::statvfs(mounted.root()).unwrap();
    assert_eq!((stat.f_blocks, stat.f_bavail, stat.f_ffree, stat.f_namemax), (1000, 600, 12345, 255));
}

#[test]
fn thousands_of_entries_come_over_several_calls() {
    let mounted = Mounted::new();
    let dir = mounted.path("many");
    fs::create_dir(&dir).unwrap();
    let wanted: BTreeSet<String> = (0..5000).map(|number| format!("entry-with-a-long-name-{number:05}")).collect();
    for name in &wanted {
        File::create(dir.join(name)).unwrap();
    }
    for _ in 0..2 {
        let before = mounted.fs.readdirs.load(Ordering::SeqCst);
        let listed: Vec<String> =
            fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(listed.len(), wanted.len());
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), wanted);
        assert!(mounted.fs.readdirs.load(Ordering::SeqCst) - before > 3, "one call gave everything");
    }
    // With attributes, which readdirplus has brought along.
    let sizes: u64 = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().nlink()).sum();
    assert_eq!(sizes, 5000);
}

#[test]
fn extended_attributes_and_their_sizes() {
    let mounted = Mounted::new();
    let path = mounted.path("file");
    fs::write(&path, b"x").unwrap();
    let long = vec![7u8; 40_000];
    use rustix::fs::{XattrFlags, getxattr, getxattr_query, listxattr, listxattr_query, removexattr, setxattr};
    setxattr(&path, "user.one", b"value", XattrFlags::CREATE).unwrap();
    setxattr(&path, "user.long", &long, XattrFlags::empty()).unwrap();
    assert_eq!(setxattr(&path, "user.one", b"v", XattrFlags::CREATE), Err(rustix::io::Errno::EXIST));
    let mut buf = vec![0u8; 65536];
    assert_eq!(getxattr_query(&path, "user.one").unwrap(), 5);
    assert_eq!(getxattr(&path, "user.one", &mut buf[..4]), Err(rustix::io::Errno::RANGE));
    assert_eq!(getxattr(&path, "user.long", &mut buf[..]).unwrap(), 40_000);
    assert_eq!(&buf[..40_000], &long[..]);
    let len = listxattr(&path, &mut buf[..]).unwrap();
    assert_eq!(&buf[..len], b"user.long\0user.one\0");
    assert_eq!(listxattr_query(&path).unwrap(), len);
    assert_eq!(listxattr(&path, &mut buf[..3]), Err(rustix::io::Errno::RANGE));
    removexattr(&path, "user.one").unwrap();
    assert_eq!(getxattr(&path, "user.one", &mut buf[..]), Err(rustix::io::Errno::NODATA));
}

#[test]
fn operations_that_the_handler_lacks_are_done_without() {
    let mounted = Mounted::new();
    let path = mounted.path("file");
    fs::write(&path, vec![1; 10_000]).unwrap();
    // copy_file_range and lseek: the kernel has its own ways.
    assert_eq!(fs::copy(&path, mounted.path("copy")).unwrap(), 10_000);
    let file = File::options().read(true).write(true).open(&path).unwrap();
    assert_eq!(rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).unwrap(), 10_000);
    let fallocate = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 100);
    assert_eq!(fallocate, Err(rustix::io::Errno::OPNOTSUPP));
    // Locks stay in this kernel.
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let other = File::open(&path).unwrap();
    let refused = rustix::fs::flock(&other, rustix::fs::FlockOperation::NonBlockingLockShared);
    assert_eq!(refused, Err(rustix::io::Errno::WOULDBLOCK));
}

#[test]
fn three_threads_and_the_helper_serve_as_well() {
    let mounted = Mounted::with(SessionConfig { threads: 3, ..SessionConfig::default() }, Via::Fusermount);
    std::thread::scope(|scope| {
        for thread in 0..6usize {
            let mounted = &mounted;
            scope.spawn(move || {
                for round in 0..50usize {
                    let path = mounted.path(&format!("{thread}-{round}"));
                    let data = pattern(1000 * (round + 1) + thread);
                    fs::write(&path, &data).unwrap();
                    assert_eq!(fs::read(&path).unwrap(), data);
                    fs::remove_file(&path).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_dir(mounted.root()).unwrap().count(), 0);
}
