// SPDX-License-Identifier: Apache-2.0

//! Unmounts and waits for the daemon, so that what was written is with the servers when the command returns.
//!
//! **Failure model.** The mount may be in use: the error names who uses it, as far as this user may see. The daemon may be
//! gone already (a dead mount): then there is nobody to wait for. It may not come to an end because servers do not answer:
//! the error says so, and that it goes on trying. Another mount namespace may have a copy of the mount, and the daemon would
//! live as long as that: it is told to write out and end, whatever that namespace does with it, and the caller is told who
//! loses it. Such a copy answers "not connected" from then on.

use super::copies::{self, Holder};
use super::record::MountRecord;
use super::table;
use crate::exit::Failure;
use nyala_fuse::mount::{UnmountError, detach};
use rustix::process::Signal;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for the daemon to write everything out.
const UNMOUNT_TIMEOUT: Duration = Duration::from_secs(60);
/// So many processes are named.
const SHOWN: usize = 5;

/// Unmounts. `lazy`: no new use from now on, and the end when the last user is gone. Who had a copy of the mount elsewhere
/// and has lost it is returned, and said on standard error.
pub fn unmount(mountpoint: &Path, lazy: bool) -> Result<Vec<Holder>, Failure> {
    let mountpoint = table::absolute(mountpoint)?;
    let mountpoint = match table::at(&mountpoint)? {
        Some(mounted) => mounted.mountpoint,
        // Links are followed only where no mount of ours is: that could hang.
        None => std::fs::canonicalize(&mountpoint).unwrap_or(mountpoint),
    };
    let Some(mounted) = table::at(&mountpoint)? else {
        return Err(Failure::failed(format!(
            "{} is not a nyala mount (`findmnt -t fuse.nyala` lists them)",
            mountpoint.display()
        )));
    };
    // A damaged record only means that the daemon cannot be waited for.
    let daemon = MountRecord::load(&mountpoint).ok().flatten();
    let daemon = daemon.and_then(|record| record.process?.running(None));
    match detach(&mountpoint, lazy) {
        Ok(()) => {}
        Err(UnmountError::Busy(_)) => return Err(busy(&mountpoint)),
        Err(error) => return Err(Failure::failed(error.to_string())),
    }
    let Some(daemon) = daemon.filter(|_| !lazy) else { return Ok(Vec::new()) };
    // Of a mount that is in this namespace twice, the daemon lives on by right.
    let here = table::all()?.iter().any(|other| other.device == mounted.device);
    let copies = if here { Vec::new() } else { copies::elsewhere(&mounted.device) };
    if !copies.is_empty() {
        say_lost(&mountpoint, &copies);
        daemon.signal(Signal::TERM)?;
    }
    if here || daemon.wait(UNMOUNT_TIMEOUT) {
        return Ok(copies);
    }
    Err(Failure::failed(format!(
        "{} is unmounted, but its daemon (process {}) is still writing out; do not stop the servers yet",
        mountpoint.display(),
        daemon.id.pid
    )))
}

fn say_lost(mountpoint: &Path, copies: &[Holder]) {
    let named: Vec<String> = copies.iter().take(SHOWN).map(Holder::to_string).collect();
    let others = if copies.len() > SHOWN { " and others" } else { "" };
    eprintln!(
        "nyala: {} was also mounted in another mount namespace, that of {}{others}; it has ended there too",
        mountpoint.display(),
        named.join(", ")
    );
}

fn busy(mountpoint: &Path) -> Failure {
    Failure::failed(format!(
        "{} is in use{}; end that use, or detach the mount lazily with --force",
        mountpoint.display(),
        list_users(mountpoint)
    ))
}

/// ` by process 7 (sh), process 8 (vi)`, as far as this user may see; empty if nobody is found.
pub fn list_users(mountpoint: &Path) -> String {
    let users = users(mountpoint);
    let mut message = String::new();
    for (at, (pid, name)) in users.iter().take(SHOWN).enumerate() {
        let separator = if at == 0 { " by" } else { "," };
        // Writing to a text cannot fail.
        let _ = write!(message, "{separator} process {pid} ({name})");
    }
    if users.len() > SHOWN {
        message += " and others";
    }
    message
}

/// Processes with a working directory, root, program or open file below a path.
fn users(mountpoint: &Path) -> Vec<(i32, String)> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let inside = |link: PathBuf| std::fs::read_link(link).is_ok_and(|place| place.starts_with(mountpoint));
    let uses = |pid: &i32| {
        let base = PathBuf::from(format!("/proc/{pid}"));
        let files = std::fs::read_dir(base.join("fd")).into_iter().flatten().flatten();
        ["cwd", "root", "exe"].iter().any(|name| inside(base.join(name)))
            || files.into_iter().any(|fd| inside(fd.path()))
    };
    let name = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    pids.filter(uses).map(|pid| (pid, name(pid))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_directory_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(users(&path).is_empty());
        let file = std::fs::File::create(path.join("open")).unwrap();
        assert!(users(&path).iter().any(|(pid, _)| *pid == own));
        assert!(busy(&path).message.contains(&format!("process {own}")));
        drop(file);
    }

    #[test]
    fn other_directories_are_no_mounts() {
        let dir = tempfile::tempdir().unwrap();
        assert!(unmount(dir.path(), false).unwrap_err().message.contains("is not a nyala mount"));
    }
}
