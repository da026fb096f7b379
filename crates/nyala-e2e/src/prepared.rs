// SPDX-License-Identifier: Apache-2.0

//! Programs that are spawned now and run later.
//!
//! A new process has all files open that its parent's threads have open, until its program runs: they are closed then. Closing a file
//! of a mount may be a request (FUSE's FLUSH) that waits for a server to take what was written, and if the program is to start that
//! server, it waits for itself. Who starts a server again while threads of its own hold files of a mount spawns the program before them.

use crate::run::{self, Outcome};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that waits to run; dropped, it never does.
pub struct Prepared {
    child: Child,
    line: String,
    limit: Duration,
    has_ended: bool,
}

impl Prepared {
    /// Spawns a shell that will be the program, which may run for `limit`.
    pub fn new(program: &Command, limit: Duration) -> Prepared {
        let mut shell = Command::new("sh");
        shell.args(["-c", "read go && exec \"$@\"", "sh"]).arg(program.get_program()).args(program.get_args());
        shell.current_dir(program.get_current_dir().unwrap_or("/".as_ref())).process_group(0);
        let spawned = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn();
        Prepared {
            child: spawned.expect("a shell can be spawned"),
            line: format!("{program:?}"),
            limit,
            has_ended: false,
        }
    }

    /// Lets it run to its end.
    pub fn go(mut self) -> Outcome {
        let began = Instant::now();
        self.child.stdin.take().expect("it was piped").write_all(b"\n").expect("the shell waits for a line");
        let status = run::wait(&mut self.child, self.limit);
        self.has_ended = status.is_some();
        Outcome { line: self.line.clone(), status, out: String::new(), err: String::new(), took: began.elapsed() }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // Its number may be another's by now, if it has ended.
        if !self.has_ended {
            run::kill_group(&mut self.child);
        }
    }
}
