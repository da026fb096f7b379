// SPDX-License-Identifier: Apache-2.0

//! A client that dies or hangs while it holds locks, delegations and data that is not written out: others go on after the
//! session timeout, what it had fsynced is there, and if it comes back it does no harm.

use nyala_e2e::locker::Locker;
use nyala_e2e::{Cluster, Mounts, Options, beside_others, cleanup};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What `nyala up --session-timeout` is told, and what others wait at most beyond it.
const TIMEOUT: &str = "4s";
const LIMIT: Duration = Duration::from_secs(4 + 15);

fn cluster() -> Cluster {
    Cluster::start(Options { more: vec!["--session-timeout".into(), TIMEOUT.into()], ..Options::default() })
}

/// The files of a victim, all held by it: locked, delegated, partly not written out.
const FILES: [&str; 3] = ["flocked", "ranges", "plain"];

/// A process on the victim's mount that holds everything.
fn hold(dir: &Path) -> Locker {
    for name in FILES {
        fs::write(dir.join(name), b"before....").unwrap();
    }
    let mut victim = Locker::start(&FILES.map(|name| dir.join(name)));
    assert_eq!(victim.ask("lock 0 flock write 0 0 try"), "ok");
    assert_eq!(victim.ask("lock 1 fcntl write 10 10 try"), "ok");
    assert_eq!(victim.ask("lock 1 ofd write 30 0 try"), "ok");
    for file in 0..3 {
        assert_eq!(victim.ask(&format!("write {file} 0 fsynced...")), "ok");
        assert_eq!(victim.ask(&format!("sync {file}")), "ok");
        assert_eq!(victim.ask(&format!("write {file} 10 dirty.....")), "ok");
    }
    victim
}

/// Others get the locks, read what was fsynced, and write; gives how long they waited.
fn go_on(dir: &Path) -> Duration {
    let began = Instant::now();
    let mut other = Locker::start(&FILES.map(|name| dir.join(name)));
    other.tell("lock 0 flock write 0 0 wait");
    assert_eq!(other.end_of("flock", LIMIT), "ok");
    other.tell("lock 1 fcntl write 0 0 wait");
    assert_eq!(other.end_of("fcntl", LIMIT), "ok");
    let waited = began.elapsed();
    for file in 0..3 {
        other.tell(&format!("read {file}"));
        let read = other.end_of("read", LIMIT);
        assert!(read.starts_with("ok fsynced..."), "file {file}: what was fsynced is there: {read}");
        other.tell(&format!("write {file} 0 survivors'"));
        assert_eq!(other.end_of("write", LIMIT), "ok");
        other.tell(&format!("sync {file}"));
        assert_eq!(other.end_of("fsync", LIMIT), "ok");
    }
    fs::write(dir.join("new"), b"made afterwards").unwrap();
    fs::rename(dir.join("plain"), dir.join("moved")).unwrap();
    assert!(began.elapsed() < LIMIT * 2, "{:?}", began.elapsed());
    waited
}

/// The files' content: what the survivors wrote, and after it what the victim had sent while it was alive, if anything.
fn contents(dir: &Path) -> [String; 3] {
    ["flocked", "ranges", "moved"].map(|name| {
        let content = fs::read(dir.join(name)).unwrap();
        let text = String::from_utf8_lossy(&content).into_owned();
        assert!(text.starts_with("survivors'"), "{name}: {text:?}");
        text
    })
}

fn dirs(mounts: &mut Mounts<'_>) -> (PathBuf, PathBuf, PathBuf) {
    // Long enough that nothing is written out by itself.
    let point = mounts.add(",max-dirty-age=60s");
    let dirs = mounts.test_dirs("deaths");
    (point, dirs[1].clone(), dirs[0].clone())
}

#[test]
fn e2e_deaths_of_a_killed_client_free_everything_after_the_timeout() {
    let _one = beside_others();
    let cluster = cluster();
    let mut mounts = Mounts::new(&cluster, 1, "");
    let (point, its, ours) = dirs(&mut mounts);
    let victim = hold(&its);
    cleanup::signal(mounts.pid(&point), libc::SIGKILL);
    let waited = go_on(&ours);
    println!("killed client: others had its locks after {:.1} s", waited.as_secs_f64());
    let was = contents(&ours);
    drop(victim);
    cleanup::detach(&point);
    assert_eq!(contents(&ours), was, "what was not sent is lost with it");
    cluster.assert_fsck_clean_but_for_dead_clients();
}

#[test]
fn e2e_deaths_a_stopped_client_is_fenced_and_does_no_harm_when_it_goes_on() {
    let _one = beside_others();
    let cluster = cluster();
    let mut mounts = Mounts::new(&cluster, 1, "");
    let (point, its, ours) = dirs(&mut mounts);
    let mut victim = hold(&its);
    let pid = mounts.pid(&point);
    cleanup::signal(pid, libc::SIGSTOP);
    // What its programs do now waits in the stopped client.
    victim.tell("write 2 0 too-late..");
    let waited = go_on(&ours);
    println!("stopped client: others had its locks after {:.1} s", waited.as_secs_f64());
    let mut was = contents(&ours);
    cleanup::signal(pid, libc::SIGCONT);
    let late = victim.end_of("the write that waited", LIMIT);
    // What never went out is lost, and that is said, by fsync at the latest. On a busy machine some went out before the client stopped.
    for file in (0..3).filter(|file| !was[*file].contains("dirty")) {
        let sync = victim.ask(&format!("sync {file}"));
        let said = sync.starts_with("error") || file == 2 && late.starts_with("error");
        assert!(said, "file {file}: data that was lost is an error: {sync}; write: {late}; {was:?}");
    }
    drop(victim);
    // sleeps: what the fenced client had under way has arrived, if it ever does
    std::thread::sleep(Duration::from_secs(2));
    if late == "ok" {
        // A write that returns only now is one that was made now.
        assert!(fs::read(ours.join("moved")).unwrap().starts_with(b"too-late.."));
        fs::write(ours.join("moved"), b"survivors'").unwrap();
        was[2] = "survivors'".to_owned();
    }
    assert_eq!(contents(&ours), was, "what it had not sent before it was fenced stays out");
    // The mount itself lives: what is opened anew works.
    let content = fs::read(its.join("moved")).unwrap();
    assert!(content.starts_with(b"survivors'"), "{:?}", String::from_utf8_lossy(&content));
    fs::write(its.join("again"), b"back").unwrap();
    assert_eq!(fs::read(ours.join("again")).unwrap(), b"back");
    cluster.assert_fsck_clean_but_for_dead_clients();
}
