// SPDX-License-Identifier: Apache-2.0

//! Operators' orders about mirror groups, targets, nodes and storage pools, for the native protocol and the REST API.
//!
//! **Failure model.** An order is repeated: all are idempotent, and what holds already is done already. The state changes
//! between the look and the proposal: the command is refused by its epoch, or by what it meets, and the operator looks again.
//! Several groups are made one by one: when this fails in the middle, those made stay, and the same order again makes
//! the rest.

use crate::core::{Core, Refusal};
use crate::evacuation::forgive;
use nyala_cluster::{ClusterError, Command, GroupRequest, MemberAt, Thing, Trigger, plan_groups};
use nyala_wire::map::{Consistency, Role};
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::pool_orders::PoolOrder;
use nyala_wire::{GroupId, NodeId, PoolId, TargetId};
use std::collections::BTreeMap;

/// Carries an order out.
pub(crate) async fn carry_out(core: &Core, order: GroupOrder) -> Result<(), Refusal> {
    let command = match order {
        GroupOrder::CreateAll { kind, members, ignore_space, ignore_uneven } => {
            let request = GroupRequest { kind, members: members.into(), ignore_space, ignore_uneven };
            return create_all(core, &request).await;
        }
        GroupOrder::Create { group, kind, members } => Command::CreateGroup { group, kind, members },
        GroupOrder::Remove { group, content_gone } => {
            known(core, group)?;
            Command::RemoveGroup { group, content_gone }
        }
        GroupOrder::StopResync { group, stopped } => Command::StopResync { group, stopped },
        GroupOrder::Switch { group, target } => {
            let epoch = known(core, group)?;
            Command::Failover(MemberAt { group, epoch, target })
        }
        GroupOrder::Declare { target, consistency } => {
            forgive(core, target, consistency).await?;
            declare(target, consistency)
        }
        GroupOrder::AddMember { group, target } => Command::AddMember { group, target },
        GroupOrder::RemoveMember { group, target } => Command::RemoveMember { group, target },
        GroupOrder::RemoveTarget { target, content_gone } => {
            let known = core.view.state().target(target).is_some();
            known.then_some(()).ok_or(Refusal::Cluster(ClusterError::NoTarget { target }))?;
            Command::RemoveTarget { target, content_gone }
        }
        GroupOrder::RemoveNode { node } => remove_node(core, node)?,
        GroupOrder::Pools(order) => pools(core, order)?,
    };
    core.propose(command).await.map(|_| ())
}

/// An order about aliases and storage pools.
fn pools(core: &Core, order: PoolOrder) -> Result<Command, Refusal> {
    Ok(match order {
        PoolOrder::RenameNode { node, alias } => Command::Rename { thing: Thing::Node(node), alias },
        PoolOrder::RenameTarget { target, alias } => Command::Rename { thing: Thing::Target(target), alias },
        PoolOrder::RenamePool { pool, alias } => Command::Rename { thing: Thing::Pool(pool), alias },
        PoolOrder::CreatePool { alias } => Command::CreatePool { alias },
        PoolOrder::RemovePool { pool } => remove_pool(core, pool)?,
        PoolOrder::SetPool { target, pool } => Command::SetPool { target, pool },
    })
}

/// A node that does not exist is a mistake of the operator, and management nodes go another way.
fn remove_node(core: &Core, node: NodeId) -> Result<Command, Refusal> {
    let role = core.view.state().node(node).map(|node| node.role);
    if role.ok_or(Refusal::Cluster(ClusterError::NoNode { node }))? == Role::Mgmt {
        let reason = format!("node {node} is a management node: nyala mgmt remove {node}");
        return Err(Refusal::Cluster(ClusterError::Invalid { reason }));
    }
    Ok(Command::RemoveNode { node })
}

/// A pool that does not exist is a mistake of the operator.
fn remove_pool(core: &Core, pool: PoolId) -> Result<Command, Refusal> {
    let known = core.view.state().pools.iter().any(|known| known.id == pool);
    known.then_some(Command::RemovePool { pool }).ok_or(Refusal::Cluster(ClusterError::NoPool { pool }))
}

/// An operator's word on a target's content.
pub(crate) fn declare(target: TargetId, consistency: Consistency) -> Command {
    let trigger = match consistency {
        Consistency::Good => Trigger::DeclaredGood,
        Consistency::NeedsResync => Trigger::DeclaredStale,
        Consistency::Bad => Trigger::DeclaredBad,
    };
    Command::SetConsistency { target, trigger }
}

/// The group's epoch. A group that does not exist is a mistake of the operator, though its removal would be done already.
fn known(core: &Core, group: GroupId) -> Result<u32, Refusal> {
    let state = core.view.state();
    let found = state.group(group).map(|g| g.epoch);
    found.ok_or(Refusal::Cluster(ClusterError::NoGroup { group }))
}

async fn create_all(core: &Core, request: &GroupRequest) -> Result<(), Refusal> {
    let sizes: BTreeMap<TargetId, u64> = {
        let leader = core.leader.lock();
        leader.capacities().iter().map(|(target, capacity)| (*target, capacity.total_bytes)).collect()
    };
    let groups = plan_groups(&core.view.state(), request, &sizes)?;
    for members in groups {
        core.propose(Command::CreateGroup { group: GroupId(0), kind: request.kind, members }).await?;
    }
    Ok(())
}
