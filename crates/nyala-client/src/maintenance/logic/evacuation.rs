// SPDX-License-Identifier: Apache-2.0

//! Which files leave a storage target whose disk fails, and where to. Pure: the map is an argument.

use crate::types::Destination;
use nyala_wire::map::{CapacityPool, ClusterMap, Consistency, Reachability, Target, TargetKind};
use nyala_wire::{Layout, Pattern, StripePattern, TargetId};

/// How a file leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// Its data is copied.
    Move(Destination),
    /// It is erasure coded anew, without these targets.
    Encode { avoid: Vec<TargetId> },
}

/// Targets whose disks fail and that can be read.
pub(crate) fn failing(map: &ClusterMap) -> Vec<TargetId> {
    let online = |id: &TargetId| map.target(*id).is_some_and(|target| target.reachability == Reachability::Online);
    map.failing.iter().map(|failing| failing.target).filter(online).collect()
}

/// Whether another target of the pool takes data.
pub(crate) fn has_room(map: &ClusterMap, leaving: TargetId) -> bool {
    let Some(pool) = map.target(leaving).map(|target| target.pool) else { return false };
    let takes = |target: &Target| {
        target.reachability == Reachability::Online
            && target.consistency == Consistency::Good
            && target.capacity_pool != CapacityPool::Emergency
            && !map.is_failing(target.id)
    };
    map.targets_of(TargetKind::Storage).any(|target| target.pool == pool && takes(target))
}

/// How a file with this layout leaves a target; `None`: it has nothing there, or its mirror group sees to it.
pub(crate) fn departure(layout: &Layout, map: &ClusterMap, target: TargetId) -> Option<Departure> {
    if layout.pattern == Pattern::Mirror || !layout.targets.contains(&target) {
        return None;
    }
    let avoid = map.failing.iter().map(|failing| failing.target).collect();
    if layout.encoded().is_some() {
        return Some(Departure::Encode { avoid });
    }
    let pattern = StripePattern {
        pattern: layout.pattern,
        chunk_bytes: layout.chunk_bytes,
        num_targets: u16::try_from(layout.targets.len()).unwrap_or(u16::MAX),
        pool: map.target(target)?.pool,
        inline_bytes: 0,
        code: None,
    };
    Some(Departure::Move(Destination { pattern, avoid }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::map::FailingTarget;
    use nyala_wire::{ErasureCode, NodeId, PoolId};

    fn map() -> ClusterMap {
        let target = |id| Target {
            id: TargetId(id),
            alias: format!("t{id}"),
            kind: TargetKind::Storage,
            node: NodeId(id.into()),
            pool: PoolId(1),
            reachability: Reachability::Online,
            consistency: Consistency::Good,
            capacity_pool: CapacityPool::Low,
        };
        let failing = vec![FailingTarget { target: TargetId(101), errors: 64, replacement: None }];
        ClusterMap { targets: (101..105).map(target).collect(), failing, ..ClusterMap::default() }
    }

    fn layout(pattern: Pattern, targets: &[u16], code: Option<ErasureCode>) -> Layout {
        let targets = targets.iter().copied().map(TargetId).collect();
        Layout { pattern, chunk_bytes: 1 << 20, targets, moves: 3, code }
    }

    #[test]
    fn files_with_data_there_leave_as_they_are_spread() {
        let (map, bad) = (map(), TargetId(101));
        let Some(Departure::Move(to)) = departure(&layout(Pattern::Raid0, &[102, 101], None), &map, bad) else {
            panic!()
        };
        assert_eq!((to.avoid, to.pattern.pattern, to.pattern.num_targets), (vec![bad], Pattern::Raid0, 2));
        assert_eq!((to.pattern.pool, to.pattern.chunk_bytes), (PoolId(1), 1 << 20));
        let code = Some(ErasureCode { data: 2, parity: 1 });
        let encoded = departure(&layout(Pattern::Ec, &[101, 102, 103], code), &map, bad);
        assert_eq!(encoded, Some(Departure::Encode { avoid: vec![bad] }));
        assert_eq!(departure(&layout(Pattern::Raid0, &[102], None), &map, bad), None);
        // Group 101 is not target 101.
        assert_eq!(departure(&layout(Pattern::Mirror, &[101], None), &map, bad), None);
    }

    #[test]
    fn they_stay_where_nothing_else_takes_them() {
        let (mut map, bad) = (map(), TargetId(101));
        assert!(has_room(&map, bad) && failing(&map) == [bad]);
        map.targets[1].capacity_pool = CapacityPool::Emergency;
        map.targets[2].reachability = Reachability::Offline;
        assert!(has_room(&map, bad), "the last one does");
        map.targets[3].pool = PoolId(2);
        assert!(!has_room(&map, bad));
        map.targets[3].pool = PoolId(1);
        map.failing.push(FailingTarget { target: TargetId(104), errors: 1, replacement: None });
        assert!(!has_room(&map, bad));
        map.targets[0].reachability = Reachability::Offline;
        assert_eq!(failing(&map), [TargetId(104)]);
    }
}
