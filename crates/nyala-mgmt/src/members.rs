// SPDX-License-Identifier: Apache-2.0

//! The set of management nodes, as its leader changes it. The cluster state says who belongs to it; Raft's membership
//! follows. One change at a time.
//!
//! **Failure model.** The leader dies between any two steps: the record in the cluster state is the decision, in one entry,
//! and every leader brings Raft's membership in line with it ([`reconcile`]), joint configurations that a predecessor left
//! behind included. A node that joins asks until it has a vote, so nothing is remembered for it. A change that would
//! leave a set without a majority that answers is refused, for it could never be completed or undone.

use crate::core::{Core, Refusal};
use nyala_cluster::leader::addresses::check_join;
use nyala_cluster::leader::membership::{KeepsVoter, Membership, MembershipChange};
use nyala_cluster::{ClusterError, ClusterState, Command, RegisterNode};
use nyala_transport::member::monotonic_ms;
use nyala_wire::error::WireError;
use nyala_wire::map::{Reachability, Role};
use nyala_wire::mgmt::{JoinMgmt, MgmtNode, MgmtReply, MgmtRole, Register};
use nyala_wire::{ClusterId, ErrorCode, NodeId};
use openraft::{BasicNode, ChangeMembers};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Most management nodes of a cluster.
pub(crate) const MOST: usize = 5;
/// Who has not answered for so long is called unreachable, milliseconds.
const SILENT_MS: u64 = 1000;
/// Between looks at whether Raft's membership is what the cluster state says.
const RECONCILE_EVERY: Duration = Duration::from_millis(500);
/// How long a new node may take to get what was decided before it is given its vote; then it asks again.
const CATCH_UP: Duration = Duration::from_secs(30);
/// How long a removal waits for Raft's membership to follow; after that it goes on by itself.
const FOLLOW: Duration = Duration::from_secs(3);

fn mgmt_nodes(state: &ClusterState) -> impl Iterator<Item = &nyala_cluster::NodeRecord> {
    state.nodes.iter().filter(|node| node.role == Role::Mgmt)
}

/// Raft's membership as it is in the log of this leader.
struct Now {
    membership: Membership,
    /// Where the membership is in the log.
    since: Option<u64>,
    last: Option<u64>,
    leader: Option<u64>,
    stored: BTreeMap<u64, Option<u64>>,
}

impl Now {
    fn of(core: &Core) -> Now {
        let metrics = core.raft.metrics();
        let metrics = metrics.borrow();
        let membership = &metrics.membership_config;
        let applied = metrics.last_applied.map(|at| at.index);
        let replication = metrics.replication.iter().flatten();
        let sets = membership.membership().get_joint_config();
        let in_each = |id: &u64| sets.iter().all(|voters| voters.contains(id));
        Now {
            membership: Membership {
                voters: membership.voter_ids().collect(),
                voters_of_each: membership.voter_ids().filter(in_each).collect(),
                nodes: membership.nodes().map(|(id, _)| *id).collect(),
                joint: sets.len() > 1,
                decided: membership.log_id().is_some_and(|at| Some(at.index) <= applied),
            },
            since: membership.log_id().map(|at| at.index),
            last: metrics.last_log_index,
            leader: metrics.current_leader,
            stored: replication.map(|(id, at)| (*id, at.map(|at| at.index))).collect(),
        }
    }
}

fn is_reachable(core: &Core, id: u64) -> bool {
    id == core.me || core.contacts.last_ms(id).is_some_and(|at| monotonic_ms() < at + SILENT_MS)
}

fn known_as(core: &Core, request: &JoinMgmt) -> Option<NodeId> {
    mgmt_nodes(&core.view.state()).find(|node| node.uuid == request.uuid).map(|node| node.id)
}

/// What a node is told that the cluster does not have. Until its removal is decided its voice may be needed for just that.
fn is_gone(core: &Core, request: &JoinMgmt) -> WireError {
    let now = Now::of(core).membership;
    if now.nodes.contains(&u64::from(request.node.0)) || !now.decided {
        return ErrorCode::BUSY.with("this management node is being removed");
    }
    ErrorCode::REMOVED.with("this management node was removed from the cluster")
}

/// A node that was known when it asked may have been removed before its registration was decided, which then made a new
/// node of it, with another id, that nobody is: it goes again. Whether there was one.
async fn strike_out_shade(core: &Core, request: &JoinMgmt) -> Result<bool, WireError> {
    let shade = known_as(core, request).filter(|id| request.node.0 != 0 && *id != request.node);
    if let Some(shade) = shade {
        strike_out(core, shade).await?;
    }
    Ok(shade.is_some())
}

/// A management node makes itself known.
pub(crate) async fn join(core: &Arc<Core>, request: &JoinMgmt, from: IpAddr) -> Result<MgmtReply, WireError> {
    let state = core.view.state();
    let known = known_as(core, request).is_some();
    if !known && request.cluster != ClusterId::UNKNOWN {
        if request.cluster != state.cluster {
            return Err(ErrorCode::FOREIGN.with(format!("this is cluster {}, not {}", state.cluster, request.cluster)));
        }
        return Err(is_gone(core, request));
    }
    if strike_out_shade(core, request).await? {
        return Err(is_gone(core, request));
    }
    check_join(&state, request, from, |id| is_reachable(core, id))?;
    if !known && mgmt_nodes(&state).count() >= MOST {
        return Err(ErrorCode::NO_SPACE.with(format!(
            "there are {MOST} management nodes already, more would only be slower; remove one first (nyala mgmt remove)"
        )));
    }
    let register = RegisterNode::try_from(&Register {
        cluster: request.cluster,
        role: Role::Mgmt,
        uuid: request.uuid,
        alias: String::new(),
        addresses: request.addresses.clone(),
        incarnation: request.incarnation,
        targets: Vec::new(),
    })?;
    core.propose(Command::RegisterNode(register)).await?;
    if strike_out_shade(core, request).await? {
        return Err(is_gone(core, request));
    }
    let state = core.view.state();
    let node = known_as(core, request).ok_or_else(|| ErrorCode::BUSY.with("removed meanwhile; try again"))?;
    if request.node == node && !Now::of(core).membership.voters.contains(&u64::from(node.0)) {
        let core = core.clone();
        tokio::spawn(async move { bring_in(&core, u64::from(node.0)).await });
    }
    Ok(MgmtReply::MgmtJoined { cluster: state.cluster, node })
}

/// First a learner; once it has what was decided, a voter. One attempt for a node at a time.
async fn bring_in(core: &Core, id: u64) {
    if !core.joining.lock().insert(id) {
        return;
    }
    match learn_and_vote(core, id).await {
        Ok(true) => tracing::info!(node = id, "a management node has got its vote"),
        Ok(false) => {}
        Err(error) => tracing::warn!(node = id, error, "a management node is not a member yet; it will ask again"),
    }
    core.joining.lock().remove(&id);
}

/// False if there is nothing to do, or another change is under way.
async fn learn_and_vote(core: &Core, id: u64) -> Result<bool, String> {
    let wanted = {
        let Ok(_turn) = core.membership_lock.try_lock() else { return Ok(false) };
        let now = Now::of(core);
        let Membership { voters, nodes, joint, .. } = &now.membership;
        if core.check_leading().is_err() || *joint || voters.contains(&id) {
            return Ok(false);
        }
        if !nodes.contains(&id) {
            let state = core.view.state();
            let record = u32::try_from(id).ok().and_then(|id| state.node(NodeId(id)));
            let address = record.and_then(|node| node.addresses.first()).map(ToString::to_string).unwrap_or_default();
            core.raft.add_learner(id, BasicNode::new(address), false).await.map_err(|e| e.to_string())?;
        }
        now.last
    };
    // Nobody has to wait for a node that is slow, or that cannot be reached at all.
    let wait = core.raft.wait(Some(CATCH_UP));
    let caught_up = wait.metrics(
        |metrics| {
            let at = metrics.replication.as_ref().and_then(|all| all.get(&id).copied().flatten());
            at.map(|at| at.index) >= wanted
        },
        "the new node has what was decided",
    );
    caught_up.await.map_err(|e| e.to_string())?;
    let Ok(_turn) = core.membership_lock.try_lock() else { return Ok(false) };
    let now = Now::of(core).membership;
    let belongs = mgmt_nodes(&core.view.state()).any(|node| u64::from(node.id.0) == id);
    if core.check_leading().is_err() || now.joint || now.voters.contains(&id) || !belongs {
        return Ok(false);
    }
    let voters = ChangeMembers::AddVoterIds(BTreeSet::from([id]));
    core.raft.change_membership(voters, true).await.map(|_| true).map_err(|e| e.to_string())
}

/// Removes a management node. What is not there is removed already.
pub(crate) async fn remove(core: &Core, node: NodeId) -> Result<MgmtReply, WireError> {
    let state = core.view.state();
    let Some(record) = state.node(node) else { return Ok(MgmtReply::Done) };
    if record.role != Role::Mgmt {
        return Err(ErrorCode::INVALID.with(format!("node {node} ({}) is not a management node", record.alias)));
    }
    let id = u64::from(node.0);
    let turn = core.membership_lock.try_lock();
    let turn = turn.map_err(|_| ErrorCode::BUSY.with("another change of the management nodes is under way"))?;
    match Now::of(core).membership.check_removal(id, |id| is_reachable(core, id)) {
        Ok(()) => {}
        Err(KeepsVoter::Only) => {
            return Err(ErrorCode::INVALID.with("it is the only management node; the cluster cannot be without one"));
        }
        Err(KeepsVoter::NoMajority) => {
            return Err(ErrorCode::BUSY.with(
                "those that would remain have no majority that answers; start them, or remove first those that are \
                 gone",
            ));
        }
    }
    strike_out(core, node).await?;
    if tokio::time::timeout(FOLLOW, align(core)).await.is_err() {
        tracing::warn!(%node, "the removal is decided and goes on in the background");
    }
    drop(turn);
    tracing::info!(%node, "management node removed");
    Ok(MgmtReply::Done)
}

/// Removes it from the cluster state, alive or not.
async fn strike_out(core: &Core, node: NodeId) -> Result<(), WireError> {
    // It may make itself known again in between, and a node that is online is not removed.
    for _ in 0..10 {
        let state = core.view.state();
        let Some(record) = state.node(node) else { return Ok(()) };
        let (incarnation, reachability) = (record.incarnation, Reachability::Offline);
        core.propose(Command::SetReachability { node, incarnation, reachability }).await?;
        match core.propose(Command::RemoveNode { node }).await {
            Err(Refusal::Cluster(ClusterError::InUse { .. })) => {}
            other => return Ok(other.map(drop)?),
        }
    }
    Err(ErrorCode::BUSY.with("the node makes itself known all the time; try again"))
}

/// Brings Raft's membership in line with the cluster state: completes what was begun, drops whom the state does not have.
async fn align(core: &Core) {
    let state = core.view.state();
    let belong: BTreeSet<u64> = mgmt_nodes(&state).map(|node| u64::from(node.id.0)).collect();
    let change = match Now::of(core).membership.next_change(&belong, |id| is_reachable(core, id)) {
        None => return,
        Some(MembershipChange::Complete) => ChangeMembers::AddVoterIds(BTreeSet::new()),
        Some(MembershipChange::DropLearners(gone)) => ChangeMembers::RemoveNodes(gone),
        Some(MembershipChange::DropVoters(votes)) => ChangeMembers::RemoveVoters(votes),
    };
    if let Err(error) = core.raft.change_membership(change, false).await {
        tracing::warn!(%error, "the management nodes are not what was decided yet; trying again");
    }
}

/// Looks after the membership while this node leads, for ever.
pub(crate) async fn reconcile(core: &Core) {
    loop {
        tokio::time::sleep(RECONCILE_EVERY).await;
        if core.check_leading().is_ok()
            && let Ok(_turn) = core.membership_lock.try_lock()
        {
            align(core).await;
        }
    }
}

/// The management nodes, by id.
pub(crate) fn list(core: &Core) -> Vec<MgmtNode> {
    let now = Now::of(core);
    let state = core.view.state();
    let view = mgmt_nodes(&state).map(|record| {
        let id = u64::from(record.id.0);
        let log = if id == core.me { now.last } else { now.stored.get(&id).copied().flatten() };
        let role = match () {
            () if now.leader == Some(id) => MgmtRole::Leader,
            () if now.membership.counts(id, log >= now.since) => MgmtRole::Follower,
            () => MgmtRole::Learner,
        };
        let (alias, addresses) = (record.alias.clone(), record.addresses.clone());
        MgmtNode { node: record.id, alias, addresses, role, log, reachable: is_reachable(core, id) }
    });
    view.collect()
}
