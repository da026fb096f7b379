// SPDX-License-Identifier: Apache-2.0

//! Runs a program to its end, or ends it.
//!
//! **Failure model.** A program may not start, may fail, and may never end: it gets a limit, and a process group of its own, which Ctrl-C on
//! the terminal does not reach. Where time is over, or the user wants an end, the group is asked to end and then killed; so are processes
//! that have left it (the tasks of `mpirun` do), which are known by a variable of their environment that only they have. A process that a
//! dead mount holds may not end even then: it is left and said. Output goes to files, so no full pipe holds a program.

mod error;

pub use error::LaunchError;

use super::marked::{MARK, marked};
use super::output::last_lines;
use crate::stop::Stop;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a program is looked at.
const GLANCE: Duration = Duration::from_millis(20);
/// How long a program may take to end when it is asked, and when it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// An MPI is as willing to start more tasks than there are processors, and as root, as any other program.
const MPI: [(&str, &str); 4] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
];

/// A program with all that it needs.
#[derive(Debug)]
pub struct Launch<'a> {
    /// Its file.
    pub program: &'a Path,
    /// Its arguments.
    pub args: &'a [String],
    /// Where it works.
    pub dir: &'a Path,
    /// Files for what it says, without their endings `.out` and `.err`; the name is unlike that of any other start at this time.
    pub output: &'a Path,
    /// How long it may run.
    pub limit: Duration,
}

impl Launch<'_> {
    /// A file of what it says.
    pub fn said(&self, ending: &str) -> PathBuf {
        PathBuf::from(format!("{}.{ending}", self.output.display()))
    }

    /// Runs it to its end.
    pub fn run(&self, stop: &Stop) -> Result<(), LaunchError> {
        let error = |error| LaunchError::Start { program: self.program.to_owned(), error };
        let (out, err) =
            (File::create(self.said("out")).map_err(error)?, File::create(self.said("err")).map_err(error)?);
        let mut command = Command::new(self.program);
        command.args(self.args).current_dir(self.dir).stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
        command.envs(MPI).env(MARK, self.output);
        let mut child = command.spawn().map_err(error)?;
        let began = Instant::now();
        loop {
            match child.try_wait().map_err(error)? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(LaunchError::Failed { status, said: self.last_said() }),
                None if stop.wanted() => {
                    self.end(&mut child);
                    return Err(LaunchError::Stopped);
                }
                None if began.elapsed() > self.limit => {
                    self.end(&mut child);
                    return Err(LaunchError::TimedOut { limit: self.limit, said: self.last_said() });
                }
                None => std::thread::sleep(GLANCE),
            }
        }
    }

    /// Ends it and all that it started.
    fn end(&self, child: &mut Child) {
        let group = Pid::from_child(child);
        for signal in [Signal::TERM, Signal::KILL] {
            // The number of one that was waited for may be another's by now.
            if !has_ended(child) {
                // why ignored: nobody may be there any more.
                let _ = kill_process_group(group, signal);
            }
            let began = Instant::now();
            while began.elapsed() < END_TIMEOUT {
                let marked = marked(self.output);
                if signal == Signal::KILL {
                    for pid in &marked {
                        // why ignored: it has ended by itself.
                        let _ = kill_process(*pid, signal);
                    }
                }
                if has_ended(child) && marked.is_empty() {
                    return;
                }
                std::thread::sleep(GLANCE);
            }
        }
        eprintln!("nyala bench: processes of {} do not end", self.program.display());
    }

    /// The last lines of what it said, to stand behind what happened.
    fn last_said(&self) -> String {
        let text = |ending| String::from_utf8_lossy(&fs::read(self.said(ending)).unwrap_or_default()).into_owned();
        // Some say on standard output what went wrong.
        let said = [last_lines(&text("err")), last_lines(&text("out"))].into_iter().find(|said| !said.is_empty());
        said.map_or_else(String::new, |said| format!(": {said}"))
    }
}

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().is_ok_and(|ended| ended.is_some())
}

#[cfg(test)]
mod tests;
