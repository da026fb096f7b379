// SPDX-License-Identifier: Apache-2.0

//! Two mounts of one cluster see each other's changes within the stated cache time.

use nyala_e2e::cluster::text;
use nyala_e2e::mounts::Mounts;
use nyala_e2e::posix::pattern;
use nyala_e2e::{alone, beside_others, shared, wait_until};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The cache time that `docs/SEMANTICS.md` states, and room for a slow machine.
const CACHE_TIME: Duration = Duration::from_millis(1000);
const SLACK: Duration = Duration::from_millis(500);

/// Waits until `seen`; fails when the cache time is over.
#[track_caller]
fn soon(what: &str, seen: impl Fn() -> bool) {
    wait_until(CACHE_TIME + SLACK, seen, || format!("{what} is seen"));
}

/// Changes through one mount, looks through the other.
fn changes(here: &Path, there: &Path, tag: &str) {
    let (a, b) = (here.join(tag), there.join(tag));
    let is = |path: PathBuf, want: Vec<u8>| move || fs::read(&path).is_ok_and(|got| got == want);
    assert!(!b.exists(), "and so `does not exist` may be cached there");
    fs::create_dir(&a).unwrap();
    soon("mkdir", || b.is_dir());
    assert_eq!(fs::read_dir(&b).unwrap().count(), 0);
    assert!(!b.join("f").exists());
    fs::write(a.join("f"), b"small").unwrap();
    soon("create and write", is(b.join("f"), b"small".into()));
    soon("listing", || fs::read_dir(&b).unwrap().count() == 1);
    fs::write(a.join("f"), pattern(1, 2_000_000)).unwrap();
    soon("overwrite with more", is(b.join("f"), pattern(1, 2_000_000)));
    OpenOptions::new().write(true).open(a.join("f")).unwrap().write_all_at(&pattern(2, 5000), 1_000_000).unwrap();
    let mut want = pattern(1, 2_000_000);
    want[1_000_000..1_005_000].copy_from_slice(&pattern(2, 5000));
    soon("overwrite in the middle", is(b.join("f"), want.clone()));
    OpenOptions::new().append(true).open(b.join("f")).unwrap().write_all(b"from the other side").unwrap();
    want.extend_from_slice(b"from the other side");
    soon("append on the other side", is(a.join("f"), want.clone()));
    soon("append on this side", is(b.join("f"), want));
    OpenOptions::new().write(true).open(a.join("f")).unwrap().set_len(1234).unwrap();
    soon("truncate", || fs::metadata(b.join("f")).unwrap().len() == 1234);
    soon("truncated content", is(b.join("f"), pattern(1, 1234)));
    fs::set_permissions(a.join("f"), PermissionsExt::from_mode(0o604)).unwrap();
    soon("chmod", || fs::metadata(b.join("f")).unwrap().mode() & 0o777 == 0o604);
    fs::rename(a.join("f"), a.join("g")).unwrap();
    soon("rename", || !b.join("f").exists() && b.join("g").exists());
    let held = fs::File::open(b.join("g")).unwrap();
    fs::remove_file(a.join("g")).unwrap();
    soon("unlink", || !b.join("g").exists());
    let mut got = vec![0; 1234];
    held.read_exact_at(&mut got, 0).unwrap();
    assert_eq!(got, pattern(1, 1234), "a file removed elsewhere lives as long as it is open here");
    drop(held);
    fs::remove_dir(&a).unwrap();
    soon("rmdir", || !b.exists());
}

/// Data written and not closed is seen too, after an fsync or the second after which it goes out by itself.
fn open_writer(here: &Path, there: &Path) {
    let mut file = fs::File::create(here.join("open")).unwrap();
    for number in 0..20 {
        writeln!(file, "line {number}").unwrap();
        if number % 5 == 0 {
            file.sync_all().unwrap();
            let want = format!("line {number}\n");
            soon("fsynced line", || fs::read_to_string(there.join("open")).is_ok_and(|text| text.ends_with(&want)));
        }
    }
    wait_until(
        CACHE_TIME * 3,
        || fs::read_to_string(there.join("open")).unwrap().ends_with("line 19\n"),
        || "written lines go out by themselves".to_owned(),
    );
}

/// O_EXCL: of two that create the same name at once, one wins.
fn exclusive(here: &Path, there: &Path) {
    for number in 0..60 {
        let make =
            |dir: &Path| OpenOptions::new().write(true).create_new(true).open(dir.join(format!("x{number}"))).is_ok();
        let winners = std::thread::scope(|scope| {
            let other = scope.spawn(|| make(there));
            usize::from(make(here)) + usize::from(other.join().unwrap())
        });
        assert_eq!(winners, 1, "x{number}");
    }
    assert_eq!(fs::read_dir(here).unwrap().count(), 60);
}

/// A file that is open for reading and writing here is cut short there: it ends where it ends, and no zeros follow.
fn cut_short(here: &Path, there: &Path) {
    for number in 0..60 {
        let (a, b) = (here.join(number.to_string()), there.join(number.to_string()));
        fs::write(&a, pattern(number, 13_000)).unwrap();
        let held = OpenOptions::new().read(true).write(true).open(&a).unwrap();
        held.write_all_at(b"head", 0).unwrap();
        assert_eq!(fs::read(&b).unwrap()[..4], *b"head");
        assert_eq!(fs::read(&a).unwrap().len(), 13_000);
        let other = OpenOptions::new().write(true).open(&b).unwrap();
        other.write_all_at(b"there", 4).unwrap();
        drop(OpenOptions::new().write(true).open(&a).unwrap());
        assert_eq!(fs::read(&b).unwrap().len(), 13_000);
        other.set_len(9).unwrap();
        let mut got = [0; 5000];
        let len = held.read_at(&mut got, 0).unwrap();
        assert_eq!((len, &got[..9]), (9, &b"headthere"[..]), "round {number}");
    }
}

#[test]
fn e2e_two_mounts_see_each_other() {
    let _one = alone();
    let cluster = shared();
    let second = cluster.root().join("mnt2");
    fs::create_dir(&second).unwrap();
    let source = format!("127.0.0.1:{}:/", cluster.port());
    let secret = format!("secret={}", text(&cluster.dir().join("secret")));
    cluster.nyala(["mount", &source, &text(&second), "-o", &secret]).must();
    let name = "mounts";
    let here = cluster.test_dir(name);
    let there = second.join(name);
    for round in 0..3 {
        changes(&here, &there, &format!("a{round}"));
        changes(&there, &here, &format!("b{round}"));
    }
    let checks = [("open", open_writer as fn(&Path, &Path)), ("exclusive", exclusive), ("short", cut_short)];
    for (name, check) in checks {
        fs::create_dir(here.join(name)).unwrap();
        soon("mkdir", || there.join(name).is_dir());
        check(&here.join(name), &there.join(name));
    }
    cluster.nyala(["umount", &text(&second)]).must();
    assert_eq!(fs::read_dir(&second).unwrap().count(), 0, "nothing is mounted there any more");
    fs::remove_dir(&second).unwrap();
}

/// What is done behind the back of a program, such as setting the access time after its close, must not make the kernel throw away the size that
/// it is just asking for.
#[test]
fn e2e_mounts_a_close_does_not_hide_how_far_another_mount_has_written() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("grown-elsewhere");
    let mut mounts = Mounts::new(&cluster, 1, "");
    let other = mounts.add("").join("grown-elsewhere");
    let writer = OpenOptions::new().read(true).write(true).create_new(true).open(other.join("f")).unwrap();
    let reader = fs::File::open(dir.join("f")).unwrap();
    let (mut end, piece) = (0, pattern(3, 5000));
    let mut grow = || {
        writer.write_all_at(&piece, end).unwrap();
        end += piece.len() as u64;
        end
    };
    let short = (0..300)
        .filter(|_| {
            grow();
            fs::File::open(dir.join("f")).unwrap().read_exact_at(&mut [0; 1000], 0).unwrap();
            let end = grow();
            let mut found = vec![0; piece.len()];
            let from = end - piece.len() as u64;
            reader.read_at(&mut found, from).unwrap() < piece.len() || found != piece
        })
        .count();
    assert_eq!(short, 0, "reads that ended before the file does");
    fs::remove_dir_all(&dir).unwrap();
}
