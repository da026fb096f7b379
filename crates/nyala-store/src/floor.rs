// SPDX-License-Identifier: Apache-2.0

//! The last part of a disk, which is kept for what makes room again. Pure.

use nyala_wire::mgmt::Capacity;

/// What is to be left on a file system.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// Bytes, on a large one.
    pub bytes: u64,
    /// Inodes, where there is a fixed number of them.
    pub inodes: u64,
    /// On a small one: this part of what it has, if that is less.
    pub part: u64,
}

impl Floor {
    /// Bytes to be left of so many.
    pub fn bytes_of(&self, total: u64) -> u64 {
        self.bytes.min(total / self.part.max(1))
    }

    /// Whether less is left. `was`: it was so when last looked at; then it is until there is a quarter more. No, where the
    /// capacity is not known.
    pub fn is_reached(&self, space: &Capacity, was: bool) -> bool {
        let limit = |floor: u64| if was { floor.saturating_add(floor / 4) } else { floor };
        let inodes = self.inodes.min(space.total_inodes / self.part.max(1));
        space.free_bytes < limit(self.bytes_of(space.total_bytes)) || space.free_inodes < limit(inodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Floor = Floor { bytes: 1000, inodes: 64, part: 8 };

    fn space(total_bytes: u64, free_bytes: u64, total_inodes: u64, free_inodes: u64) -> Capacity {
        Capacity { total_bytes, free_bytes, total_inodes, free_inodes }
    }

    #[test]
    fn bytes_and_inodes_count_and_limits_are_higher_on_the_way_back() {
        let reached = |free, inodes, was| FLOOR.is_reached(&space(1 << 20, free, 10_000, inodes), was);
        assert!(!reached(1000, 64, false) && reached(999, 64, false) && reached(1000, 63, false));
        assert!(reached(1249, 80, true) && reached(1250, 79, true) && !reached(1250, 80, true));
    }

    #[test]
    fn small_disks_and_those_without_a_number_of_inodes() {
        assert!(!FLOOR.is_reached(&space(800, 100, 0, 0), false));
        assert!(FLOOR.is_reached(&space(800, 99, 0, 0), false));
        assert!(!FLOOR.is_reached(&space(800, 100, 80, 10), false), "an eighth of them");
        assert!(!FLOOR.is_reached(&Capacity::default(), false) && !FLOOR.is_reached(&Capacity::default(), true));
    }
}
