// SPDX-License-Identifier: Apache-2.0

//! What could differ between the transports: requests that wait in numbers, data that is kept, sessions that end early, the
//! choice itself. On a real mount (as root); the programs `uring` and `uring_threads` run it on rings.

use crate::harness::uring::Switch;
use crate::harness::{Mounted, wait};
use nyala_fuse::mount::{Mount, MountOptions, Via};
use nyala_fuse::{Session, SessionConfig, SessionError, Transport};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Far more waiting requests than a queue has entries, and the one that ends their wait comes last.
#[test]
fn a_hundred_waiters_for_a_lock_do_not_keep_the_unlock_away() {
    use rustix::fs::{FlockOperation, flock};
    let fs = crate::memfs::MemFs::new();
    fs.flock.store(true, Ordering::SeqCst);
    let config = SessionConfig { ring_entries: 4, ..SessionConfig::default() };
    let mounted = Mounted::start(config, Via::System, fs);
    let path = mounted.path("file");
    let held = File::create(&path).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..100 {
            let file = File::open(&path).unwrap();
            scope.spawn(move || flock(&file, FlockOperation::LockExclusive).unwrap());
        }
        wait("the waiters", || mounted.fs.lock_waiters.load(Ordering::SeqCst) >= 100);
        flock(&held, FlockOperation::Unlock).unwrap();
    });
}

#[test]
fn data_that_a_handler_keeps_stays_what_it_was() {
    let mounted = crate::recorder::Mounted::new(SessionConfig { ring_entries: 2, ..SessionConfig::default() });
    let file = File::options().write(true).open(mounted.path()).unwrap();
    for round in 0..40u8 {
        file.write_all_at(&vec![round; 100_000], 0).unwrap();
    }
    let kept = mounted.held_data();
    assert_eq!(kept.len(), 40);
    for (round, data) in (0u8..).zip(kept) {
        assert!(data.len() == 100_000 && data.iter().all(|byte| *byte == round), "round {round}");
    }
}

/// A guard that outlives its reply never shows other data.
#[test]
fn a_guard_dropped_later_on_another_thread_keeps_its_data() {
    let mounted = crate::recorder::Mounted::new(SessionConfig::default());
    mounted.hold_guards(Duration::from_millis(50));
    let file = File::options().write(true).open(mounted.path()).unwrap();
    for round in 0..5u8 {
        file.write_all_at(&vec![round; 10_000], 0).unwrap();
    }
    wait("the guards", || mounted.guards() == 0);
    assert_eq!(mounted.wrong(), 0);
}

#[test]
fn requests_from_every_cpu_are_served() {
    let mounted = Mounted::new();
    let cpus = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        for cpu in 0..cpus {
            let path = mounted.path(&format!("{cpu}"));
            scope.spawn(move || {
                let mut set = rustix::thread::CpuSet::new();
                set.set(cpu);
                rustix::thread::sched_setaffinity(None, &set).unwrap();
                for round in 0..300usize {
                    fs::write(&path, vec![cpu as u8; round * 50]).unwrap();
                    assert_eq!(fs::read(&path).unwrap().len(), round * 50);
                    fs::remove_file(&path).unwrap();
                }
            });
        }
    });
}

/// Whoever drops the session while it serves leaves a mount that fails, not one that hangs.
#[test]
fn a_dropped_session_leaves_nobody_waiting() {
    let (config, _enabled) = crate::harness::uring::this_programs(SessionConfig::default());
    let dir = tempfile::tempdir().unwrap();
    let mount = Mount::new(&MountOptions::new("memfs:/", dir.path())).unwrap();
    let fs = Arc::new(crate::memfs::MemFs::new());
    let session = Session::new(mount.device(), Arc::clone(&fs), config);
    let path = dir.path().join("stuck");
    let client = std::thread::spawn(move || fs::metadata(path).map(drop));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let serving = async { tokio::time::timeout(Duration::from_millis(300), session.serve()).await };
    assert!(runtime.block_on(serving).is_err(), "the session ended by itself");
    assert_eq!(fs.stuck.load(Ordering::SeqCst), 1);
    drop(runtime);
    drop(mount);
    let started = Instant::now();
    wait("the client", || client.is_finished());
    assert!(client.join().unwrap().is_err());
    assert!(started.elapsed() < Duration::from_secs(5));
}

/// What a session with this configuration begins with, and that it serves.
fn begins(config: SessionConfig) -> Result<bool, SessionError> {
    let dir = tempfile::tempdir().unwrap();
    let mount = Mount::new(&MountOptions::new("memfs:/", dir.path())).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let session = Session::new(mount.device(), Arc::new(crate::memfs::MemFs::new()), config)
        .on_ready(move |negotiated| tell.send(negotiated.over_io_uring()).unwrap());
    let session = std::thread::spawn(move || session.run());
    let Ok(over_io_uring) = told.recv_timeout(Duration::from_secs(10)) else {
        return Err(session.join().unwrap().unwrap_err());
    };
    assert!(Command::new("stat").arg(dir.path()).output().unwrap().status.success());
    mount.unmount(false).unwrap();
    session.join().unwrap().unwrap();
    Ok(over_io_uring)
}

#[test]
fn the_transport_is_chosen_by_what_is_offered_and_asked_for() {
    let with = |transport, threads| SessionConfig { transport, threads, ..SessionConfig::default() };
    {
        let _off = Switch::off();
        let error = begins(with(Transport::Uring, 1)).unwrap_err();
        assert!(matches!(error, SessionError::NoUring(_)), "{error}");
        assert!(error.to_string().contains("enable_uring"), "{error}");
        assert!(!begins(with(Transport::Auto, 2)).unwrap());
    }
    let on = Switch::on();
    if on.is_known() {
        assert!(begins(with(Transport::Uring, 1)).unwrap());
        assert!(begins(with(Transport::Auto, 2)).unwrap());
    }
    assert!(!begins(with(Transport::Auto, 1)).unwrap());
    assert!(!begins(with(Transport::Dev, 2)).unwrap());
}
