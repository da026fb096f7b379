// SPDX-License-Identifier: Apache-2.0

//! What a new leader makes sure of before it answers anybody.

use crate::command::{Command, RegisterNode};
use crate::state::ClusterState;
use nyala_wire::ClusterId;
use nyala_wire::map::{Role, Settings};

/// What a new leader has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeOver {
    /// Propose these, in this order.
    Propose(Vec<Command>),
    /// Nothing: this node was removed, and leads only as long as it takes to tell the others.
    Removed,
    /// Never lead: the stored state is of this other cluster.
    Foreign(ClusterId),
}

/// For the node that registers with `me`; `state` has everything that was decided before.
pub fn take_over(state: &ClusterState, me: RegisterNode, settings: &Settings) -> TakeOver {
    if state.cluster != ClusterId::UNKNOWN && state.cluster != me.cluster {
        return TakeOver::Foreign(state.cluster);
    }
    let mine = state.nodes.iter().any(|node| node.uuid == me.uuid);
    if !mine && state.nodes.iter().any(|node| node.role == Role::Mgmt) {
        return TakeOver::Removed;
    }
    let init = Command::Init { cluster: me.cluster, settings: settings.clone() };
    TakeOver::Propose(vec![init, Command::RegisterNode(me)])
}
