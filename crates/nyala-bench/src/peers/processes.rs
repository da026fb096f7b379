// SPDX-License-Identifier: Apache-2.0

//! Which processes belong to a file system, and the CPU time of all of them: those whose command line names its directory, which has
//! a name that nothing else has. So it does not matter who started them and who their parent is by now.
//!
//! **Failure model.** Processes come and go while they are looked for: what has gone is left out. One that ends takes its CPU time
//! with it; servers and mounts do not end while they are measured, and if one does, the next operation on the mount fails.

use crate::error::{BenchError, io};
use crate::measure::cpu;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long processes may take to end when they are asked, and when they are not asked any more.
const END: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(50);

/// Processes whose command line names a directory, but not this one.
pub fn of(dir: &Path) -> Vec<i32> {
    let own = std::process::id();
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let names = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(dir.as_os_str().len()).any(|part| part == dir.as_os_str().as_bytes())
    };
    numbers.filter(|pid| own != pid.unsigned_abs()).filter(names).collect()
}

/// CPU time of all of them, microseconds.
pub fn cpu_us(dir: &Path) -> u64 {
    of(dir).into_iter().filter_map(cpu::process_us).sum()
}

fn alive(pid: i32) -> Option<Pid> {
    Pid::from_raw(pid).filter(|pid| test_kill_process(*pid).is_ok() && !is_zombie(pid.as_raw_nonzero().get()))
}

/// Ended, and not yet looked at by its parent: it has no command line any more.
fn is_zombie(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.is_empty())
}

/// Ends all of them: asked first, then not asked.
pub fn end(dir: &Path) {
    end_within(dir, END);
}

fn end_within(dir: &Path, limit: Duration) {
    for signal in [Signal::TERM, Signal::KILL] {
        let began = Instant::now();
        loop {
            let left: Vec<Pid> = of(dir).into_iter().filter_map(alive).collect();
            if left.is_empty() {
                return;
            }
            if began.elapsed() < GLANCE {
                for pid in &left {
                    // why ignored: it has ended by itself.
                    let _ = kill_process(*pid, signal);
                }
            }
            if began.elapsed() > limit {
                break;
            }
            std::thread::sleep(GLANCE);
        }
    }
    eprintln!("nyala bench: processes of {} do not end", dir.display());
}

/// A program, if it is installed.
pub fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Servers lie where only root looks.
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    dirs.map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Starts a server of a file system, which stays in the foreground; what it says goes to a file of its own.
pub fn start<S: AsRef<OsStr>>(dir: &Path, program: &str, args: &[S]) -> Result<(), BenchError> {
    // Some are started more than once.
    let number = (1..).find(|number| !dir.join(format!("{program}.{number}.out")).exists()).unwrap_or(1);
    let log = dir.join(format!("{program}.{number}.out"));
    let out = fs::File::create(&log).map_err(io(format!("cannot make {}", log.display())))?;
    let errors = out.try_clone().map_err(io("cannot use a file twice"))?;
    let path = installed(program).ok_or_else(|| BenchError::failed(format!("{program} is not installed")))?;
    let mut command = std::process::Command::new(path);
    command.args(args).current_dir(dir).stdin(std::process::Stdio::null()).stdout(out).stderr(errors);
    let mut child = command.spawn().map_err(io(format!("cannot start {program}")))?;
    // Somebody has to look at it when it has ended.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// Waits for something that a file system needs a while for.
pub fn wait(what: &str, dir: &Path, limit: Duration, done: impl Fn() -> bool) -> Result<(), BenchError> {
    let began = Instant::now();
    while !done() {
        if began.elapsed() > limit {
            return Err(BenchError::failed(format!("{what}: not within {} s{}", limit.as_secs(), said(dir))));
        }
        std::thread::sleep(GLANCE);
    }
    Ok(())
}

/// The last lines of what its servers said.
fn said(dir: &Path) -> String {
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let outs = files.filter(|path| path.extension() == Some(OsStr::new("out")));
    let last = |path: PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(&path).ok()?).into_owned();
        let lines: Vec<&str> = text.lines().rev().take(3).collect();
        Some(format!("\n{}: {}", path.display(), lines.into_iter().rev().collect::<Vec<_>>().join("\n  ")))
    };
    outs.filter_map(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_name_a_directory_are_counted_and_ended() {
        let dir = tempfile::tempdir().unwrap();
        let marked = dir.path().join("marked");
        fs::create_dir(&marked).unwrap();
        let script = "trap '' TERM; while :; do :; done";
        start(&marked, "sh", &["-c", script, marked.to_str().unwrap()]).unwrap();
        wait("it works", &marked, Duration::from_secs(20), || cpu_us(&marked) > 20_000).unwrap();
        let found = of(&marked);
        assert_eq!((found.len(), of(&dir.path().join("mark-not")).len()), (1, 0));
        // It does not listen.
        let (began, limit) = (Instant::now(), Duration::from_millis(300));
        end_within(&marked, limit);
        assert!(began.elapsed() >= limit && of(&marked).is_empty());
        let late = wait("never", &marked, Duration::ZERO, || false).unwrap_err().to_string();
        assert!(late.starts_with("never: not within 0 s"), "{late}");
        assert!(start(&marked, "no-such-program", &["x"]).unwrap_err().to_string().contains("not installed"));
    }
}
