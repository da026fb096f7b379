// SPDX-License-Identifier: Apache-2.0

//! Worker processes that run at once and say on their standard output what they found wrong.

use super::arena::Arena;
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// Ends this process when the one that started it ends.
pub fn die_with_parent() {
    // SAFETY: sets an attribute of this process, touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Starts this program as a worker.
pub fn start(args: &[String]) -> Command {
    let exe = std::env::current_exe().expect("a process can find its own program");
    let mut command = Command::new(exe);
    command.arg("worker").args(args);
    command
}

/// Runs workers to their ends; all that they said, when any failed.
pub fn run(arena: &Arena, all: &[Vec<String>]) -> Result<(), String> {
    let children: Vec<Child> = all.iter().map(|args| spawn(args)).collect();
    let said: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = children.into_iter().map(|child| scope.spawn(|| attend(arena, child))).collect();
        threads.into_iter().filter_map(|thread| thread.join().expect("attending does not panic")).collect()
    });
    if said.is_empty() { Ok(()) } else { Err(said.join("\n")) }
}

fn spawn(args: &[String]) -> Child {
    let mut command = start(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits for one; if it failed, the others are stopped.
fn attend(arena: &Arena, mut child: Child) -> Option<String> {
    let mut said = String::new();
    let mut out = child.stdout.take().expect("the output was asked for");
    let read = out.read_to_string(&mut said);
    let status = child.wait().expect("our own child can be waited for");
    if status.success() && read.is_ok() {
        return None;
    }
    arena.stop();
    Some(if said.is_empty() { format!("a worker ended with {status}") } else { said.trim_end().to_owned() })
}
