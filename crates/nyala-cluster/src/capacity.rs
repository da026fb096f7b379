// SPDX-License-Identifier: Apache-2.0

//! Capacity pools: which targets have enough space and inodes, which few, which hardly any.
//!
//! 1. The limits scale down to small targets: low is at most 10 % of a target's total, emergency at most 3 %.
//! 2. Every target is classified by free bytes and free inodes; the worse of both counts.
//! 3. If free space differs among the normal targets by more than the low limit, the low limit is raised by the
//!    dynamic factor (×2), so that placement prefers the emptier ones before the fuller ones are short. The same holds
//!    for the low targets and the emergency limit.
//! 4. A target leaves a worse pool only when it has 5 % more than the limit, so that it does not go back and forth.

use crate::ClusterError;
use minicbor::{Decode, Encode};
use nyala_wire::TargetId;
use nyala_wire::map::CapacityPool;
use nyala_wire::mgmt::Capacity;
use serde::{Deserialize, Serialize};

/// Low is at most so much of a target's total, percent.
pub const LOW_PERCENT: u64 = 10;
/// Emergency is at most so much of a target's total, percent.
pub const EMERGENCY_PERCENT: u64 = 3;

/// Limits for one kind of target. Below `low_*` a target is low, below `emergency_*` it is in emergency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Free bytes.
    #[n(0)]
    pub low_bytes: u64,
    /// Free bytes.
    #[n(1)]
    pub emergency_bytes: u64,
    /// Free inodes.
    #[n(2)]
    pub low_inodes: u64,
    /// Free inodes.
    #[n(3)]
    pub emergency_inodes: u64,
    /// Factor of the dynamic limits, percent; 100 turns them off.
    #[n(4)]
    pub dynamic_percent: u32,
}

/// Limits of all kinds of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapacityLimits {
    /// Metadata targets.
    #[n(0)]
    pub meta: Limits,
    /// Storage targets.
    #[n(1)]
    pub storage: Limits,
}

/// A target and the capacity pool that it is to be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct TargetPool {
    /// The target.
    #[n(0)]
    pub target: TargetId,
    /// Its class of free space.
    #[n(1)]
    pub pool: CapacityPool,
}

impl Default for CapacityLimits {
    fn default() -> Self {
        let limits = |low: u64, emergency: u64| Limits {
            low_bytes: low << 30,
            emergency_bytes: emergency << 30,
            low_inodes: 10_000_000,
            emergency_inodes: 1_000_000,
            dynamic_percent: 200,
        };
        CapacityLimits { meta: limits(10, 3), storage: limits(512, 10) }
    }
}

impl CapacityLimits {
    pub(crate) fn check(&self) -> Result<(), ClusterError> {
        for limits in [&self.meta, &self.storage] {
            if limits.emergency_bytes > limits.low_bytes || limits.emergency_inodes > limits.low_inodes {
                return Err(ClusterError::invalid("an emergency limit must not be above the low limit"));
            }
            if !(100..=1000).contains(&limits.dynamic_percent) {
                return Err(ClusterError::invalid("dynamic_percent must be from 100 (off) to 1000"));
            }
        }
        Ok(())
    }
}

/// What a target last said about itself, and the pool that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetUsage {
    /// The target.
    pub target: TargetId,
    /// Its capacity.
    pub capacity: Capacity,
    /// Where it is now.
    pub current: CapacityPool,
}

/// Factors on the limits, percent. The dynamic factors are about the balance of space and leave inodes alone.
#[derive(Clone, Copy)]
struct Factors {
    low: u64,
    emergency: u64,
    inodes: u64,
}

const PLAIN: Factors = Factors { low: 100, emergency: 100, inodes: 100 };
const MARGIN_PERCENT: u64 = 105;

/// The targets (all of one kind and storage pool) that have to change pools.
pub fn changes(usage: &[TargetUsage], limits: &Limits) -> Vec<TargetPool> {
    let plain: Vec<_> = usage.iter().map(|u| classify(&u.capacity, limits, PLAIN)).collect();
    let spread_exceeds = |class: CapacityPool, limit: u64, percent: u64| {
        let members = || usage.iter().zip(&plain).filter(|(_, c)| **c == class).map(|(u, _)| u.capacity);
        let total = members().map(|c| c.total_bytes).max().unwrap_or(0);
        let most = members().map(|c| c.free_bytes).max().unwrap_or(0);
        let least = members().map(|c| c.free_bytes).min().unwrap_or(0);
        most - least > scaled(limit, total, percent)
    };
    let dynamic = u64::from(limits.dynamic_percent);
    let factor = |exceeds: bool| if exceeds { dynamic } else { 100 };
    let factors = Factors {
        low: factor(spread_exceeds(CapacityPool::Normal, limits.low_bytes, LOW_PERCENT)),
        emergency: factor(spread_exceeds(CapacityPool::Low, limits.emergency_bytes, EMERGENCY_PERCENT)),
        inodes: 100,
    };
    let with_margin = Factors {
        low: factors.low * MARGIN_PERCENT / 100,
        emergency: factors.emergency * MARGIN_PERCENT / 100,
        inodes: MARGIN_PERCENT,
    };
    let mut out = Vec::new();
    for u in usage {
        let mut pool = classify(&u.capacity, limits, factors);
        if pool < u.current {
            pool = classify(&u.capacity, limits, with_margin).min(u.current);
        }
        if pool != u.current {
            out.push(TargetPool { target: u.target, pool });
        }
    }
    out
}

fn scaled(limit: u64, total: u64, percent: u64) -> u64 {
    limit.min((u128::from(total) * u128::from(percent) / 100) as u64)
}

fn classify(capacity: &Capacity, limits: &Limits, factors: Factors) -> CapacityPool {
    let below = |free: u64, limit: u64, total: u64, percent: u64, factor: u64| {
        u128::from(free) * 100 < u128::from(scaled(limit, total, percent)) * u128::from(factor)
    };
    let Capacity { total_bytes, free_bytes, total_inodes, free_inodes } = *capacity;
    let short = |bytes, inodes, percent, factor| {
        below(free_bytes, bytes, total_bytes, percent, factor)
            || below(free_inodes, inodes, total_inodes, percent, factors.inodes)
    };
    if short(limits.emergency_bytes, limits.emergency_inodes, EMERGENCY_PERCENT, factors.emergency) {
        CapacityPool::Emergency
    } else if short(limits.low_bytes, limits.low_inodes, LOW_PERCENT, factors.low) {
        CapacityPool::Low
    } else {
        CapacityPool::Normal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CapacityPool::*;

    const GIB: u64 = 1 << 30;

    fn usage(target: u16, total_gib: u64, free_gib: u64, current: CapacityPool) -> TargetUsage {
        let capacity = Capacity {
            total_bytes: total_gib * GIB,
            free_bytes: free_gib * GIB,
            total_inodes: 1 << 40,
            free_inodes: 1 << 39,
        };
        TargetUsage { target: TargetId(target), capacity, current }
    }

    fn storage() -> Limits {
        CapacityLimits::default().storage
    }

    fn run(usage: &[TargetUsage]) -> Vec<(u16, CapacityPool)> {
        changes(usage, &storage()).iter().map(|c| (c.target.0, c.pool)).collect()
    }

    #[test]
    fn static_limits() {
        let big = |free| run(&[usage(1, 100_000, free, Normal)]);
        assert_eq!(big(512), []);
        assert_eq!(big(511), [(1, Low)]);
        assert_eq!(big(10), [(1, Low)]);
        assert_eq!(big(9), [(1, Emergency)]);
    }

    #[test]
    fn limits_scale_down_to_small_targets() {
        let small = |free| run(&[usage(1, 100, free, Normal)]);
        assert_eq!(small(10), [], "10 % of 100 GiB");
        assert_eq!(small(9), [(1, Low)]);
        assert_eq!(small(3), [(1, Low)]);
        assert_eq!(small(2), [(1, Emergency)]);
        let nothing = TargetUsage { target: TargetId(1), capacity: Capacity::default(), current: Normal };
        assert_eq!(changes(&[nothing], &storage()), [], "a target that has not reported is not judged");
    }

    #[test]
    fn spread_raises_the_limit() {
        // Spread 400 GiB is within the low limit of 512; 2000 is not, and 700 < 2 × 512 then counts as low.
        assert_eq!(run(&[usage(1, 100_000, 700, Normal), usage(2, 100_000, 1100, Normal)]), []);
        assert_eq!(run(&[usage(1, 100_000, 700, Normal), usage(2, 100_000, 2700, Normal)]), [(1, Low)]);
        // Among low targets the emergency limit of 10 GiB doubles when they differ by more than that.
        let low = [usage(1, 100_000, 15, Low), usage(2, 100_000, 40, Low)];
        assert_eq!(run(&low), [(1, Emergency)]);
        let off = Limits { dynamic_percent: 100, ..storage() };
        assert_eq!(changes(&low, &off), []);
    }

    #[test]
    fn inodes_count_too() {
        let mut u = usage(1, 100_000, 50_000, Normal);
        u.capacity.free_inodes = 9_999_999;
        assert_eq!(run(&[u]), [(1, Low)]);
        u.capacity.free_inodes = 999_999;
        assert_eq!(run(&[u]), [(1, Emergency)]);
        u.capacity.total_inodes = 0;
        assert_eq!(run(&[u]), [], "a file system without a fixed number of inodes");
    }

    #[test]
    fn the_way_back_has_a_margin() {
        assert_eq!(run(&[usage(1, 100_000, 520, Low)]), [], "above 512, but not by 5 %");
        assert_eq!(run(&[usage(1, 100_000, 538, Low)]), [(1, Normal)]);
        assert_eq!(run(&[usage(1, 100_000, 538, Emergency)]), [(1, Normal)]);
        assert_eq!(run(&[usage(1, 100_000, 520, Emergency)]), [(1, Low)]);
        assert_eq!(run(&[usage(1, 100_000, 10, Emergency)]), []);
    }

    #[test]
    fn senseless_limits_are_refused() {
        let mut limits = CapacityLimits::default();
        assert_eq!(limits.check(), Ok(()));
        limits.meta.emergency_bytes = limits.meta.low_bytes + 1;
        assert!(limits.check().is_err());
        limits = CapacityLimits::default();
        limits.storage.dynamic_percent = 99;
        assert!(limits.check().is_err());
    }
}
