// SPDX-License-Identifier: Apache-2.0

//! Locks of applications between two mounts: `flock`, byte ranges of processes and of open files.

use nyala_e2e::file_locks::Way;
use nyala_e2e::locker::Locker;
use nyala_e2e::{Mounts, beside_others, shared};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);
const NOT_YET: Duration = Duration::from_millis(400);

/// The start of an answer with this error.
fn is_error(answer: &str, errno: i32) -> bool {
    answer.starts_with(&format!("error {errno} "))
}

/// Two mounts with these files, for one test.
fn with_files(name: &str, files: &[&str], test: impl FnOnce(&[PathBuf], &[PathBuf])) {
    let _one = beside_others();
    let cluster = shared();
    let mounts = Mounts::new(&cluster, 2, "");
    let dirs = mounts.test_dirs(name);
    for file in files {
        let path = dirs[0].join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, b"content").unwrap();
    }
    let paths = |dir: &PathBuf| files.iter().map(|file| dir.join(file)).collect::<Vec<_>>();
    test(&paths(&dirs[0]), &paths(&dirs[1]));
    std::fs::remove_dir_all(&dirs[0]).unwrap();
}

#[test]
fn e2e_locks_ranges_conflict_and_are_told_of() {
    with_files("lock-ranges", &["f"], |here, there| {
        let (mut a, mut b) = (Locker::start(here), Locker::start(there));
        assert_eq!(a.ask("lock 0 fcntl write 100 50 try"), "ok");
        assert!(is_error(&b.ask("lock 0 fcntl read 149 1 try"), libc::EAGAIN));
        assert!(is_error(&b.ask("lock 0 ofd read 100 1 try"), libc::EAGAIN), "of one kind with those of processes");
        assert_eq!(b.ask("lock 0 fcntl write 0 100 try"), "ok");
        assert_eq!(b.ask("lock 0 fcntl write 150 10 try"), "ok");
        assert_eq!(b.ask("get 0 read 0 0"), "ok write 100 50");
        assert_eq!(a.ask("get 0 write 0 0"), "ok write 0 100");
        assert_eq!(b.ask("lock 0 flock write 0 0 try"), "ok", "flock knows nothing of ranges");
        assert!(is_error(&a.ask("lock 0 flock read 0 0 try"), libc::EAGAIN));
        // To the end, wherever that is.
        assert_eq!(a.ask("lock 0 fcntl read 1000 0 try"), "ok");
        assert_eq!(b.ask("get 0 write 5000 10"), "ok read 1000 0");
        assert_eq!(b.ask("get 0 read 5000 10"), "ok free");
        assert_eq!(b.ask(&format!("get 0 write {} 0", i64::MAX)), "ok read 1000 0");
        assert!(is_error(&b.ask(&format!("lock 0 fcntl write {} 1 try", i64::MAX - 1)), libc::EAGAIN));
        assert_eq!(a.ask("lock 0 fcntl unlock 2000 0 try"), "ok");
        assert_eq!(b.ask("get 0 write 5000 10"), "ok free");
        assert_eq!(b.ask("get 0 write 1500 10"), "ok read 1000 1000");
        // A close gives up what the process had, and only that.
        assert_eq!(a.ask("close 0"), "ok");
        assert_eq!(b.ask("lock 0 fcntl write 0 0 wait"), "ok");
    });
}

#[test]
fn e2e_locks_wait_and_are_had_when_given_up_or_their_holder_dies() {
    with_files("lock-waits", &["f"], |here, there| {
        for way in Way::ALL.map(Way::name) {
            for end in ["unlock", "close", "die"] {
                let (mut a, mut b) = (Locker::start(here), Locker::start(there));
                assert_eq!(a.ask(&format!("lock 0 {way} write 0 0 try")), "ok", "{way} {end}");
                b.tell(&format!("lock 0 {way} write 0 0 wait"));
                assert_eq!(b.answer(NOT_YET), None, "{way}: it has to wait");
                match end {
                    "unlock" => assert_eq!(a.ask(&format!("lock 0 {way} unlock 0 0 try")), "ok"),
                    "close" => assert_eq!(a.ask("close 0"), "ok"),
                    _ => a.signal(libc::SIGKILL),
                }
                assert_eq!(b.end_of(&format!("{way} after {end}"), SOON), "ok");
            }
        }
    });
}

#[test]
fn e2e_locks_deadlock_over_mounts_and_servers_is_found() {
    // Four directories, so that some lie on different servers.
    let files = ["d0/f", "d1/f", "d2/f", "d3/f"];
    with_files("lock-deadlock", &files, |here, there| {
        for other in 0..files.len() {
            let (mut a, mut b) = (Locker::start(here), Locker::start(there));
            assert_eq!(a.ask("lock 0 fcntl write 0 10 try"), "ok");
            assert_eq!(b.ask(&format!("lock {other} fcntl write 20 10 try")), "ok");
            a.tell(&format!("lock {other} fcntl write 20 10 wait"));
            assert_eq!(a.answer(NOT_YET), None);
            b.tell("lock 0 fcntl read 5 1 wait");
            // One of the two is refused; over several servers it may be either, and takes some seconds.
            let (began, mut ended) = (Instant::now(), (None, None));
            while ended == (None, None) && began.elapsed() < SOON {
                let look = Duration::from_millis(100);
                ended = (a.answer(look), b.answer(look));
            }
            let (first, mut last) = match ended {
                (Some(answer), None) => (answer, b),
                (None, Some(answer)) => (answer, a),
                both => panic!("file {other}: {both:?} ended after {:?}", began.elapsed()),
            };
            if first.trim_end() == "ok" {
                panic!("file {other}: both got their locks");
            }
            assert!(is_error(&first, libc::EDEADLK), "file {other}: {first}");
            assert_eq!(last.answer(NOT_YET), None, "who is refused keeps what it has");
        }
    });
}

#[test]
fn e2e_locks_an_interrupted_wait_leaves_everything_as_it_was() {
    with_files("lock-interrupts", &["f"], |here, there| {
        for way in Way::ALL.map(Way::name) {
            let (mut a, mut b) = (Locker::start(here), Locker::start(there));
            let mut c = Locker::start(here);
            assert_eq!(a.ask(&format!("lock 0 {way} write 0 0 try")), "ok");
            b.tell(&format!("lock 0 {way} write 0 0 wait"));
            assert_eq!(b.answer(NOT_YET), None);
            b.signal(libc::SIGUSR1);
            let answer = b.end_of("interrupted", SOON);
            assert!(is_error(&answer, libc::EINTR), "{way}: {answer}");
            assert_eq!(a.ask(&format!("lock 0 {way} unlock 0 0 try")), "ok");
            assert_eq!(c.ask(&format!("lock 0 {way} write 0 0 try")), "ok", "{way}: nobody has it");
        }
        // An upgrade that is interrupted keeps the lock that was to be upgraded.
        for way in ["fcntl", "ofd"] {
            let (mut a, mut b) = (Locker::start(here), Locker::start(there));
            assert_eq!(a.ask(&format!("lock 0 {way} read 0 0 try")), "ok");
            assert_eq!(b.ask(&format!("lock 0 {way} read 0 0 try")), "ok");
            b.tell(&format!("lock 0 {way} write 0 0 wait"));
            assert_eq!(b.answer(NOT_YET), None);
            b.signal(libc::SIGUSR1);
            assert!(is_error(&b.end_of("interrupted", SOON), libc::EINTR));
            assert!(is_error(&a.ask(&format!("lock 0 {way} write 0 0 try")), libc::EAGAIN), "{way}: the other reads");
            assert_eq!(a.ask("get 0 write 0 0"), "ok read 0 0");
        }
        // Who no longer waits is part of no deadlock.
        let (mut a, mut b) = (Locker::start(here), Locker::start(there));
        assert_eq!(a.ask("lock 0 fcntl write 0 10 try"), "ok");
        assert_eq!(b.ask("lock 0 fcntl write 10 10 try"), "ok");
        b.tell("lock 0 fcntl write 0 10 wait");
        assert_eq!(b.answer(NOT_YET), None);
        b.signal(libc::SIGUSR1);
        assert!(is_error(&b.end_of("interrupted", SOON), libc::EINTR));
        a.tell("lock 0 fcntl write 10 10 wait");
        assert_eq!(a.answer(Duration::from_secs(2)), None, "it waits, and is not told of a deadlock");
        assert_eq!(b.ask("close 0"), "ok");
        assert_eq!(a.end_of("a wait", SOON), "ok");
    });
}

#[test]
fn e2e_locks_flock_is_converted_by_giving_up_and_waiting() {
    with_files("lock-conversion", &["f"], |here, there| {
        let (mut a, mut b) = (Locker::start(here), Locker::start(there));
        assert_eq!(a.ask("lock 0 flock read 0 0 try"), "ok");
        assert_eq!(b.ask("lock 0 flock read 0 0 try"), "ok");
        a.tell("lock 0 flock write 0 0 wait");
        assert_eq!(a.answer(NOT_YET), None, "the other reads");
        // Both want more than they have: on a local file system one gets it, and so here.
        b.tell("lock 0 flock write 0 0 wait");
        let (mut first, mut last) = match b.answer(Duration::from_secs(10)) {
            Some(answer) => {
                assert_eq!(answer.trim_end(), "ok");
                (b, a)
            }
            None => {
                assert_eq!(a.end_of("conversion", SOON), "ok");
                (a, b)
            }
        };
        assert_eq!(last.answer(NOT_YET), None, "one at a time");
        assert_eq!(first.ask("lock 0 flock unlock 0 0 try"), "ok");
        assert_eq!(last.end_of("conversion", SOON), "ok");
    });
}
