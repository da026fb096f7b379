// SPDX-License-Identifier: Apache-2.0

//! Single commands: what each does, and every refusal in words.

use nyala_cluster::capacity::TargetPool;
use nyala_cluster::{ClusterError, ClusterState, Command, Event, NewTarget, RegisterNode, Thing, Trigger};
use nyala_wire::map::{CapacityPool, Consistency, Reachability, Rebalance, Role, Settings, TargetKind};
use nyala_wire::mgmt::{Register, RegisterTarget};
use nyala_wire::{ClusterId, NodeId, PoolId, Slot, TargetId};

fn uuid(n: u8) -> ClusterId {
    ClusterId([n; 16])
}

fn cluster() -> ClusterState {
    let mut state = ClusterState::default();
    state.apply(Command::Init { cluster: uuid(9), settings: Settings::default() }).unwrap();
    state
}

fn service(role: Role, n: u8, targets: &[u8]) -> RegisterNode {
    let kind = if role == Role::Meta { TargetKind::Meta } else { TargetKind::Storage };
    let target =
        |n: &u8| NewTarget { uuid: uuid(*n), id: TargetId(0), alias: String::new(), kind, losses: 0, spare: false };
    RegisterNode {
        cluster: ClusterId::UNKNOWN,
        role,
        uuid: uuid(n),
        alias: String::new(),
        addresses: vec![([10, 0, 0, n], 8003).into()],
        incarnation: 1,
        targets: targets.iter().map(target).collect(),
    }
}

fn register(state: &mut ClusterState, service: &RegisterNode) -> Result<(u32, Vec<u16>), ClusterError> {
    state.apply(Command::RegisterNode(service.clone()))?;
    let (node, targets) = state.ids_of(service).unwrap();
    Ok((node.0, targets.iter().map(|t| t.0).collect()))
}

fn down(state: &mut ClusterState, node: u32) {
    let incarnation = state.node(NodeId(node)).unwrap().incarnation;
    let reachability = Reachability::Offline;
    state.apply(Command::SetReachability { node: NodeId(node), incarnation, reachability }).unwrap();
}

#[test]
fn ids_aliases_and_slots_are_given() {
    let mut state = cluster();
    assert_eq!(register(&mut state, &service(Role::Meta, 1, &[11])), Ok((1, vec![1])));
    assert_eq!(register(&mut state, &service(Role::Storage, 2, &[21, 22])), Ok((2, vec![101, 102])));
    assert_eq!(register(&mut state, &service(Role::Meta, 3, &[31])), Ok((3, vec![2])));
    let aliases: Vec<_> = state.nodes.iter().map(|n| n.alias.as_str()).collect();
    assert_eq!(aliases, ["meta1", "storage1", "meta2"]);
    let aliases: Vec<_> = state.targets.iter().map(|t| t.alias.as_str()).collect();
    assert_eq!(aliases, ["t1", "t2", "t101", "t102"]);
    let map = state.map();
    assert_eq!((map.slot_target(Slot(0)), map.slot_target(Slot(64))), (Some(TargetId(1)), Some(TargetId(2))));
    assert_eq!(map.slot_target(Slot(128)), None);
    assert_eq!((map.target(TargetId(101)).unwrap().pool, map.version.0), (PoolId(1), 4));
}

#[test]
fn init_happens_once() {
    let mut state = cluster();
    let init = |n| Command::Init { cluster: uuid(n), settings: Settings::default() };
    assert_eq!(state.apply(init(9)), Ok(vec![]));
    assert_eq!(state.apply(init(8)), Err(ClusterError::AlreadyInitialised { ours: uuid(9), theirs: uuid(8) }));
    assert!(ClusterState::default().apply(init(0)).is_err());
}

#[test]
fn registration_refusals() {
    let mut state = cluster();
    let mut one = service(Role::Storage, 1, &[11]);
    one.alias = "box".into();
    one.targets[0].id = TargetId(7);
    assert_eq!(register(&mut state, &one), Ok((1, vec![7])));

    let mut other = service(Role::Storage, 2, &[12]);
    other.alias = "box".into();
    assert_eq!(register(&mut state, &other), Err(ClusterError::AliasTaken { alias: "box".into() }));
    other.alias = String::new();
    other.targets[0].id = TargetId(7);
    assert_eq!(register(&mut state, &other), Err(ClusterError::TargetIdTaken { target: TargetId(7) }));
    other.targets[0] = NewTarget { uuid: uuid(11), id: TargetId(0), ..other.targets[0].clone() };
    let served = ClusterError::TargetServed { target: TargetId(7), node: NodeId(1) };
    assert_eq!(register(&mut state, &other), Err(served));
    other.cluster = uuid(8);
    let foreign = ClusterError::ForeignCluster { ours: uuid(9), theirs: uuid(8) };
    assert_eq!(register(&mut state, &other), Err(foreign));

    one.targets[0].id = TargetId(8);
    let differs = ClusterError::TargetIdDiffers { wanted: TargetId(8), registered: TargetId(7) };
    assert_eq!(register(&mut state, &one), Err(differs));
    let mut meta = service(Role::Meta, 3, &[11]);
    let kinds = ClusterError::TargetKindDiffers {
        target: TargetId(7),
        registered: TargetKind::Storage,
        wanted: TargetKind::Meta,
    };
    assert_eq!(register(&mut state, &meta), Err(kinds));
    meta.uuid = uuid(1);
    assert_eq!(register(&mut state, &meta), Err(ClusterError::RoleDiffers { node: NodeId(1) }));
}

#[test]
fn a_target_moves_once_its_node_is_down_or_came_back_without_it() {
    for came_back in [false, true] {
        let mut state = cluster();
        let mut one = service(Role::Storage, 1, &[11, 12]);
        register(&mut state, &one).unwrap();
        if came_back {
            one.targets.remove(0);
            one.incarnation = 2;
            register(&mut state, &one).unwrap();
            assert_eq!(state.target(TargetId(101)).unwrap().state.reachability, Reachability::Offline);
            assert_eq!(state.target(TargetId(102)).unwrap().state.reachability, Reachability::Online);
        } else {
            down(&mut state, 1);
        }
        assert_eq!(register(&mut state, &service(Role::Storage, 2, &[11])), Ok((2, vec![101])));
        let moved = state.target(TargetId(101)).unwrap();
        assert_eq!((moved.node, moved.state.reachability), (NodeId(2), Reachability::Online));
    }
}

#[test]
fn a_replaced_run_never_comes_back() {
    let mut state = cluster();
    let mut one = service(Role::Storage, 1, &[11]);
    register(&mut state, &one).unwrap();
    one.incarnation = 2;
    register(&mut state, &one).unwrap();
    one.incarnation = 1;
    assert_eq!(register(&mut state, &one), Err(ClusterError::Superseded { node: NodeId(1) }));
    // A verdict on the replaced run says nothing about the current one.
    let late = Command::SetReachability { node: NodeId(1), incarnation: 1, reachability: Reachability::Offline };
    assert_eq!(state.apply(late), Ok(vec![]));
    for incarnation in 3..40 {
        one.incarnation = incarnation;
        register(&mut state, &one).unwrap();
    }
    assert_eq!(state.nodes[0].previous.len(), nyala_cluster::NodeRecord::MAX_PREVIOUS);
}

#[test]
fn reachability_reaches_the_targets_and_consistency_stays() {
    let mut state = cluster();
    register(&mut state, &service(Role::Storage, 1, &[11])).unwrap();
    let target = TargetId(101);
    let bad = Command::SetConsistency { target, trigger: Trigger::DeclaredBad };
    assert_eq!(state.apply(bad).unwrap().len(), 1);
    down(&mut state, 1);
    let now = state.target(target).unwrap().state;
    assert_eq!((now.reachability, now.consistency), (Reachability::Offline, Consistency::Bad));
    let late =
        Command::SetReachability { node: NodeId(1), incarnation: 1, reachability: Reachability::ProbablyOffline };
    assert!(matches!(state.apply(late), Err(ClusterError::Transition { .. })));
    let lost = Command::SetConsistency { target, trigger: Trigger::Lost };
    assert!(matches!(state.apply(lost), Err(ClusterError::Invalid { .. })), "not by hand");
}

#[test]
fn removal_is_refused_while_in_use() {
    let mut state = cluster();
    register(&mut state, &service(Role::Storage, 1, &[11])).unwrap();
    register(&mut state, &service(Role::Meta, 2, &[21])).unwrap();
    let target = |id, content_gone| Command::RemoveTarget { target: TargetId(id), content_gone };
    let node = |id| Command::RemoveNode { node: NodeId(id) };
    let refused = |state: &mut ClusterState, command| matches!(state.apply(command), Err(ClusterError::InUse { .. }));
    assert!(refused(&mut state, node(1)) && refused(&mut state, target(101, true)), "alive");
    down(&mut state, 1);
    down(&mut state, 2);
    assert!(refused(&mut state, node(1)), "has a target");
    assert!(refused(&mut state, target(101, false)), "may hold data");
    assert!(refused(&mut state, target(1, true)), "serves slots");
    assert_eq!(state.apply(target(101, true)), Ok(vec![Event::TargetRemoved(TargetId(101))]));
    assert_eq!(state.apply(node(1)), Ok(vec![Event::NodeRemoved(NodeId(1))]));
    // Neither number is given out again, not even on request, and neither directory comes back, under no number.
    assert_eq!(register(&mut state, &service(Role::Storage, 3, &[12])), Ok((3, vec![102])));
    let mut wish = service(Role::Storage, 4, &[13]);
    wish.targets[0].id = TargetId(101);
    assert_eq!(register(&mut state, &wish), Err(ClusterError::TargetIdTaken { target: TargetId(101) }));
    for old in [service(Role::Storage, 1, &[]), service(Role::Storage, 4, &[11])] {
        assert!(matches!(register(&mut state, &old), Err(ClusterError::WasRemoved { .. })), "{old:?}");
    }
}

/// A service whose own directory is not mounted looks like a new one, at the address of one that is registered.
#[test]
fn a_node_is_not_made_silently_at_the_address_of_another() {
    let mut state = cluster();
    for role in [Role::Meta, Role::Storage] {
        let first = service(role, 1 + role as u8, &[11 + role as u8]);
        let (node, _) = register(&mut state, &first).unwrap();
        down(&mut state, node);
        let empty = RegisterNode { uuid: uuid(90), ..service(role, 1 + role as u8, &[91]) };
        let refused = register(&mut state, &empty).unwrap_err();
        assert!(matches!(refused, ClusterError::AddressTaken { node: NodeId(n), .. } if n == node), "{refused}");
        assert!(refused.to_string().contains("is the disk"), "{refused}");
        register(&mut state, &RegisterNode { incarnation: 2, ..first }).unwrap();
    }
    // One that has lost its own directory only brings its targets.
    let lost = state.nodes.iter().find(|n| n.role == Role::Storage).unwrap().id;
    down(&mut state, lost.0);
    let mut reborn = service(Role::Storage, 1 + Role::Storage as u8, &[11 + Role::Storage as u8]);
    reborn.uuid = uuid(80);
    assert_eq!(register(&mut state, &reborn), Ok((lost.0 + 1, vec![101])));
    state.apply(Command::RemoveNode { node: lost }).unwrap();
    // A lost one is removed by an operator; then the address is free.
    let lost = state.nodes.iter().find(|n| n.role == Role::Storage).unwrap().id;
    down(&mut state, lost.0);
    state.apply(Command::RemoveTarget { target: TargetId(101), content_gone: true }).unwrap();
    state.apply(Command::RemoveNode { node: lost }).unwrap();
    let again = RegisterNode { uuid: uuid(90), ..service(Role::Storage, 1 + Role::Storage as u8, &[91]) };
    assert_eq!(register(&mut state, &again), Ok((lost.0 + 1, vec![102])));
}

#[test]
fn a_refused_target_does_not_take_the_others_down() {
    let mut state = cluster();
    let mut one = service(Role::Storage, 1, &[11, 12]);
    assert_eq!(register(&mut state, &one), Ok((1, vec![101, 102])));
    // Another directory with the id of the first one: a copy, or a disk that has been replaced.
    one.incarnation = 2;
    one.targets[0] = NewTarget { uuid: uuid(13), id: TargetId(101), ..one.targets[0].clone() };
    assert_eq!(register(&mut state, &one), Ok((1, vec![0, 102])));
    let refusal = state.refusal(NodeId(1), &one.targets[0]);
    assert_eq!(refusal, Some(ClusterError::TargetIdTaken { target: TargetId(101) }));
    let reachability = |id| state.target(TargetId(id)).unwrap().state.reachability;
    assert_eq!((reachability(101), reachability(102)), (Reachability::Offline, Reachability::Online));
    // With no other target there is nothing to serve.
    let mut alone = service(Role::Storage, 1, &[13]);
    (alone.incarnation, alone.targets[0].id) = (3, TargetId(101));
    assert_eq!(register(&mut state, &alone), Err(ClusterError::TargetIdTaken { target: TargetId(101) }));
}

#[test]
fn pools_and_aliases() {
    let mut state = cluster();
    register(&mut state, &service(Role::Storage, 1, &[11])).unwrap();
    state.apply(Command::CreatePool { alias: "fast".into() }).unwrap();
    state.apply(Command::SetPool { target: TargetId(101), pool: PoolId(2) }).unwrap();
    assert!(matches!(state.apply(Command::RemovePool { pool: PoolId(2) }), Err(ClusterError::InUse { .. })));
    assert!(matches!(state.apply(Command::RemovePool { pool: PoolId(1) }), Err(ClusterError::InUse { .. })));
    let rename = |thing, alias: &str| Command::Rename { thing, alias: alias.into() };
    state.apply(rename(Thing::Node(NodeId(1)), "rack3")).unwrap();
    assert_eq!(state.map().node(NodeId(1)).unwrap().alias, "rack3");
    assert!(matches!(state.apply(rename(Thing::Node(NodeId(1)), "33")), Err(ClusterError::BadAlias { .. })));
    let taken = ClusterError::AliasTaken { alias: "default".into() };
    assert_eq!(state.apply(rename(Thing::Pool(PoolId(2)), "default")), Err(taken));
    let nobody = ClusterError::NoTarget { target: TargetId(5) };
    assert_eq!(state.apply(rename(Thing::Target(TargetId(5)), "x")), Err(nobody));
}

#[test]
fn senseless_settings_are_refused() {
    let mut state = cluster();
    let good = Settings::default();
    let mut bad = vec![
        Settings { heartbeat_ms: 5, ..good.clone() },
        Settings { lease_ms: 1499, ..good.clone() },
        Settings { session_timeout_ms: 2999, ..good.clone() },
        Settings { rebalance: Rebalance { at_once: 0, ..Rebalance::default() }, ..good.clone() },
    ];
    let mut pattern = good.clone();
    pattern.default_pattern.chunk_bytes = 3;
    bad.push(pattern.clone());
    pattern.default_pattern = Settings::default().default_pattern;
    pattern.default_pattern.pool = PoolId(7);
    bad.push(pattern);
    for settings in bad {
        assert!(state.apply(Command::SetSettings(settings)).is_err());
    }
    let faster = Settings { heartbeat_ms: 100, lease_ms: 600, ..good };
    assert_eq!(state.apply(Command::SetSettings(faster.clone())), Ok(vec![Event::SettingsChanged]));
    assert_eq!(state.map().settings, faster);
}

#[test]
fn slots_run_out_with_a_clear_error() {
    let mut state = cluster();
    for node in 0..4_u8 {
        let mut many = service(Role::Meta, 200 + node, &[]);
        many.targets = (0..=255_u8)
            .map(|t| {
                let mut id = [node + 1; 16];
                id[1] = t;
                NewTarget {
                    uuid: ClusterId(id),
                    id: TargetId(0),
                    alias: String::new(),
                    kind: TargetKind::Meta,
                    losses: 0,
                    spare: false,
                }
            })
            .collect();
        register(&mut state, &many).unwrap();
    }
    assert_eq!(state.slots.len(), 1024);
    assert_eq!(state.map().slot_target(Slot(u16::MAX)), Some(TargetId(1024)));
    let more = register(&mut state, &service(Role::Meta, 210, &[77]));
    assert!(matches!(more, Err(ClusterError::Exhausted { .. })));
}

#[test]
fn what_comes_over_the_wire_is_checked() {
    let good = Register {
        cluster: ClusterId::UNKNOWN,
        role: Role::Storage,
        uuid: uuid(1),
        alias: "s".into(),
        addresses: vec!["10.0.0.1:8003".into(), "[fe80::1]:8003".into()],
        incarnation: 3,
        targets: vec![RegisterTarget {
            uuid: uuid(2),
            id: TargetId(0),
            alias: String::new(),
            kind: TargetKind::Storage,
            capacity: Default::default(),
            losses: 0,
            spare: false,
        }],
    };
    assert!(RegisterNode::try_from(&good).is_ok());
    let spoil: [&dyn Fn(&mut Register); 11] = [
        &|r| r.addresses.clear(),
        &|r| r.addresses = vec!["localhost:1".into()],
        &|r| r.addresses = vec!["10.0.0.1:0".into()],
        &|r| r.addresses = vec!["0.0.0.0:8003".into()],
        &|r| r.addresses = vec!["10.0.0.1:1".into(); 33],
        &|r| r.role = Role::Client,
        &|r| r.role = Role::Meta,
        &|r| r.uuid = ClusterId::UNKNOWN,
        &|r| r.alias = "7".into(),
        &|r| r.targets.push(r.targets[0].clone()),
        &|r| r.targets = vec![r.targets[0].clone(); 1000],
    ];
    for (at, spoil) in spoil.iter().enumerate() {
        let mut bad = good.clone();
        spoil(&mut bad);
        assert!(RegisterNode::try_from(&bad).is_err(), "number {at}");
    }
}

/// The bytes of states and commands are a format on disk: if one of these changes, old directories cannot be read.
#[test]
fn a_range_of_inode_numbers_is_handed_out_once() {
    let mut state = cluster();
    register(&mut state, &service(Role::Meta, 1, &[11])).unwrap();
    register(&mut state, &service(Role::Storage, 2, &[21])).unwrap();
    let (meta, storage) = (TargetId(1), TargetId(101));
    let take = |target, last, range| Command::HandOutRange { target, last, range };
    assert_eq!(state.apply(take(meta, 0, 1)).unwrap(), [Event::RangeHandedOut(meta, 1)]);
    assert_eq!(state.apply(take(meta, 0, 1)).unwrap(), [], "repeated, or after another one");
    assert_eq!(state.apply(take(meta, 1, 9)).unwrap(), [Event::RangeHandedOut(meta, 9)]);
    assert_eq!((state.last_range, state.target(meta).unwrap().range), (9, 9));
    for (target, range) in
        [(meta, 9), (meta, 3), (meta, nyala_wire::mgmt::MAX_RANGE + 1), (storage, 10), (TargetId(7), 10)]
    {
        assert!(state.apply(take(target, 9, range)).is_err(), "{target} {range}");
    }
    assert_eq!(state.last_range, 9);
}

#[test]
fn the_format_on_disk_stays_as_it_is() {
    let mut state = cluster();
    register(&mut state, &service(Role::Meta, 1, &[11])).unwrap();
    register(&mut state, &service(Role::Storage, 2, &[21])).unwrap();
    down(&mut state, 2);
    let bytes = state.encode();
    let head: Vec<u8> = bytes[..16].to_vec();
    assert_eq!((bytes.len(), head), (323, vec![78, 89, 67, 83, 3, 0, 0, 0, 51, 1, 0, 0, 221, 65, 246, 146]));
    let rename = Command::Rename { thing: Thing::Target(TargetId(101)), alias: "fast".into() };
    let hex: String = nyala_wire::codec::encode(&rename).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, "82078282018118656466617374");
}

#[test]
fn of_a_target_in_two_capacity_pools_the_last_one_counts() {
    let mut state = cluster();
    register(&mut state, &service(Role::Storage, 2, &[21])).unwrap();
    let target = TargetId(101);
    let to = |pool| TargetPool { target, pool };
    let command = Command::SetCapacityPools(vec![to(CapacityPool::Low), to(CapacityPool::Normal)]);
    assert_eq!(state.apply(command), Ok(vec![]));
    let command = Command::SetCapacityPools(vec![to(CapacityPool::Normal), to(CapacityPool::Low)]);
    assert_eq!(state.apply(command.clone()), Ok(vec![Event::TargetCapacity(target, CapacityPool::Low)]));
    assert_eq!(state.apply(command), Ok(vec![]), "done once");
}

#[test]
fn rules_of_keys_are_set_changed_and_removed() {
    use nyala_wire::key_rules::{KeyRule, Squash};
    let mut state = cluster();
    let rule = |key: &str| KeyRule { squash: Squash::Root, ..KeyRule::none(key) };
    let set =
        |state: &mut ClusterState, rule: KeyRule| state.apply(Command::SetKeyRule(rule)).map(|events| events.len());
    assert_eq!(set(&mut state, rule("b")), Ok(1));
    assert_eq!(set(&mut state, rule("b")), Ok(0), "as it is");
    assert_eq!(set(&mut state, rule("a")), Ok(1));
    let keys = |state: &ClusterState| state.map().key_rules.into_iter().map(|rule| rule.key).collect::<Vec<_>>();
    assert_eq!(keys(&state), ["a", "b"]);
    assert_eq!((set(&mut state, KeyRule::none("b")), set(&mut state, KeyRule::none("c"))), (Ok(1), Ok(0)));
    assert_eq!(keys(&state), ["a"]);
    assert!(set(&mut state, KeyRule { anonymous_uid: 0, ..rule("a") }).is_err());
    (1..64).for_each(|n| assert_eq!(set(&mut state, rule(&format!("k{n}"))), Ok(1)));
    assert!(set(&mut state, rule("one-more")).is_err());
    assert_eq!(ClusterState::decode(&state.encode()).unwrap(), state);
}

#[test]
fn access_rules_are_set_replaced_and_removed_by_their_clients() {
    use nyala_wire::access_rules::{AccessRule, Admit, MAX_ACCESS_RULES, Network};
    use nyala_wire::key_rules::KeyRule;
    let mut state = cluster();
    let network = |text: &str| Some(text.parse::<Network>().unwrap());
    let rule = |key: &str, from: Option<Network>, admit| AccessRule {
        rule: KeyRule::none(key),
        network: from,
        subtree: None,
        admit,
    };
    let set = |state: &mut ClusterState, rule: AccessRule| {
        state.apply(Command::SetAccessRule(rule)).map(|events| events.len())
    };
    let lan = network("10.1.0.0/16");
    assert_eq!(set(&mut state, rule("lab", lan, Admit::Refused)), Ok(1));
    assert_eq!(set(&mut state, rule("lab", lan, Admit::Refused)), Ok(0), "as it is");
    assert_eq!(set(&mut state, rule("lab", lan, Admit::Free)), Ok(1), "in its place");
    assert_eq!(set(&mut state, rule("lab", None, Admit::Free)), Ok(1), "other clients");
    assert_eq!(set(&mut state, rule("*", lan, Admit::Refused)), Ok(1));
    assert!(set(&mut state, rule("lab", lan, Admit::Held)).is_err(), "it holds nobody to anything");
    let clients = |state: &ClusterState| {
        let rules = state.map().access_rules;
        rules.iter().map(|rule| (rule.rule.key.clone(), rule.network)).collect::<Vec<_>>()
    };
    let all = [("*".to_owned(), lan), ("lab".to_owned(), None), ("lab".to_owned(), lan)];
    assert_eq!(clients(&state), all, "in order");
    assert_eq!(ClusterState::decode(&state.encode()).unwrap(), state);
    let mut remove =
        |network| state.apply(Command::RemoveAccessRule { key: "lab".to_owned(), network }).map(|e| e.len());
    assert_eq!((remove(lan), remove(lan)), (Ok(1), Ok(0)));
    assert_eq!(clients(&state), all[..2]);
    for n in 2..MAX_ACCESS_RULES {
        let one = network(&format!("10.2.{}.{}", n / 256, n % 256));
        assert_eq!(set(&mut state, rule("*", one, Admit::Refused)), Ok(1));
    }
    assert!(set(&mut state, rule("one-more", None, Admit::Refused)).is_err());
}

#[test]
fn orders_are_kept_with_their_outcome_within_bounds() {
    use nyala_cluster::audit::{MAX_TEXT, MOST_ORDERS};
    use nyala_wire::audit::AuditRecord;
    let mut state = cluster();
    let order =
        |what: &str| Command::NoteOrder(AuditRecord { what: what.to_owned(), at_ms: 5, ..AuditRecord::default() });
    assert_eq!(state.apply(order("first")).unwrap(), [Event::OrderNoted(1)]);
    let end = |number, outcome: &str| Command::EndOrder { number, outcome: outcome.to_owned() };
    assert_eq!(state.apply(end(1, "done")).unwrap(), [Event::OrderEnded(1)]);
    assert_eq!(state.apply(end(1, "refused")).unwrap(), [], "the first word counts");
    assert_eq!(state.orders[0].outcome.as_deref(), Some("done"));
    let long = "ä".repeat(MAX_TEXT);
    (0..MOST_ORDERS).for_each(|_| drop(state.apply(order(&long)).unwrap()));
    assert_eq!((state.orders.len(), state.orders[0].number), (MOST_ORDERS, 2));
    assert_eq!(state.orders[0].what.len(), MAX_TEXT);
    assert_eq!(state.apply(end(1, "done")).unwrap(), [], "it is forgotten");
}

#[test]
fn disks_fail_and_are_forgiven_until_their_targets_go() {
    let mut state = cluster();
    register(&mut state, &service(Role::Meta, 1, &[11])).unwrap();
    register(&mut state, &service(Role::Storage, 2, &[21, 22])).unwrap();
    let (bad, old) = (TargetId(101), state.encode());
    let call = |target, errors| Command::CallFailing { target, errors };
    assert!(state.apply(call(TargetId(1), 9)).is_err() && state.apply(call(TargetId(999), 9)).is_err());
    assert_eq!(state.apply(call(bad, 9)), Ok(vec![Event::TargetFails(bad, true)]));
    assert_eq!(state.apply(call(bad, 10)), Ok(vec![]), "once");
    assert!(state.map().is_failing(bad) && !state.map().is_failing(TargetId(102)));
    assert_eq!(ClusterState::decode(&state.encode()).unwrap(), state);
    assert_eq!(ClusterState::decode(&old).unwrap().failing, []);
    assert_eq!(state.apply(Command::Forgive { target: TargetId(102), errors: 1 }), Ok(vec![]));
    assert_eq!(state.apply(Command::Forgive { target: bad, errors: 12 }), Ok(vec![Event::TargetFails(bad, false)]));
    assert_eq!((state.map().failing, state.forgiven(bad), state.forgiven(TargetId(102))), (vec![], 12, 0));
    state.apply(call(bad, 80)).unwrap();
    down(&mut state, 2);
    state.apply(Command::RemoveTarget { target: bad, content_gone: true }).unwrap();
    assert_eq!((state.failing.len(), state.forgiven.len()), (0, 0));
}
