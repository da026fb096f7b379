// SPDX-License-Identifier: Apache-2.0

//! The cluster as it is before the first event.

use crate::plan::Plan;
use crate::world::{GROUP, HEARTBEAT_MS, LEASE_MS};
use nyala_cluster::{ClusterState, Command, NewTarget, RegisterNode};
use nyala_wire::ClusterId;
use nyala_wire::map::{Role, Settings, TargetKind};

/// How server `n` registers.
pub fn registration(n: usize, incarnation: u64) -> RegisterNode {
    let uuid = |kind: u8| ClusterId([kind + n as u8; 16]);
    let (uuid_of, kind) = (uuid(100), TargetKind::Storage);
    let target =
        NewTarget { uuid: uuid_of, id: Default::default(), alias: String::new(), kind, losses: 0, spare: false };
    RegisterNode {
        cluster: ClusterId::UNKNOWN,
        role: Role::Storage,
        uuid: uuid(1),
        alias: String::new(),
        addresses: vec![([10, 0, 0, 1 + n as u8], 8003).into()],
        incarnation,
        targets: vec![target],
    }
}

/// All servers registered, and in one group.
pub fn first_state(plan: &Plan) -> ClusterState {
    let settings =
        Settings { heartbeat_ms: HEARTBEAT_MS, lease_ms: LEASE_MS, session_timeout_ms: 30_000, ..Settings::default() };
    let mut state = ClusterState::default();
    let mut apply = |command| state.apply(command).expect("the commands that set the cluster up are valid");
    apply(Command::Init { cluster: ClusterId([7; 16]), settings });
    for n in 0..plan.members {
        apply(Command::RegisterNode(registration(n, 0)));
    }
    let members = state.targets.iter().map(|t| t.id).collect();
    let create = Command::CreateGroup { group: GROUP, kind: TargetKind::Storage, members };
    state.apply(create).expect("all targets are online and good");
    state
}
