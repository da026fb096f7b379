// SPDX-License-Identifier: Apache-2.0

//! The cluster that is measured: of our own, on this machine, gone afterwards.
//!
//! **Failure model.** Starting it may fail half-way: what runs is stopped. This process may be killed: the cluster stays
//! then, under a directory that names it, and `nyala down --dir` ends it. A mount that does not go is never removed from
//! within: that would empty the file system.

use crate::exit::{Failure, io};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A running cluster; stopped and removed when dropped.
pub struct OwnCluster {
    dir: PathBuf,
}

impl OwnCluster {
    /// Makes and mounts it.
    pub fn start(work: &Path, base_port: u16) -> Result<OwnCluster, Failure> {
        let dir = work.join(format!("nyala-bench.{}", std::process::id()));
        std::fs::create_dir_all(dir.join("mnt")).map_err(io(format!("cannot make {}", dir.display())))?;
        let own = OwnCluster { dir };
        let mut up = own.command("up")?;
        up.arg("--mount").arg(own.mount()).args(["--base-port", &base_port.to_string()]);
        let done = up.output().map_err(io("cannot start the cluster"))?;
        if !done.status.success() {
            let why = String::from_utf8_lossy(&done.stderr);
            return Err(Failure::failed(format!("the cluster to measure does not start: {}", why.trim())));
        }
        Ok(own)
    }

    /// The cluster's directory.
    pub fn home(&self) -> PathBuf {
        self.dir.join("cluster")
    }

    /// Where it is mounted.
    pub fn mount(&self) -> PathBuf {
        self.dir.join("mnt")
    }

    /// A directory on the same local file system.
    pub fn beside(&self) -> PathBuf {
        self.dir.clone()
    }

    fn command(&self, verb: &str) -> Result<Command, Failure> {
        let program = std::env::current_exe().map_err(io("cannot find this program"))?;
        let mut command = Command::new(program);
        command.arg(verb).arg("--dir").arg(self.home()).stdin(Stdio::null()).stdout(Stdio::null());
        Ok(command)
    }
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        let down = self.command("down").and_then(|mut down| down.arg("--force").status().map_err(io("nyala down")));
        let mounted = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let mounted = mounted.contains(&*self.mount().to_string_lossy());
        if mounted || !down.is_ok_and(|status| status.success()) {
            eprintln!("nyala bench: the cluster in {} does not go down; it is left there", self.dir.display());
        } else if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            eprintln!("nyala bench: cannot remove {}: {error}", self.dir.display());
        }
    }
}
