// SPDX-License-Identifier: Apache-2.0

//! The cluster that is measured: of our own, on this machine, gone afterwards.
//!
//! **Failure model.** Starting it may fail half-way: what runs is stopped. This process may be killed: the cluster stays
//! then, under a directory that names it, and `nyala down --dir` ends it.

use crate::error::{BenchError, io};
use crate::host::Host;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A running cluster; stopped and removed when dropped.
pub struct OwnCluster {
    host: Host,
    dir: PathBuf,
}

impl OwnCluster {
    /// Makes and mounts it, with more flags of `nyala up`. Two at once have different ports.
    pub fn start(host: &Host, work: &Path, base_port: u16, more: &[&str]) -> Result<OwnCluster, BenchError> {
        let dir = work.join(format!("nyala-bench.{}.{base_port}", std::process::id()));
        std::fs::create_dir_all(dir.join("mnt")).map_err(io(format!("cannot make {}", dir.display())))?;
        let own = OwnCluster { host: host.clone(), dir };
        let (home, mount, port) = (own.cluster_dir(), own.mount(), base_port.to_string());
        let words = ["up", "--base-port", &port, "--dir"].map(OsStr::new);
        let up = words.into_iter().chain([home.as_os_str(), OsStr::new("--mount"), mount.as_os_str()]);
        let up = up.chain(more.iter().map(OsStr::new));
        let done = own.host.run(up);
        done.map_err(|why| BenchError::failed(format!("the cluster to measure does not start: {why}")))?;
        Ok(own)
    }

    /// The cluster's directory.
    pub fn cluster_dir(&self) -> PathBuf {
        self.dir.join("cluster")
    }

    /// Where it is mounted.
    pub fn mount(&self) -> PathBuf {
        self.dir.join("mnt")
    }

    /// A directory on the same local file system.
    pub fn local_dir(&self) -> PathBuf {
        self.dir.clone()
    }
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        self.host.remove(&self.cluster_dir(), &self.mount(), &self.dir);
    }
}
