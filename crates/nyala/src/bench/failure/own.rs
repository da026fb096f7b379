// SPDX-License-Identifier: Apache-2.0

//! The cluster of a failure study: made by `nyala up`, taken away again at the end.
//!
//! **Failure model.** Any command of it may fail: its own message is passed on. Whatever happens, [`Own::remove`] takes the
//! cluster and its directory away; a mount that does not go is detached and nothing below it is removed.

use super::FailureArgs;
use crate::exit::{Failure, io};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The server that is taken away.
const VICTIM: &str = "storage2";
/// How long the cluster may take until all members are good again.
const RESYNC_TIMEOUT: Duration = Duration::from_secs(300);

/// A cluster that belongs to the benchmark.
pub struct Own {
    work: PathBuf,
}

fn nyala(args: &[&str]) -> Result<String, Failure> {
    let output = Command::new("/proc/self/exe").args(args).output().map_err(io("cannot run nyala"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::failed(format!("nyala {}: {}", args.join(" "), said.trim())))
}

impl Own {
    /// Makes the cluster with a mirrored and an unmirrored directory.
    pub fn start(args: &FailureArgs) -> Result<Own, Failure> {
        let work = match &args.work {
            Some(work) => work.clone(),
            None => PathBuf::from(format!("/var/tmp/nyala-failure-{}", std::process::id())),
        };
        // Not one that exists: it is removed in the end.
        std::fs::create_dir(&work).map_err(io(format!("cannot make {}", work.display())))?;
        let own = Own { work };
        // Half a cluster goes too.
        own.make(args).inspect_err(|_| own.remove())?;
        Ok(own)
    }

    fn make(&self, args: &FailureArgs) -> Result<(), Failure> {
        let (storage, port) = (args.storage.to_string(), args.base_port.to_string());
        let (dir, mount) = (self.dir(), self.mount());
        nyala(&[
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
        let groups = (args.storage / 2).to_string();
        for (name, pattern, width) in [("mirrored", "mirror", &groups), ("unmirrored", "raid0", &storage)] {
            let path = self.directory(name);
            std::fs::create_dir(&path).map_err(io(format!("cannot make {}", path.display())))?;
            let path = path.display().to_string();
            nyala(&["entry", "set", "--pattern", pattern, "--num-targets", width, &path])?;
        }
        Ok(())
    }

    /// A directory of the file system.
    pub fn directory(&self, name: &str) -> PathBuf {
        Path::new(&self.mount()).join(name)
    }

    /// The server dies.
    pub fn take_away(&self) -> Result<(), Failure> {
        nyala(&["stop", VICTIM, "--kill", "--dir", &self.dir()]).map(|_| ())
    }

    /// The server is started again.
    pub fn bring_back(&self) -> Result<(), Failure> {
        nyala(&["start", VICTIM, "--dir", &self.dir()]).map(|_| ())
    }

    /// Waits until all members of all groups are good; how long that took.
    pub fn await_whole(&self) -> Result<f64, Failure> {
        let began = Instant::now();
        loop {
            let listed = nyala(&["target", "list", "--kind", "storage", "--dir", &self.dir(), "--output", "json"])?;
            let targets: Value = serde_json::from_str(&listed).unwrap_or_default();
            let good = |t: &Value| t["reachability"] == "online" && t["consistency"] == "good";
            if targets.as_array().is_some_and(|all| all.iter().all(good)) {
                return Ok(began.elapsed().as_secs_f64());
            }
            if began.elapsed() > RESYNC_TIMEOUT {
                return Err(Failure::failed(format!("the cluster is not whole again: {listed}")));
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
        if let Err(error) = nyala(&["down", "--force", "--dir", &self.dir()]) {
            tracing::warn!(%error, "the benchmark's cluster did not stop");
        }
        // Never into a mount that would not go: that would empty the file system.
        let mounted = crate::mount::table::at(Path::new(&self.mount())).is_ok_and(|found| found.is_some());
        if mounted {
            tracing::warn!(dir = %self.work.display(), "still mounted, so its directory stays");
        } else if let Err(error) = std::fs::remove_dir_all(&self.work) {
            tracing::warn!(dir = %self.work.display(), %error, "could not be removed");
        }
    }
}
