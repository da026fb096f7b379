// SPDX-License-Identifier: Apache-2.0

//! Disks that can be compared, and which of them is in trouble. A group is sorted once, however many disks are judged.

use super::disk_times::DiskTimes;

/// So many times what its peers take is slow.
const FACTOR: u64 = 10;
/// What takes no longer is not slow, whatever its peers do.
const FLOOR_US: u64 = 20_000;
/// Slow where no peer has done the same.
const ALONE_US: u64 = 1_000_000;
/// Slow for any disk.
const ANY_US: u64 = 2_000_000;
/// So long without an answer is too long where peers are not as long without one.
const WAITING_MS: u64 = 6_000;
/// So long without an answer is too long.
const WAITING_ANY_MS: u64 = 30_000;

/// What is wrong with a disk, the worse the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DiskProblem {
    Slow { us: u64, peers_us: Option<u64> },
    Waits { ms: u64 },
}

/// What disks that can be compared took, each in order.
pub(super) struct Group {
    waiting_ms: Vec<u64>,
    each_us: Vec<u64>,
}

impl Group {
    pub fn of<'a>(disks: impl Iterator<Item = &'a DiskTimes> + Clone) -> Group {
        let mut group = Group {
            waiting_ms: disks.clone().map(|disk| disk.waiting_ms).collect(),
            each_us: disks.filter_map(lately).collect(),
        };
        group.waiting_ms.sort_unstable();
        group.each_us.sort_unstable();
        group
    }

    /// Whether one of them is in trouble, next to the others.
    pub fn judge(&self, disk: &DiskTimes) -> Option<DiskProblem> {
        let peers_ms = median_without(&self.waiting_ms, Some(disk.waiting_ms)).unwrap_or(0);
        let ms = disk.waiting_ms;
        if ms >= WAITING_ANY_MS || (ms >= WAITING_MS && ms >= peers_ms.saturating_mul(FACTOR)) {
            return Some(DiskProblem::Waits { ms });
        }
        let peers_us = median_without(&self.each_us, lately(disk));
        let limit = match peers_us {
            Some(us) => us.saturating_mul(FACTOR).clamp(FLOOR_US, ANY_US),
            None => ALONE_US,
        };
        let us = disk.now.each()?;
        let was_slow = disk.before.each().is_some_and(|before| before >= limit);
        (us >= if was_slow { limit / 2 } else { limit }).then_some(DiskProblem::Slow { us, peers_us })
    }
}

fn lately(disk: &DiskTimes) -> Option<u64> {
    disk.now.each().or(disk.before.each())
}

/// The median of sorted values without one of them; of two in the middle the lesser.
pub(super) fn median_without(sorted: &[u64], own: Option<u64>) -> Option<u64> {
    let Some(own) = own else { return sorted.get(sorted.len().checked_sub(1)? / 2).copied() };
    let at = sorted.partition_point(|value| *value < own);
    let middle = sorted.len().checked_sub(2)? / 2;
    sorted.get(middle + usize::from(middle >= at)).copied()
}
