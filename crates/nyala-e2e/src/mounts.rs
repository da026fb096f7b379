// SPDX-License-Identifier: Apache-2.0

//! Further mounts of a cluster, each a client process of its own.
//!
//! Failure model: a test may kill or stop such a process. Then the mount point answers nothing any more: it is detached by
//! force, and whatever is left is found from the cluster's directory, which the process's command line names.

use crate::cluster::text;
use crate::{Cluster, cleanup};
use std::path::{Path, PathBuf};

/// Several mounts of one cluster; the first is the one that `nyala up` made. Dropping it takes the others away.
pub struct Mounts<'a> {
    cluster: &'a Cluster,
    points: Vec<PathBuf>,
}

impl<'a> Mounts<'a> {
    /// The cluster's own mount and as many more as make `count`, with further options of `-o`.
    pub fn new(cluster: &'a Cluster, count: usize, options: &str) -> Mounts<'a> {
        let mut mounts = Mounts { cluster, points: vec![cluster.mount()] };
        for _ in 1..count {
            mounts.add(options);
        }
        mounts
    }

    /// One more; its mount point.
    pub fn add(&mut self, options: &str) -> PathBuf {
        let cluster = self.cluster;
        let point = cluster.root().join(format!("mnt-{}", self.points.len()));
        std::fs::create_dir(&point).unwrap_or_else(|error| panic!("mkdir {}: {error}", point.display()));
        let log = cluster.dir().join("log").join(format!("mount-{}.log", self.points.len()));
        let secret = cluster.dir().join("secret");
        let options = format!("secret={},log-file={}{options}", text(&secret), text(&log));
        let source = format!("127.0.0.1:{}:/", cluster.port());
        cluster.nyala(["mount", &source, &text(&point), "-o", &options]).must();
        self.points.push(point.clone());
        point
    }

    /// A new directory for one test, as each mount shows it.
    pub fn test_dirs(&self, name: &str) -> Vec<PathBuf> {
        let dir = self.points[0].join(name);
        std::fs::create_dir(&dir).unwrap_or_else(|error| panic!("mkdir {}: {error}", dir.display()));
        self.points.iter().map(|point| point.join(name)).collect()
    }

    /// The client process of a mount.
    pub fn pid(&self, point: &Path) -> i32 {
        client_of(self.cluster, point).unwrap_or_else(|| panic!("{} has no client process", point.display()))
    }
}

impl Drop for Mounts<'_> {
    fn drop(&mut self) {
        for point in &self.points[1..] {
            let done = self.cluster.nyala(["umount", &text(point)]);
            if !done.ok() {
                eprintln!("{}", done.describe());
                cleanup::detach(point);
            }
            if let Err(error) = std::fs::remove_dir(point) {
                eprintln!("{}: {error}", point.display());
            }
        }
    }
}

/// The process whose command line has the mount point as a whole argument.
fn client_of(cluster: &Cluster, point: &Path) -> Option<i32> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let point = text(point);
    pids.filter(|pid| *pid > 1 && cleanup::alive(*pid, cluster.root())).find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.contains(&b"mount".as_slice()) && words.contains(&point.as_bytes())
    })
}
