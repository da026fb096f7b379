// SPDX-License-Identifier: Apache-2.0

//! A daemon that is killed leaves a mount that fails, whatever its clients were waiting for. The daemon is this very test
//! program, started once more for the one test that serves.

use crate::harness::{Mounted, wait};
use nyala_fuse::SessionConfig;
use nyala_fuse::mount::{Via, detach};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Set in the daemon.
const MARK: &str = "NYALA_TEST_DAEMON";
const LINE: &str = "mounted at ";

#[test]
fn serves_if_asked_to() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let mounted = Mounted::with(SessionConfig::default(), Via::System);
    fs::write(mounted.path("file"), b"x").unwrap();
    println!("\n{LINE}{}", mounted.root().display());
    // sleeps: it is killed long before
    std::thread::sleep(Duration::from_secs(30));
}

#[test]
fn a_killed_daemon_leaves_a_mount_that_fails_at_once() {
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args(["serves_if_asked_to", "--nocapture"])
        .env(MARK, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
    let root = lines.find_map(|line| line.unwrap().strip_prefix(LINE).map(PathBuf::from)).unwrap();
    assert_eq!(fs::read(root.join("file")).unwrap(), b"x");
    // One request is with the handler when it happens, another comes afterwards.
    let stuck = root.join("stuck");
    let client = std::thread::spawn(move || fs::metadata(stuck).map(drop));
    // sleeps: its request is with the handler by then
    std::thread::sleep(Duration::from_millis(200));
    assert!(!client.is_finished());
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let started = Instant::now();
    wait("the waiting client", || client.is_finished());
    let error = client.join().unwrap().unwrap_err();
    assert!(matches!(error.raw_os_error(), Some(libc::ECONNABORTED | libc::ENOTCONN)), "{error}");
    let later = root.join("later");
    let later = std::thread::spawn(move || fs::metadata(later).map(drop));
    wait("a later client", || later.is_finished());
    assert_eq!(later.join().unwrap().unwrap_err().raw_os_error(), Some(libc::ENOTCONN));
    assert!(started.elapsed() < Duration::from_secs(5));
    detach(&root, true).unwrap();
    fs::remove_dir(root).unwrap();
}
