// SPDX-License-Identifier: Apache-2.0

//! Which targets a new file gets, and which slot a new directory. `docs/decisions/0003-placement.md` specifies every
//! draw, with test vectors. Choosing allocates nothing but its result, unless targets are preferred.

use crate::rng::Rng;
use crate::slots::staying;
use nyala_wire::map::{
    CapacityPool, ClusterMap, Consistency, Placement, Reachability, SlotMove, SlotRange, Target, TargetKind,
};
use nyala_wire::map::{Group, MemberState};
use nyala_wire::splitmix::mix;
use nyala_wire::{GroupId, NodeId, Pattern, PoolId, Slot, StripePattern, TargetId};
use std::collections::BTreeSet;
use std::ops::Range;

/// The first tier of what runs out of space.
const EMERGENCY: u8 = 4;

/// Candidates of one storage pool and one class, in two orders.
#[derive(Clone, Debug, Default)]
struct Tier {
    /// By id.
    by_id: Vec<TargetId>,
    /// By node, then id.
    by_node: Vec<TargetId>,
    /// Nodes and their part of `by_node`; those with most targets first, then by id.
    nodes: Vec<(NodeId, Range<usize>)>,
}

impl Tier {
    fn new(mut members: Vec<(TargetId, NodeId)>) -> Tier {
        members.sort_unstable();
        let by_id = members.iter().map(|(target, _)| *target).collect();
        members.sort_unstable_by_key(|(target, node)| (*node, *target));
        let mut nodes: Vec<(NodeId, Range<usize>)> = Vec::new();
        for (at, (_, node)) in members.iter().enumerate() {
            match nodes.last_mut() {
                Some((last, range)) if last == node => range.end = at + 1,
                _ => nodes.push((*node, at..at + 1)),
            }
        }
        nodes.sort_by_key(|(node, range)| (usize::MAX - range.len(), *node));
        Tier { by_id, by_node: members.into_iter().map(|(target, _)| target).collect(), nodes }
    }
}

/// What placement needs of a map, prepared once per map version.
#[derive(Clone, Debug, Default)]
pub struct PlacementTable {
    /// Every storage target that may be chosen, with pool and tier number; by pool, tier, id.
    candidates: Vec<(PoolId, u8, TargetId, NodeId)>,
    /// Tiers that have members, best first.
    tiers: Vec<(PoolId, Vec<Tier>)>,
    /// The same of mirror groups: ids are theirs, the node is the primary's.
    groups: Vec<(PoolId, Vec<Tier>)>,
    /// Metadata targets of the best class by id, and their slots.
    meta: Vec<(TargetId, Vec<SlotRange>)>,
}

fn usable(target: &Target) -> bool {
    target.reachability != Reachability::Offline && target.consistency != Consistency::Bad
}

/// Capacity decides first; within a class, a target that may be going down comes after those that are up.
fn tier_of(target: &Target) -> u8 {
    let class = match target.capacity_pool {
        CapacityPool::Normal => 0,
        CapacityPool::Low => 2,
        CapacityPool::Emergency => EMERGENCY,
    };
    class + u8::from(target.reachability == Reachability::ProbablyOffline)
}

/// Leaves out what fails, in pools that have something else with room.
fn spare_failing(candidates: &mut Vec<(PoolId, u8, TargetId, NodeId)>, fails: impl Fn(TargetId) -> bool) {
    let serves = |(_, tier, id, _): &&(PoolId, u8, TargetId, NodeId)| *tier < EMERGENCY && !fails(*id);
    let sound: BTreeSet<PoolId> = candidates.iter().filter(serves).map(|candidate| candidate.0).collect();
    candidates.retain(|(pool, _, id, _)| !sound.contains(pool) || !fails(*id));
}

/// The slots of each server of the best class, without those on their way.
fn meta_ranges(
    map: &ClusterMap,
    servers: &[(TargetId, &Target)],
    moves: &[SlotMove],
) -> Vec<(TargetId, Vec<SlotRange>)> {
    let staying =
        servers.iter().map(|(server, target)| (tier_of(target), *server, staying(&map.slots, moves, *server)));
    let some: Vec<_> = staying.filter(|(_, _, ranges)| !ranges.is_empty()).collect();
    let best = some.iter().map(|(tier, ..)| *tier).min();
    some.into_iter().filter(|(tier, ..)| Some(*tier) == best).map(|(_, server, ranges)| (server, ranges)).collect()
}

/// A random one of these slots.
fn slot_of(ranges: &[SlotRange], rng: &mut Rng) -> Option<Slot> {
    let slots = ranges.iter().map(|range| usize::from(range.count)).sum();
    let mut at = rng.below(slots);
    for range in ranges {
        if at < usize::from(range.count) {
            return Some(Slot(range.first.0 + at as u16));
        }
        at -= usize::from(range.count);
    }
    None
}

impl PlacementTable {
    /// The table for a map.
    pub fn new(map: &ClusterMap) -> PlacementTable {
        let storage = map.targets_of(TargetKind::Storage).filter(|t| usable(t));
        let mut candidates: Vec<_> = storage.map(|t| (t.pool, tier_of(t), t.id, t.node)).collect();
        candidates.sort_unstable();
        spare_failing(&mut candidates, |target| map.is_failing(target));
        let mut groups: Vec<_> = map.groups.iter().filter_map(|group| candidate(map, group)).collect();
        groups.sort_unstable();
        let fails = |group: &Group| group.members.iter().any(|member| map.is_failing(*member));
        spare_failing(&mut groups, |id| map.group(GroupId(id.0)).is_some_and(fails));
        let (tiers, groups) = (by_pool(&candidates), by_pool(&groups));
        let works_on = |server| Some((server, map.server_target(server)?));
        let meta: Vec<_> = map.metadata_servers().filter_map(works_on).filter(|(_, t)| usable(t)).collect();
        let mut servers = meta_ranges(map, &meta, &map.moves);
        if servers.is_empty() {
            servers = meta_ranges(map, &meta, &[]);
        }
        PlacementTable { candidates, tiers, groups, meta: servers }
    }

    /// Targets for a new file, or the numbers of mirror groups with [`Pattern::Mirror`]: at most `pattern.num_targets`, fewer when the pool has fewer, none when it has none that
    /// is reachable. `seed` is drawn once by each caller, `counter` counts its calls.
    pub fn choose(
        &self,
        pattern: &StripePattern,
        placement: Placement,
        preferred: &[TargetId],
        seed: u64,
        counter: u64,
    ) -> Vec<TargetId> {
        let own;
        let mirrored = pattern.pattern == Pattern::Mirror;
        let tiers = if mirrored || preferred.is_empty() {
            let all = if mirrored { &self.groups } else { &self.tiers };
            let found = all.binary_search_by_key(&pattern.pool, |(pool, _)| *pool);
            found.map_or(&[][..], |at| &all[at].1)
        } else {
            own = self.preferred_tiers(pattern.pool, preferred);
            &own
        };
        let available: usize = tiers.iter().map(|tier| tier.by_id.len()).sum();
        let width = usize::from(pattern.num_targets).min(available);
        let mut out = Vec::with_capacity(width);
        let mut rng = Rng::new(seed, counter);
        for tier in tiers {
            let take = (width - out.len()).min(tier.by_id.len());
            if take == 0 {
                break;
            }
            match placement {
                Placement::Random => random(tier, take, &mut rng, &mut out),
                Placement::RoundRobin => in_turn(tier, take, seed.wrapping_add(counter), &mut out),
                Placement::RandomInternode => internode(tier, take, &mut rng, &mut out),
            }
        }
        out
    }

    /// The slot of a new directory: metadata targets in turn, a random slot of the one; `None` while none is reachable.
    pub fn pick_slot(&self, seed: u64, counter: u64) -> Option<Slot> {
        let targets = self.meta.len() as u64;
        let turn = seed.wrapping_add(counter).checked_rem(targets)?;
        slot_of(&self.meta[turn as usize].1, &mut Rng::new(seed, counter))
    }

    /// A random slot of this metadata server for a new directory; `None` if its slots go to another, or there is one of a better class.
    pub fn pick_slot_of(&self, server: TargetId, seed: u64) -> Option<Slot> {
        let (_, ranges) = self.meta.iter().find(|(id, _)| *id == server)?;
        slot_of(ranges, &mut Rng::new(seed, 0))
    }

    /// Tiers in which, within every capacity class, the preferred targets come first.
    fn preferred_tiers(&self, pool: PoolId, preferred: &[TargetId]) -> Vec<Tier> {
        let mine = self.candidates.iter().filter(|c| c.0 == pool);
        let mut keyed: Vec<_> = mine
            .map(|(_, tier, target, node)| {
                let other = u8::from(!preferred.contains(target));
                ((tier / 2) * 4 + other * 2 + tier % 2, *target, *node)
            })
            .collect();
        keyed.sort_unstable();
        tiers(keyed.into_iter())
    }
}

/// A mirror group as a candidate: as good as its worst member. Not one that nobody in reach can serve.
fn candidate(map: &ClusterMap, group: &Group) -> Option<(PoolId, u8, TargetId, NodeId)> {
    let members: Vec<_> =
        group.members_with_states().filter_map(|(id, state)| Some((map.target(id)?, state))).collect();
    let serves = |(target, state): &(&Target, MemberState)| *state == MemberState::Good && usable(target);
    let primary = members.first().filter(|_| group.kind == TargetKind::Storage && members.iter().any(serves))?.0;
    let class = members.iter().filter(|(target, _)| usable(target)).map(|(target, _)| tier_of(target)).max()?;
    Some((primary.pool, class, TargetId(group.id.0), primary.node))
}

fn by_pool(candidates: &[(PoolId, u8, TargetId, NodeId)]) -> Vec<(PoolId, Vec<Tier>)> {
    let pools = candidates.chunk_by(|a, b| a.0 == b.0);
    pools.map(|pool| (pool[0].0, tiers(pool.iter().map(|c| (c.1, c.2, c.3))))).collect()
}

fn tiers(members: impl Iterator<Item = (u8, TargetId, NodeId)>) -> Vec<Tier> {
    let members: Vec<_> = members.collect();
    let tier =
        |run: &[(u8, TargetId, NodeId)]| Tier::new(run.iter().map(|(_, target, node)| (*target, *node)).collect());
    members.chunk_by(|a, b| a.0 == b.0).map(tier).collect()
}

/// `take` of `tier` in random order.
fn random(tier: &Tier, take: usize, rng: &mut Rng, out: &mut Vec<TargetId>) {
    sample(tier.by_id.len(), take, rng, out, |at| tier.by_id[at]);
}

/// `take` of `tier`, beginning one further with every file.
fn in_turn(tier: &Tier, take: usize, turn: u64, out: &mut Vec<TargetId>) {
    let len = tier.by_id.len();
    let start = (turn % len as u64) as usize;
    out.extend((0..take).map(|i| tier.by_id[(start + i) % len]));
}

/// `take` of `tier` over as many nodes as there are: in each round at most one target of each node.
fn internode(tier: &Tier, take: usize, rng: &mut Rng, out: &mut Vec<TargetId>) {
    let end = out.len() + take;
    let salt = rng.bits();
    let mut round = 0;
    while out.len() < end {
        let eligible = tier.nodes.partition_point(|(_, range)| range.len() > round);
        let want = (end - out.len()).min(eligible);
        sample(eligible, want, rng, out, |at| {
            let (node, range) = &tier.nodes[at];
            let first = mix(salt ^ u64::from(node.0)) % range.len() as u64;
            tier.by_node[range.start + (first as usize + round) % range.len()]
        });
        round += 1;
    }
}

/// Appends `pick(i)` for `take` different numbers below `n`, every selection and order as likely as any other: Floyd's
/// selection, then a Fisher-Yates shuffle. `pick` must be injective.
fn sample(n: usize, take: usize, rng: &mut Rng, out: &mut Vec<TargetId>, pick: impl Fn(usize) -> TargetId) {
    let start = out.len();
    for last in n - take..n {
        let drawn = pick(rng.below(last + 1));
        let new = if out[start..].contains(&drawn) { pick(last) } else { drawn };
        out.push(new);
    }
    for at in (1..take).rev() {
        out.swap(start + at, start + rng.below(at + 1));
    }
}

/// [`PlacementTable::choose`] for a caller that chooses once.
pub fn choose_targets(
    map: &ClusterMap,
    pattern: &StripePattern,
    placement: Placement,
    preferred: &[TargetId],
    seed: u64,
    counter: u64,
) -> Vec<TargetId> {
    PlacementTable::new(map).choose(pattern, placement, preferred, seed, counter)
}

/// [`PlacementTable::pick_slot`] for a caller that picks once.
pub fn pick_slot(map: &ClusterMap, seed: u64, counter: u64) -> Option<Slot> {
    PlacementTable::new(map).pick_slot(seed, counter)
}
