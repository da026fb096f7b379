// SPDX-License-Identifier: Apache-2.0

//! A disk that is slow for one process: limits of a control group, of version 1 or 2, on a loop device.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const FIRST: &str = "/sys/fs/cgroup/blkio";
const SECOND: &str = "/sys/fs/cgroup";

/// Ends with everything back as it was.
pub struct Throttle {
    group: PathBuf,
    root: &'static str,
    /// `MAJOR:MINOR`.
    device: String,
    pid: i32,
}

impl Throttle {
    /// Puts the process in a group of its own, with no limit yet for the disk that a directory lies on.
    pub fn of(pid: i32, dir: &Path) -> Throttle {
        let root = if Path::new(FIRST).is_dir() { FIRST } else { SECOND };
        if root == SECOND {
            write(&Path::new(root).join("cgroup.subtree_control"), "+io");
        }
        let group = Path::new(root).join(format!("nyala-e2e-{pid}"));
        fs::create_dir(&group).unwrap_or_else(|error| panic!("{}: {error}", group.display()));
        let device = fs::metadata(dir).unwrap().dev();
        let throttle =
            Throttle { group, root, device: format!("{}:{}", libc::major(device), libc::minor(device)), pid };
        write(&throttle.group.join("cgroup.procs"), &pid.to_string());
        throttle
    }

    /// So many writes a second.
    pub fn write_operations(&self, most: u32) {
        self.set("blkio.throttle.write_iops_device", &most.to_string(), &format!("wiops={most}"));
    }

    /// So many bytes a second.
    pub fn write_bytes(&self, most: u32) {
        self.set("blkio.throttle.write_bps_device", &most.to_string(), &format!("wbps={most}"));
    }

    /// No limit.
    pub fn off(&self) {
        self.set("blkio.throttle.write_iops_device", "0", "wiops=max wbps=max");
        self.set("blkio.throttle.write_bps_device", "0", "wiops=max wbps=max");
    }

    fn set(&self, first: &str, value: &str, second: &str) {
        match self.root {
            FIRST => write(&self.group.join(first), &format!("{} {value}", self.device)),
            _ => write(&self.group.join("io.max"), &format!("{} {second}", self.device)),
        }
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // The process may have ended, and with it everything that was limited.
        let back = fs::write(Path::new(self.root).join("cgroup.procs"), self.pid.to_string());
        if let Err(error) = fs::remove_dir(&self.group) {
            eprintln!("{} stays: {error}; {back:?}", self.group.display());
        }
    }
}

fn write(path: &Path, value: &str) {
    fs::write(path, value).unwrap_or_else(|error| panic!("{value} to {}: {error}", path.display()));
}
