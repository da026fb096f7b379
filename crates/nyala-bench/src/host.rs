// SPDX-License-Identifier: Apache-2.0

//! The program that the benchmarks are part of. It makes clusters (`nyala up`) and is the processes of a load, both by its command
//! line.
//!
//! **Failure model.** It may fail, or not start: its own words are passed on.

use crate::error::{BenchError, io};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program, and what only it can tell.
#[derive(Clone, Debug)]
pub struct Host {
    /// The program.
    pub program: PathBuf,
    /// Whether a mount of the file system is, or for all that can be told may be, at exactly this path. The mount is not
    /// asked.
    pub is_mounted: fn(&Path) -> bool,
}

impl Host {
    /// A command of it.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args);
        command
    }

    /// Runs a command of it to its end; what it printed.
    pub(crate) fn run<S: Into<OsString>>(&self, args: impl IntoIterator<Item = S>) -> Result<String, BenchError> {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let mut command = self.command(&args);
        let output = command.stdin(Stdio::null()).output().map_err(io("cannot run nyala"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let (line, said) = (args.join(OsStr::new(" ")), String::from_utf8_lossy(&output.stderr));
        Err(BenchError::failed(format!("nyala {}: {}", line.display(), said.trim())))
    }

    /// Takes a cluster of `nyala up` away, and the directory that it and its mount lie in. A mount that does not go is never
    /// removed from within: that would empty the file system.
    pub(crate) fn remove(&self, cluster: &Path, mount: &Path, all: &Path) {
        let down = self.run([OsStr::new("down"), OsStr::new("--force"), OsStr::new("--dir"), cluster.as_os_str()]);
        if let Err(error) = &down {
            eprintln!("nyala bench: {error}");
        }
        // One that was never made does not go down either.
        if (down.is_err() && cluster.exists()) || (self.is_mounted)(mount) {
            eprintln!("nyala bench: the cluster in {} does not go down; it is left there", all.display());
        } else if let Err(error) = std::fs::remove_dir_all(all) {
            eprintln!("nyala bench: cannot remove {}: {error}", all.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(program: &str, is_mounted: fn(&Path) -> bool) -> Host {
        Host { program: program.into(), is_mounted }
    }

    #[test]
    fn what_a_command_says_is_passed_on() {
        let host = host("/bin/sh", |_| false);
        assert_eq!(host.run(["-c", "echo yes; exit 0"]).unwrap(), "yes\n");
        let error = host.run(["-c", "echo no >&2; exit 3"]).unwrap_err().to_string();
        assert!(error.starts_with("nyala -c echo no") && error.ends_with(": no"), "{error}");
    }

    #[test]
    fn a_directory_goes_only_with_its_mount_and_its_cluster() {
        let dir = tempfile::tempdir().unwrap();
        let (all, mount) = (dir.path().join("all"), dir.path().join("all/mnt"));
        std::fs::create_dir_all(&mount).unwrap();
        host("true", |_| true).remove(&all, &mount, &all);
        host("false", |_| false).remove(&all, &mount, &all);
        assert!(mount.is_dir());
        host("true", |_| false).remove(&all, &mount, &all);
        assert!(!all.exists());
    }
}
