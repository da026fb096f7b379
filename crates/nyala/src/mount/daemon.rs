// SPDX-License-Identifier: Apache-2.0

//! A mount goes into the background only once it works; until then its errors are the caller's.
//!
//! The caller starts the same program with the same arguments and a mark in its environment, and reads from its standard
//! output: one line `ready`, or one line of JSON with the error.
//!
//! **Failure model.** The daemon may die without a word: its end closes the pipe, and the error names its log. The caller
//! may die: then the daemon's word finds nobody, and it unmounts and ends rather than leave a mount that nobody knows
//! of. The log file may not be writable: then the daemon's log is lost, with a warning.

use super::record::file_stem;
use crate::exit::{Exit, Failure, Outcome, io};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The mark: the daemon's log file, or nothing if it has none.
const MARK: &str = "NYALA_MOUNT_DAEMON";
const READY: &str = "ready\n";

/// An error on its way to the caller.
#[derive(Serialize, Deserialize)]
struct Report {
    exit: u8,
    message: String,
}

/// Whether this process is the daemon that a caller waits for.
pub fn is_daemon() -> bool {
    std::env::var_os(MARK).is_some()
}

/// The log file of this process, if it is the daemon and has one.
pub fn log_file() -> Option<PathBuf> {
    std::env::var_os(MARK).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Starts the daemon and waits for its word.
pub fn start(mountpoint: &Path, log_file: Option<&Path>) -> Outcome {
    let log = log_file.map_or_else(|| default_log(mountpoint), Path::to_path_buf);
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_else(|| OsString::from("nyala"));
    let mut command = Command::new("/proc/self/exe");
    let file = open_log(&log);
    let mark = if file.is_some() { log.as_os_str() } else { OsStr::new("") };
    command.arg0(name).args(args).env(MARK, mark).stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(file.map_or_else(Stdio::null, Stdio::from));
    let mut child = command.spawn().map_err(io("cannot start the mount daemon"))?;
    let mut said = String::new();
    if let Some(pipe) = child.stdout.take() {
        // What the daemon says is short; more than this is not the daemon.
        let read = pipe.take(64 << 10).read_to_string(&mut said);
        read.map_err(io("cannot hear from the mount daemon"))?;
    }
    understand(&said).unwrap_or_else(|| {
        let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        Err(Failure::failed(format!("the mount daemon ended without a word ({status}); see {}", log.display())))
    })
}

fn understand(said: &str) -> Option<Outcome> {
    if said == READY {
        return Some(Ok(Exit::Ok));
    }
    let report: Report = serde_json::from_str(said).ok()?;
    let exit = Exit::of_child(Some(report.exit.into()));
    Some(Err(Failure { exit, message: report.message }))
}

fn default_log(mountpoint: &Path) -> PathBuf {
    Path::new("/var/log/nyala").join(format!("mount-{}.log", file_stem(mountpoint)))
}

fn open_log(path: &Path) -> Option<File> {
    if let Some(parent) = path.parent() {
        // The open below tells what is wrong.
        let _ = std::fs::create_dir_all(parent);
    }
    match OpenOptions::new().create(true).append(true).open(path) {
        Ok(file) => Some(file),
        Err(error) => {
            tracing::warn!(log = %path.display(), %error, "the mount daemon will not have a log; name one with -o log-file=FILE");
            None
        }
    }
}

/// The daemon's side.
pub struct Caller(Option<()>);

impl Caller {
    /// The caller, if this process is the daemon; else nobody, and every word is for the standard error.
    pub fn find() -> Caller {
        Caller(is_daemon().then_some(()))
    }

    /// Says that the mount works. An error means that the caller is gone.
    pub fn ready(&mut self) -> Result<(), Failure> {
        if self.0.take().is_none() {
            return Ok(());
        }
        let mut out = std::io::stdout();
        let told = out.write_all(READY.as_bytes()).and_then(|()| out.flush());
        hang_up();
        told.map_err(io("whoever asked for the mount is gone"))
    }

    /// Says that there is no mount.
    pub fn failed(&mut self, failure: &Failure) {
        if self.0.take().is_some() {
            let report = Report { exit: failure.exit as u8, message: failure.message.clone() };
            // A caller who is gone does not miss it.
            let _ = serde_json::to_writer(std::io::stdout(), &report);
            let _ = std::io::stdout().flush();
            hang_up();
        }
    }
}

/// Closes the pipe to the caller, who reads until it ends.
fn hang_up() {
    let put = File::options().write(true).open("/dev/null").and_then(|null| {
        // SAFETY: both descriptors are open; standard output is only ever used by its number.
        let result = unsafe { libc::dup2(null.as_raw_fd(), libc::STDOUT_FILENO) };
        if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    });
    if let Err(error) = put {
        tracing::warn!(%error, "the caller cannot be released");
    }
}

#[cfg(test)]
mod tests;
