// SPDX-License-Identifier: Apache-2.0

//! Memory and processors.

use crate::setting::Guide::{Disks, Flash};
use crate::setting::{PLAIN, Scope, Setting};

/// The settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        id: "vm.dirty_background_ratio",
        file: "proc/sys/vm/dirty_background_ratio",
        said: &[(Disks, "5"), (Flash, "5")],
        counterpart: Some("proc/sys/vm/dirty_background_bytes"),
        reason: "write-back begins early, so that a sync finds little left to write",
        ..PLAIN
    },
    Setting {
        id: "vm.dirty_ratio",
        file: "proc/sys/vm/dirty_ratio",
        said: &[(Disks, "20"), (Flash, "20")],
        counterpart: Some("proc/sys/vm/dirty_bytes"),
        reason: "writers are slowed down before a fifth of the memory waits for disks",
        ..PLAIN
    },
    Setting {
        id: "vm.vfs_cache_pressure",
        file: "proc/sys/vm/vfs_cache_pressure",
        said: &[(Disks, "50"), (Flash, "50")],
        reason: "inodes of chunk files stay in memory longer than their data, which are read once",
        ..PLAIN
    },
    Setting {
        id: "vm.min_free_kbytes",
        file: "proc/sys/vm/min_free_kbytes",
        said: &[(Disks, "262144"), (Flash, "262144")],
        limit: Some("proc/meminfo"),
        least: true,
        reason: "network and disk drivers find free memory at once while the page cache fills the rest",
        ..PLAIN
    },
    Setting {
        id: "vm.zone_reclaim_mode",
        file: "proc/sys/vm/zone_reclaim_mode",
        said: &[(Flash, "1")],
        harm: &["1"],
        instead: Some("0"),
        reason: "with 1 a request frees its NUMA node's own cache before it takes free memory of another node",
        ..PLAIN
    },
    Setting {
        id: "transparent_hugepage.enabled",
        file: "sys/kernel/mm/transparent_hugepage/enabled",
        said: &[(Disks, "never"), (Flash, "always")],
        harm: &["always"],
        reason: "with always, a page fault may wait until the kernel has put a huge page together",
        ..PLAIN
    },
    Setting {
        id: "transparent_hugepage.defrag",
        file: "sys/kernel/mm/transparent_hugepage/defrag",
        said: &[(Disks, "never"), (Flash, "always")],
        harm: &["always"],
        reason: "with always, memory is compacted while a request waits for it",
        ..PLAIN
    },
    Setting {
        id: "transparent_hugepage.khugepaged",
        file: "sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
        said: &[(Disks, "0")],
        reason: "no thread of the kernel moves pages of the services about",
        ..PLAIN
    },
    Setting {
        id: "cpu.scaling_governor",
        file: "sys/devices/system/cpu/{}/cpufreq/scaling_governor",
        scope: Scope::Processor,
        said: &[(Flash, "performance")],
        reason: "a request that finds its processor asleep waits for it to get up to speed",
        ..PLAIN
    },
];
