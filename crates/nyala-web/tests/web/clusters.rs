// SPDX-License-Identifier: Apache-2.0

//! Clusters in the states that a page has to show.

use nyala_cluster::{Change, Mood};
use nyala_web::{
    Check, CheckState, ClientFigures, Facts, Figures, FileFigures, Here, History, Leadership, Line, Resync,
    ServiceFigures, Span, TargetFigures, Totals, UserFigures,
};
use nyala_wire::map::{
    CapacityPool, ClusterMap, Consistency, Group, MemberState, Node, Reachability, Role, SlotRange, Target, TargetKind,
};
use nyala_wire::{ClusterId, GroupId, MapVersion, NodeId, PoolId, Slot, TargetId};

pub const NOW: u64 = 1_795_655_525_000;

/// What facts borrow from.
pub struct World {
    pub map: ClusterMap,
    pub here: Here,
    pub figures: Option<Figures>,
    pub history: History,
    pub changes: Vec<Change>,
    pub checks: Vec<Check>,
}

impl World {
    pub fn facts(&self, may_act: bool) -> Facts<'_> {
        Facts {
            map: &self.map,
            here: &self.here,
            figures: self.figures.as_ref(),
            history: &self.history,
            changes: &self.changes,
            checks: &self.checks,
            now_ms: NOW,
            span: Span::Hour,
            may_act,
        }
    }
}

fn node(id: u32, role: Role, alias: &str) -> Node {
    let addresses = vec![([10, 0, 0, u8::try_from(id % 250).unwrap()], 8003).into()];
    Node { id: NodeId(id), alias: alias.to_owned(), role, addresses, reachability: Reachability::Online }
}

fn target(id: u16, kind: TargetKind, node: u32) -> Target {
    Target {
        id: TargetId(id),
        alias: format!("{}-{id}", if kind == TargetKind::Meta { "meta" } else { "disk" }),
        kind,
        node: NodeId(node),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    }
}

fn group(id: u16, kind: TargetKind, members: [u16; 2]) -> Group {
    Group {
        id: GroupId(id),
        kind,
        epoch: 1,
        members: members.map(TargetId).to_vec(),
        states: vec![MemberState::Good; 2],
        term: 1,
        since: MapVersion(1),
        fencing: Vec::new(),
        resync_stopped: false,
        full: Vec::new(),
        losses: 0,
        serves: (kind == TargetKind::Meta).then_some(TargetId(members[0])),
    }
}

/// Only management.
pub fn empty() -> World {
    World {
        map: ClusterMap {
            version: MapVersion(2),
            cluster: ClusterId([0x5a; 16]),
            nodes: vec![node(1, Role::Mgmt, "m1")],
            ..ClusterMap::default()
        },
        here: Here { alias: "m1".to_owned(), leadership: Leadership::Leads },
        figures: None,
        history: History::default(),
        changes: Vec::new(),
        checks: Vec::new(),
    }
}

/// Three management nodes, two mirrored metadata services, four storage services with two targets each, mirrored.
pub fn healthy() -> World {
    let mut world = empty();
    let map = &mut world.map;
    map.version = MapVersion(48);
    map.nodes = (1..=3).map(|n| node(n, Role::Mgmt, &format!("m{n}"))).collect();
    map.nodes.extend((4..=5).map(|n| node(n, Role::Meta, &format!("meta{}", n - 3))));
    map.nodes.extend((6..=9).map(|n| node(n, Role::Storage, &format!("storage{}", n - 5))));
    map.targets = vec![target(1, TargetKind::Meta, 4), target(2, TargetKind::Meta, 5)];
    map.targets.extend((0..8).map(|n| target(101 + n, TargetKind::Storage, 6 + u32::from(n) / 2)));
    map.groups = vec![group(1, TargetKind::Meta, [1, 2])];
    let pairs = [[101, 103], [104, 102], [105, 107], [108, 106]];
    map.groups.extend((2..).zip(pairs).map(|(id, pair)| group(id, TargetKind::Storage, pair)));
    map.slots = vec![SlotRange { first: Slot(0), count: 64, target: TargetId(1) }];
    figures(&mut world);
    history(&mut world.history);
    world.changes = vec![
        change(NOW - 60_000, Mood::Better, "mirror group 5 was made", "by an operator's order"),
        change(
            NOW - 90_000,
            Mood::Better,
            "target 108 (disk-108) joined",
            "storage node storage4 (9) was started and registered",
        ),
    ];
    world
}

pub fn change(at: u64, mood: Mood, what: &str, why: &str) -> Change {
    Change { at_ms: Some(at), version: MapVersion(40), mood, what: what.to_owned(), why: why.to_owned() }
}

/// Figures of all that is online.
pub fn figures(world: &mut World) {
    let mut figures = Figures { at_ms: NOW - 2000, totals: totals(0.0), ..Figures::default() };
    for node in world.map.nodes.iter().filter(|node| node.role != Role::Client) {
        let failed = (node.reachability == Reachability::Offline).then(|| "connection refused".to_owned());
        let n = f64::from(node.id.0);
        figures.services.push(ServiceFigures {
            name: node.alias.clone(),
            failed,
            cpu: 0.05 * n,
            memory: 9e7 * n,
            requests: 140.0 * n,
            p99_s: Some(0.0004 * n),
            said: None,
        });
    }
    for target in &world.map.targets {
        let n = f64::from(target.id.0 % 100);
        let size = if target.kind == TargetKind::Meta { 2e11 } else { 4e12 };
        let free = size * (0.62 - 0.03 * (n % 20.0));
        let figure =
            TargetFigures { size, free, read: 2.1e7 * n, written: 1.3e7 * n, operations: 90.0 * n, p99_s: Some(0.002) };
        figures.targets.insert(target.id, figure);
    }
    figures.clients = (1..=12_u32)
        .map(|n| ClientFigures {
            name: format!("10.0.1.{n}"),
            requests: 4000.0 / f64::from(n),
            read: 4e8 / f64::from(n),
            written: 1e8 / f64::from(n),
        })
        .collect();
    figures.users =
        vec![UserFigures { uid: "1000".to_owned(), requests: 830.0, changes: 210.0, at_mounts: 1900.0, mounts: 3 }];
    let file = |path: &str, requests| FileFigures {
        path: path.to_owned(),
        requests,
        changes: 12.0,
        read: 3.2e7,
        written: 1.1e6,
    };
    figures.files = vec![file("/data/run 7/input.h5", 420.0), file("inode 0005-00000000002a", 31.0)];
    figures.directories = vec![file("/home/anna/cache", 910.0)];
    world.figures = Some(figures);
}

fn totals(at: f64) -> Totals {
    let mut totals = Totals::default();
    let wave = |phase: f64| 1.0 + 0.4 * (at / 40.0 + phase).sin() + 0.15 * (at / 7.0 + phase).sin();
    totals.set(Line::Read, 6.2e8 * wave(0.0));
    totals.set(Line::Written, 3.1e8 * wave(1.3));
    totals.set(Line::MetaRequests, 2400.0 * wave(2.0));
    totals.set(Line::StorageRequests, 5100.0 * wave(0.4));
    totals.set(Line::MetaLatency, 0.0011 * wave(3.0));
    totals.set(Line::StorageLatency, 0.0041 * wave(4.0));
    totals
}

fn history(history: &mut History) {
    (0..720_u32).for_each(|n| history.push(NOW - 3_600_000 + u64::from(n) * 5000, totals(f64::from(n))));
}

/// A storage service is gone, and another member is primary.
pub fn degraded() -> World {
    let mut world = healthy();
    lose(&mut world, 6);
    for group in world.map.groups.iter_mut().skip(1) {
        if let Some(at) = group.members.iter().position(|member| [101, 102].contains(&member.0)) {
            group.members.rotate_left(usize::from(at == 0));
            group.states = vec![MemberState::Good, MemberState::NeedsResync];
        }
    }
    world.map.targets[5].capacity_pool = CapacityPool::Low;
    let why = "the lease of storage node storage1 (6) ended: it stopped, crashed or was not heard";
    let mut changes = vec![
        change(
            NOW - 8000,
            Mood::Worse,
            "target 101 (disk-101) of mirror group 2 misses changes and needs resync",
            "the primary, target 103 (disk-103), goes on without target 101 (disk-101), which did not answer",
        ),
        change(NOW - 8400, Mood::Neutral, "target 103 (disk-103) is primary of mirror group 2, after 101", why),
        change(NOW - 8400, Mood::Worse, "storage node storage1 (6) is offline", why),
    ];
    changes.append(&mut world.changes);
    world.changes = changes;
    figures(&mut world);
    world
}

pub fn lose(world: &mut World, node: u32) {
    let is_lost = |id: NodeId| id.0 == node;
    world.map.nodes.iter_mut().filter(|n| is_lost(n.id)).for_each(|n| n.reachability = Reachability::Offline);
    world.map.targets.iter_mut().filter(|t| is_lost(t.node)).for_each(|t| t.reachability = Reachability::Offline);
}

/// The storage service is back, and gets what it missed.
pub fn resyncing() -> World {
    let mut world = degraded();
    world.map.nodes.iter_mut().for_each(|node| node.reachability = Reachability::Online);
    world.map.targets.iter_mut().for_each(|target| target.reachability = Reachability::Online);
    world.map.targets[5].capacity_pool = CapacityPool::Normal;
    for group in &mut world.map.groups {
        group
            .states
            .iter_mut()
            .filter(|state| **state != MemberState::Good)
            .for_each(|state| *state = MemberState::Resyncing);
    }
    world.changes.insert(
        0,
        change(
            NOW - 2000,
            Mood::Neutral,
            "target 101 (disk-101) of mirror group 2 is being resynced",
            "the primary reached target 101 (disk-101) again",
        ),
    );
    figures(&mut world);
    let figures = world.figures.as_mut().unwrap();
    for (group, target) in [(2, 101), (3, 102)] {
        let resync = Resync { copied: 3.1e10 / f64::from(group), remaining: 2.2e10, rate: 2.4e8 };
        figures.resyncs.insert((GroupId(group), TargetId(target)), resync);
    }
    world
}

/// Two of three management nodes are gone.
pub fn lost_majority() -> World {
    let mut world = healthy();
    world.here.leadership = Leadership::Lost;
    let figures = world.figures.as_mut().unwrap();
    figures.services.iter_mut().filter(|s| ["m2", "m3"].contains(&s.name.as_str())).for_each(|service| {
        service.failed = Some("no reply within 3s".to_owned());
    });
    world
}

/// A check of a state.
pub fn check(state: CheckState) -> Check {
    Check { began_ms: NOW - 60_000, what: "fsck --repair".to_owned(), host: "10.0.0.9".to_owned(), state }
}
