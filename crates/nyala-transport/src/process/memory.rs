// SPDX-License-Identifier: Apache-2.0

//! How much memory the host, or the control group that this process is in, has left for it.
//!
//! Failure model: these are files of the kernel; what is missing or cannot be read is not said. Inside a container the path of the
//! group may be that of the host: then the groups above it are looked at, up to the root, and the least limit counts.

use std::path::{Path, PathBuf};

/// Where control groups are mounted: version 2, version 2 beside version 1, version 1.
const MOUNTS: [(&str, &str); 3] = [
    ("/sys/fs/cgroup", "memory.max"),
    ("/sys/fs/cgroup/unified", "memory.max"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
];

/// `memory.total_bytes` and `memory.available_bytes` of the host, and `memory.limit_bytes` where a control group has a limit below that.
pub(super) fn counters() -> Vec<(String, u64)> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let host = read(Path::new("/proc/meminfo")).unwrap_or_default();
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let total = of_host(&host, "MemTotal:");
    let limit = paths(&groups).into_iter().filter_map(|path| read(&path)?.trim().parse::<u64>().ok()).min();
    let named = [
        ("total_bytes", total),
        ("available_bytes", of_host(&host, "MemAvailable:")),
        ("limit_bytes", limit.filter(|limit| total.is_none_or(|total| *limit < total))),
    ];
    named.into_iter().filter_map(|(name, value)| Some((format!("memory.{name}"), value?))).collect()
}

/// A line of `/proc/meminfo`, bytes.
fn of_host(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Files that may have a limit for the groups of `/proc/self/cgroup`.
fn paths(groups: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let second = controllers.is_empty();
        if !second && !controllers.split(',').any(|controller| controller == "memory") {
            continue;
        }
        for (mount, file) in MOUNTS.into_iter().filter(|(_, file)| second == (*file == "memory.max")) {
            let group = Path::new(group.trim_start_matches('/'));
            paths.extend(group.ancestors().map(|above| Path::new(mount).join(above).join(file)));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_says_what_is_left() {
        let text = "MemTotal:       16000 kB\nMemFree:  1 kB\nMemAvailable:    4000 kB\n";
        assert_eq!(of_host(text, "MemTotal:"), Some(16_384_000));
        assert_eq!(of_host(text, "MemAvailable:"), Some(4_096_000));
        assert_eq!(of_host("", "MemAvailable:"), None);
        assert_eq!(of_host("MemAvailable: 18446744073709551615 kB", "MemAvailable:"), None, "no overflow");
    }

    #[test]
    fn limits_are_looked_for_in_a_group_and_those_above_it() {
        let shown = |groups: &str| paths(groups).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let both = shown("4:memory:/a/b\n3:cpu,cpuset:/x\n0::/c\n");
        assert!(both.contains(&"/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes".to_owned()), "{both:?}");
        assert!(both.contains(&"/sys/fs/cgroup/memory/a/memory.limit_in_bytes".to_owned()), "{both:?}");
        assert!(both.contains(&"/sys/fs/cgroup/c/memory.max".to_owned()), "{both:?}");
        assert!(!both.iter().any(|path| path.contains("/x/")), "{both:?}");
        assert_eq!(shown("nonsense"), Vec::<String>::new());
    }

    #[test]
    fn this_process_has_memory() {
        let counters = counters();
        let of = |name: &str| counters.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        assert!(of("memory.available_bytes") > Some(0) && of("memory.available_bytes") <= of("memory.total_bytes"));
    }
}
