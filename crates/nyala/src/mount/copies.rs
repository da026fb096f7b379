// SPDX-License-Identifier: Apache-2.0

//! Copies of a mount in other mount namespaces (containers, services with a private `/tmp`, `unshare`): to unmount it here
//! does not end them, and the file system lives as long as one of them.
//!
//! **Failure model.** A namespace without a process (kept by a file, or on its way out) is not found, and neither are
//! processes that this user may not look at: the list can be too short. Processes come and go while it is made. Device
//! numbers are used again, but not while a copy lives.

use nyala_fuse::mount::table::of_process;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A process that shows in which namespace a copy is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Holder {
    /// Its number here.
    pub pid: i32,
    /// Its program.
    pub name: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.name)
    }
}

/// One process, the first, of each other mount namespace that has a mount of this device (`major:minor`).
pub fn elsewhere(device: &str) -> Vec<Holder> {
    let namespace = |pid: i32| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
    let own = std::fs::read_link("/proc/self/ns/mnt").ok();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    // By namespace: whether it has a copy is looked at once.
    let mut found: BTreeMap<PathBuf, Option<i32>> = BTreeMap::new();
    for pid in pids {
        let Some(namespace) = namespace(pid).filter(|namespace| Some(namespace) != own.as_ref()) else { continue };
        found.entry(namespace).or_insert_with(|| {
            let mounts = of_process(pid).unwrap_or_default();
            mounts.iter().any(|mounted| mounted.device == device).then_some(pid)
        });
    }
    let name = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    let mut holders: Vec<i32> = found.into_values().flatten().collect();
    holders.sort_unstable();
    holders.into_iter().map(|pid| Holder { pid, name: name(pid) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_namespace_has_a_device_that_is_nobodys() {
        assert_eq!(elsewhere("4095:1048575"), []);
    }
}
