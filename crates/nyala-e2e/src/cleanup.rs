// SPDX-License-Identifier: Apache-2.0

//! Takes a cluster away: its mounts, its processes, its network namespaces, its loop devices, its directory.
//!
//! Failure model: anything may be half there, stuck or dead already; the test itself may have been killed. So this works
//! from the directory alone: mounts are found in the mount table, processes by a command line that names the directory; and a guard process (`nyala-e2e-guard`) does it when the test process vanished.

pub use crate::signals::signal;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Unmounts everything below `root`, ends every process that works there, removes its namespaces and loop devices, deletes it. Says what did not work.
pub fn remove(root: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    unmount_below(root);
    let pids = processes_naming(root);
    for pid in &pids {
        signal(*pid, libc::SIGKILL);
    }
    let began = Instant::now();
    while pids.iter().any(|pid| alive(*pid, root)) {
        if began.elapsed() > Duration::from_secs(10) {
            wrong.push(format!("processes of {} do not die: {pids:?}", root.display()));
            break;
        }
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(5));
    }
    unmount_below(root);
    wrong.extend(crate::hosts::net::remove(root));
    wrong.extend(crate::hosts::disks::remove(root));
    let left = mounts_below(root);
    if !left.is_empty() {
        wrong.push(format!("still mounted: {left:?}"));
    } else if let Err(error) = std::fs::remove_dir_all(root)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        wrong.push(format!("{} cannot be deleted: {error}", root.display()));
    }
    wrong
}

/// Processes whose command line names `root` (a directory with a random name that only this test knows), other than
/// this one and its guard.
fn processes_naming(root: &Path) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let others = numbers.filter(|pid| *pid > 1 && *pid != std::process::id() as i32);
    others.filter(|pid| alive(*pid, root) && !is_guard(*pid)).collect()
}

fn is_guard(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("nyala-e2e-guar"))
}

/// Names and ids of the living processes that the pid files in `dir/run` name.
pub fn pids(dir: &Path) -> Vec<(String, i32)> {
    let Ok(entries) = std::fs::read_dir(dir.join("run")) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|ext| ext == "pid")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
            && let Some(pid) = pid_in(&path)
            && alive(pid, dir)
        {
            found.push((name.to_owned(), pid));
        }
    }
    found.sort();
    found
}

/// The process id that a pid file holds.
pub fn pid_in(path: &Path) -> Option<i32> {
    std::fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok().filter(|pid| *pid > 1)
}

/// Whether a process lives, is no zombie, and its command line names the directory.
pub fn alive(pid: i32, dir: &Path) -> bool {
    let Ok(line) = std::fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let dir = dir.as_os_str().as_bytes();
    line.windows(dir.len()).any(|part| part == dir)
}

/// Mount points at or below `dir`, the last mounted first. Not by the parser of nyala-fuse: this crate looks at a cluster
/// from outside and stands on none of what it tests.
pub fn mounts_below(dir: &Path) -> Vec<PathBuf> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape);
    let mut below: Vec<PathBuf> = points.filter(|point| point.starts_with(dir)).collect();
    below.reverse();
    below
}

/// Unmounts, lazily and by force if it must be.
fn unmount_below(dir: &Path) {
    for point in mounts_below(dir) {
        let path = CString::new(point.as_os_str().as_bytes()).expect("a path from the kernel has no NUL");
        // SAFETY: the path is a C string that lives through the call.
        if unsafe { libc::umount2(path.as_ptr(), 0) } != 0 {
            detach(&point);
        }
    }
}

/// Unmounts by force: what waits there for the client gets an error.
pub fn detach(point: &Path) {
    let path = CString::new(point.as_os_str().as_bytes()).expect("a mount point has no NUL");
    // SAFETY: the path is a C string that lives through the call.
    unsafe { libc::umount2(path.as_ptr(), libc::MNT_FORCE | libc::MNT_DETACH) };
}

/// The kernel writes blank, tab, newline and backslash in mount points as octal numbers.
fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = (bytes[at] == b'\\').then(|| text.get(at + 1..at + 4)).flatten();
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 4;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}
