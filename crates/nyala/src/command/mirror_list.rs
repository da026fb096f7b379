// SPDX-License-Identifier: Apache-2.0

//! `nyala mirror list`.

use super::json_name::json_name;
use crate::cluster::ClusterArgs;
use crate::exit::Outcome;
use crate::output::{Output, Table, show};
use crate::role::block_on;
use nyala_cluster::group_diagnosis;
use nyala_wire::map::{ClusterMap, MemberState, Reachability, TargetKind};
use nyala_wire::{GroupId, NodeId, PoolId, TargetId};
use serde::Serialize;

/// Flags of `nyala mirror list`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorListArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// The mirror groups of a cluster.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Groups(pub Vec<GroupRow>);

/// A mirror group.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GroupRow {
    pub id: GroupId,
    #[serde(rename = "type")]
    pub kind: TargetKind,
    pub pool: PoolId,
    pub epoch: u32,
    pub resync_stopped: bool,
    /// What is wrong, and what to do.
    #[serde(rename = "trouble")]
    pub diagnosis: Option<String>,
    /// The primary first.
    pub members: Vec<MemberRow>,
}

/// A member of a mirror group.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MemberRow {
    pub target: TargetId,
    pub node: NodeId,
    pub node_alias: String,
    pub state: MemberState,
    pub reachability: Reachability,
}

/// Whether a target is out of reach.
pub(super) fn is_offline(map: &ClusterMap, target: TargetId) -> bool {
    map.target(target).is_none_or(|t| t.reachability == Reachability::Offline)
}

impl Groups {
    /// What the map says.
    pub(super) fn of(map: &ClusterMap) -> Groups {
        let member = |(target, state)| MemberRow {
            target,
            node: map.target(target).map_or(NodeId(0), |t| t.node),
            node_alias: map.node_of(target).map_or_else(|| "unknown".to_owned(), |node| node.alias.clone()),
            state,
            reachability: map.target(target).map_or(Reachability::Offline, |t| t.reachability),
        };
        let row = |group: &nyala_wire::map::Group| GroupRow {
            id: group.id,
            kind: group.kind,
            pool: group.primary().and_then(|t| map.target(t)).map_or(PoolId(0), |t| t.pool),
            epoch: group.epoch,
            resync_stopped: group.resync_stopped,
            diagnosis: group_diagnosis(group, |target| is_offline(map, target)),
            members: group.members_with_states().map(member).collect(),
        };
        Groups(map.groups.iter().map(row).collect())
    }
}

/// Lists mirror groups.
pub fn run(args: MirrorListArgs, output: Output) -> Outcome {
    let map = block_on(async { args.cluster.find()?.map().await })?;
    show(output, &Groups::of(&map), table)
}

/// A line for each member, and a sentence for each group in trouble.
pub(super) fn table(groups: &Groups) -> String {
    let mut table = Table::new(&["ID", "TYPE", "ROLE", "TARGET", "NODE", "CONSISTENCY", "REACHABILITY", "RESYNC"]);
    for group in &groups.0 {
        for (at, member) in group.members.iter().enumerate() {
            let role = if at == 0 { "primary" } else { "secondary" };
            let resync = match (member.state, group.resync_stopped) {
                (MemberState::Good | MemberState::Bad, _) => "-",
                (_, true) => "stopped",
                (MemberState::Resyncing, _) => "running",
                (MemberState::NeedsResync, _) => "waiting",
            };
            table.row([
                group.id.to_string(),
                json_name(&group.kind),
                role.to_owned(),
                member.target.to_string(),
                member.node_alias.clone(),
                json_name(&member.state),
                json_name(&member.reachability),
                resync.to_owned(),
            ]);
        }
    }
    let mut text = table.render();
    let troubles: Vec<&str> = groups.0.iter().filter_map(|group| group.diagnosis.as_deref()).collect();
    if !troubles.is_empty() {
        text += &format!("\n{}\n", troubles.join("\n"));
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use nyala_wire::MapVersion;
    use nyala_wire::map::{CapacityPool, Consistency, Group, Node, Role, Target};

    /// Two storage nodes with a target each, in group 1; 201 needs resync.
    pub(crate) fn mirrored() -> ClusterMap {
        let node = |id| Node {
            id: NodeId(id),
            alias: format!("storage{id}"),
            role: Role::Storage,
            addresses: vec![([127, 0, 0, 1], 1).into()],
            reachability: Reachability::Online,
        };
        let target = |id: u16, reachability| Target {
            id: TargetId(id),
            alias: format!("t{id}"),
            kind: TargetKind::Storage,
            node: NodeId(u32::from(id / 100)),
            pool: PoolId(1),
            reachability,
            consistency: Consistency::Good,
            capacity_pool: CapacityPool::Normal,
        };
        let group = Group {
            id: GroupId(1),
            kind: TargetKind::Storage,
            epoch: 3,
            members: vec![TargetId(101), TargetId(201)],
            states: vec![MemberState::Good, MemberState::NeedsResync],
            term: 1,
            since: MapVersion(9),
            fencing: vec![],
            resync_stopped: false,
            losses: 0,
            serves: None,
            full: vec![],
        };
        ClusterMap {
            nodes: vec![node(1), node(2)],
            targets: vec![target(101, Reachability::Offline), target(201, Reachability::Online)],
            groups: vec![group],
            ..ClusterMap::default()
        }
    }

    #[test]
    fn members_states_and_what_a_group_waits_for() {
        let groups = Groups::of(&mirrored());
        let text = table(&groups);
        for word in ["primary ", "secondary ", "needs-resync", "offline", "waiting", "waits for target 101"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        let json = serde_json::to_value(&groups).unwrap();
        assert_eq!((&json[0]["id"], &json[0]["members"][1]["state"]), (&1.into(), &"needs-resync".into()));
        assert_eq!(json[0]["members"][0]["node_alias"], "storage1");
    }
}
