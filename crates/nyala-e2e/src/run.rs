// SPDX-License-Identifier: Apache-2.0

//! Runs programs with a time limit.
//!
//! Failure model: a program may hang (in the mount, most likely), also where no signal but SIGKILL reaches it, and may
//! leave children. It gets its own process group, which is killed as a whole when the time is over; its output goes to
//! files, so that a full pipe cannot block it and children that live on cannot block us.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What became of a program.
#[derive(Debug)]
pub struct Outcome {
    /// The command line, for messages.
    pub line: String,
    /// Exit status; absent when the time was over.
    pub status: Option<ExitStatus>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// How long it ran.
    pub took: Duration,
}

impl Outcome {
    /// Whether it ended with exit code 0.
    pub fn ok(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The exit code, if it ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Panics with everything it said unless it ended with exit code 0; gives its standard output.
    #[track_caller]
    pub fn must(self) -> String {
        assert!(self.ok(), "{}", self.describe());
        self.out
    }

    /// Everything known, for a message.
    pub fn describe(&self) -> String {
        let end = self.status.map_or_else(|| "did not end in time".to_owned(), |status| status.to_string());
        let (out, err) = (tail(&self.out, 60), tail(&self.err, 60));
        format!("`{}` {end} after {:.1} s\n--- stdout\n{out}\n--- stderr\n{err}", self.line, self.took.as_secs_f64())
    }
}

/// Unmounts what ended processes worked on. What they had open through io_uring the kernel closes a moment after they are
/// gone, and until then it is busy.
#[track_caller]
pub fn until_unmounted(attempt: impl Fn() -> Outcome) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let done = attempt();
        if done.ok() || !done.err.contains("target is busy") || Instant::now() >= deadline {
            done.must();
            return;
        }
        // sleeps: between two attempts
        std::thread::sleep(QUICK);
    }
}

/// For so long what is waited for is looked at more often: most things are there by then.
const QUICK: Duration = Duration::from_millis(100);

/// The last `lines` lines of a text.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// Runs a program to its end, for at most `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Outcome {
    let line = format!("{command:?}");
    let (out, err) = (scratch(), scratch());
    command.stdin(Stdio::null()).stdout(share(&out)).stderr(share(&err)).process_group(0);
    let began = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{line}: {error}"));
    let status = wait(&mut child, limit);
    if status.is_none() {
        kill_group(&mut child);
    }
    Outcome { line, status, out: text(out), err: text(err), took: began.elapsed() }
}

/// Runs a shell command in `/bin/sh -euc`, for at most `limit`.
pub fn sh(script: &str, limit: Duration) -> Outcome {
    run(Command::new("sh").args(["-euc", script]), limit)
}

/// Waits for a child for at most `limit`.
pub fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("our own child can be waited for") {
            return Some(status);
        }
        if began.elapsed() > limit {
            return None;
        }
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(if began.elapsed() < QUICK { 2 } else { 20 }));
    }
}

/// Waits until something holds, for at most `limit`; then the test fails, and says `why`.
#[track_caller]
pub fn wait_until(limit: Duration, mut holds: impl FnMut() -> bool, why: impl FnOnce() -> String) {
    let began = Instant::now();
    while !holds() {
        let waited = began.elapsed();
        assert!(waited < limit, "not after {waited:?}: {}", why());
        // sleeps: between two looks
        std::thread::sleep(if waited < QUICK { Duration::from_millis(2) } else { Duration::from_millis(50) });
    }
}

/// Kills a child that leads its own process group, with all of the group.
pub fn kill_group(child: &mut Child) {
    // SAFETY: a system call without memory; the group is our child's own, made by `process_group(0)`, and it is not
    // yet waited for, so that the number cannot be another's.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
    wait(child, Duration::from_secs(10));
}

fn scratch() -> File {
    tempfile::tempfile().expect("the temporary directory takes files")
}

fn share(file: &File) -> Stdio {
    Stdio::from(file.try_clone().expect("a descriptor can be duplicated"))
}

fn text(mut file: File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a temporary file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
