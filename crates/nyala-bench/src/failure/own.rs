// SPDX-License-Identifier: Apache-2.0

//! The cluster of a failure study: made by `nyala up`, taken away again at the end.
//!
//! **Failure model.** Any command of it may fail: its own message is passed on. Whatever happens, [`Own::remove`] takes the
//! cluster and its directory away; a mount that does not go is detached and nothing below it is removed.

use super::figures::Kind;
use super::options::Options;
use crate::error::{BenchError, io};
use crate::host::Host;
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The storage server that is taken away.
const VICTIM: &str = "storage2";
/// How long the cluster may take until all members are good again.
const RESYNC_TIMEOUT: Duration = Duration::from_secs(300);

/// A cluster that belongs to the benchmark.
pub struct Own {
    host: Host,
    work: PathBuf,
}

impl Own {
    /// Makes the cluster, its metadata mirrored, with a mirrored and an unmirrored directory and one for names.
    pub fn start(options: &Options) -> Result<Own, BenchError> {
        let work = options.work.clone();
        // Not one that exists: it is removed in the end.
        std::fs::create_dir(&work).map_err(io(format!("cannot make {}", work.display())))?;
        let own = Own { host: options.host.clone(), work };
        // Half a cluster goes too.
        own.make(options).inspect_err(|_| own.remove())?;
        Ok(own)
    }

    fn make(&self, options: &Options) -> Result<(), BenchError> {
        let (storage, port) = (options.storage.to_string(), options.base_port.to_string());
        let (dir, mount) = (self.dir(), self.mount());
        self.host.run([
            "up",
            "--dir",
            &dir,
            "--mount",
            &mount,
            "--meta",
            "1",
            "--storage",
            &storage,
            "--storage-services",
            &storage,
            "--mirror",
            "--inline-size",
            "0",
            "--base-port",
            &port,
        ])?;
        let names = self.directory("metadata");
        std::fs::create_dir(&names).map_err(io(format!("cannot make {}", names.display())))?;
        let groups = (options.storage / 2).to_string();
        for (name, pattern, width) in [("mirrored", "mirror", &groups), ("unmirrored", "raid0", &storage)] {
            let path = self.directory(name);
            std::fs::create_dir(&path).map_err(io(format!("cannot make {}", path.display())))?;
            let path = path.display().to_string();
            self.host.run(["entry", "set", "--pattern", pattern, "--num-targets", width, &path])?;
        }
        Ok(())
    }

    /// A directory of the file system.
    pub fn directory(&self, name: &str) -> PathBuf {
        self.work.join("mnt").join(name)
    }

    /// The server that is to be taken away: of metadata the one that is primary.
    pub fn victim(&self, kind: Kind) -> Result<String, BenchError> {
        if kind == Kind::Content {
            return Ok(VICTIM.to_owned());
        }
        let listed = self.host.run(["mirror", "list", "--dir", &self.dir(), "--output", "json"])?;
        let groups: Value = serde_json::from_str(&listed).unwrap_or_default();
        let group = groups.as_array().and_then(|all| all.iter().find(|group| group["type"] == "meta"));
        let primary = group.and_then(|group| group["members"][0]["node_alias"].as_str());
        primary.map(str::to_owned).ok_or_else(|| BenchError::failed(format!("metadata is not mirrored: {listed}")))
    }

    /// The server dies.
    pub fn take_away(&self, victim: &str) -> Result<(), BenchError> {
        self.host.run(["stop", victim, "--kill", "--dir", &self.dir()]).map(|_| ())
    }

    /// The server is started again.
    pub fn restart(&self, victim: &str) -> Result<(), BenchError> {
        self.host.run(["start", victim, "--dir", &self.dir()]).map(|_| ())
    }

    /// Waits until all members of all groups are good; how long that took.
    pub fn await_whole(&self, kind: Kind) -> Result<f64, BenchError> {
        let began = Instant::now();
        let kind = if kind == Kind::Names { "meta" } else { "storage" };
        loop {
            let listed = self.host.run(["target", "list", "--kind", kind, "--dir", &self.dir(), "--output", "json"])?;
            let targets: Value = serde_json::from_str(&listed).unwrap_or_default();
            let good = |t: &Value| t["reachability"] == "online" && t["consistency"] == "good";
            if targets.as_array().is_some_and(|all| all.iter().all(good)) {
                return Ok(began.elapsed().as_secs_f64());
            }
            if began.elapsed() > RESYNC_TIMEOUT {
                return Err(BenchError::failed(format!("the cluster is not whole again: {listed}")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn dir(&self) -> String {
        self.work.join("cluster").display().to_string()
    }

    fn mount(&self) -> String {
        self.work.join("mnt").display().to_string()
    }

    /// Takes it away.
    pub fn remove(&self) {
        self.host.remove(&self.work.join("cluster"), &self.work.join("mnt"), &self.work);
    }
}
