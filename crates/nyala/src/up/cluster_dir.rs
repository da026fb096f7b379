// SPDX-License-Identifier: Apache-2.0

//! The directory of a cluster on this machine.

use super::files::write_whole;
use super::plan::Plan;
use crate::exit::{Failure, io};
use crate::process::ProcessId;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDir {
    dir: PathBuf,
}

/// Held while a command changes the cluster; released by the process's end at the latest.
pub struct Lock(#[expect(dead_code, reason = "its being open is the lock")] File);

impl ClusterDir {
    /// A directory, there or not.
    pub fn new(dir: impl AsRef<Path>) -> ClusterDir {
        let dir = dir.as_ref();
        // Services run in other directories. Without a working directory the path stays as it is.
        ClusterDir { dir: std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf()) }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether there is a cluster.
    pub fn exists(&self) -> bool {
        self.plan_file().exists()
    }

    fn plan_file(&self) -> PathBuf {
        self.dir.join("cluster.toml")
    }

    /// The secret file.
    pub fn secret(&self) -> PathBuf {
        self.dir.join("secret")
    }

    /// Configuration file of a service.
    pub fn conf(&self, name: &str) -> PathBuf {
        self.dir.join("conf").join(format!("{name}.toml"))
    }

    /// Log file of a service.
    pub fn log(&self, name: &str) -> PathBuf {
        self.dir.join("log").join(format!("{name}.log"))
    }

    fn pid_file(&self, name: &str) -> PathBuf {
        self.dir.join("run").join(format!("{name}.pid"))
    }

    /// Makes the directories.
    pub fn make(&self) -> Result<(), Failure> {
        for dir in [self.dir.clone(), self.dir.join("conf"), self.dir.join("log"), self.dir.join("run")] {
            let made = DirBuilder::new().recursive(true).mode(0o755).create(&dir);
            made.map_err(io(format!("cannot make {}", dir.display())))?;
        }
        Ok(())
    }

    /// Keeps other commands from changing the cluster meanwhile.
    pub fn lock(&self) -> Result<Lock, Failure> {
        let path = self.dir.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(io(format!("cannot open {}", path.display())))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock(file)),
            Err(std::fs::TryLockError::WouldBlock) => Err(Failure::failed(format!(
                "another nyala command is changing the cluster in {}; wait for it to end",
                self.dir.display()
            ))),
            Err(std::fs::TryLockError::Error(error)) => Err(io(format!("cannot lock {}", path.display()))(error)),
        }
    }

    /// What the cluster consists of.
    pub fn load(&self) -> Result<Plan, Failure> {
        let path = self.plan_file();
        let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::failed(format!(
                "there is no cluster in {}; `nyala up --dir {0}` makes one",
                self.dir.display()
            )),
            _ => Failure::config(format!("{}: {error}", path.display())),
        })?;
        Plan::parse(&text).map_err(|why| Failure::config(format!("{}: {why}", path.display())))
    }

    /// Writes down what the cluster consists of.
    pub fn save(&self, plan: &Plan) -> Result<(), Failure> {
        let head = "# What the cluster of `nyala up` consists of. Written by nyala.\n";
        let text = toml::to_string(plan).map_err(|error| Failure::failed(error.to_string()))?;
        write_whole(&self.plan_file(), &format!("{head}{text}"))
    }

    /// The process that was last started for a service.
    pub fn process(&self, name: &str) -> Option<ProcessId> {
        let text = std::fs::read_to_string(self.pid_file(name)).ok()?;
        let (pid, ticks) = text.trim().split_once(' ')?;
        Some(ProcessId { pid: pid.parse().ok()?, start_ticks: ticks.parse().ok()? })
    }

    /// Remembers the process of a service.
    pub fn set_process(&self, name: &str, id: ProcessId) -> Result<(), Failure> {
        write_whole(&self.pid_file(name), &format!("{} {}\n", id.pid, id.start_ticks))
    }

    /// Forgets the process of a service.
    pub fn forget_process(&self, name: &str) {
        // A file that stays names a process that is known to be gone.
        let _ = std::fs::remove_file(self.pid_file(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_remembered_and_commands_exclude_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let cluster_dir = ClusterDir::new(dir.path().join("up"));
        assert!(!cluster_dir.exists());
        assert!(cluster_dir.load().unwrap_err().message.contains("nyala up --dir"));
        cluster_dir.make().unwrap();
        let lock = cluster_dir.lock().unwrap();
        assert!(cluster_dir.lock().is_err_and(|error| error.message.contains("another nyala command")));
        drop(lock);
        cluster_dir.lock().unwrap();
        let id = ProcessId { pid: 7, start_ticks: 9 };
        cluster_dir.set_process("meta1", id).unwrap();
        assert_eq!(cluster_dir.process("meta1"), Some(id));
        cluster_dir.forget_process("meta1");
        assert_eq!(cluster_dir.process("meta1"), None);
        std::fs::write(cluster_dir.plan_file(), "format = 1\nservi").unwrap();
        let error = cluster_dir.load().unwrap_err();
        assert!(error.message.contains("cluster.toml"), "{error}");
    }
}
