// SPDX-License-Identifier: Apache-2.0

//! Orders of operators, written down: before they are carried out, and what came of them, whichever way they came (the native protocol, the REST API, the
//! web page).
//!
//! **Failure model.** An order that cannot be written down is not carried out. Whoever leads may be gone before the outcome is written: the order
//! stands there without one. An outcome that cannot be written is no reason to refuse what was done.

mod access;

use crate::clock::wall_ms;
use crate::core::{Core, Refusal};
use nyala_cluster::{Command, Event};
use nyala_wire::audit::AuditRecord;
use nyala_wire::mgmt::{GroupOrder, MgmtRequest, SlotOrder};
use nyala_wire::pool_orders::PoolOrder;
use std::fmt::Display;

/// Which key, from where, what.
pub(crate) type Said = (String, String, String);

/// What an operator's request orders, in the words of the command line; `None`: it orders nothing.
pub(crate) fn what(request: &MgmtRequest) -> Option<String> {
    Some(match request {
        MgmtRequest::Groups(order) => group(order),
        MgmtRequest::Slots(order) => slots(order),
        MgmtRequest::RemoveMgmt { node } => format!("mgmt remove {node}"),
        MgmtRequest::SetKeyRule(rule) => access::key(rule),
        MgmtRequest::SetAccessRule(rule) => access::set(rule),
        MgmtRequest::RemoveAccessRule { key, network } => access::remove(key, *network),
        MgmtRequest::WatchMap { .. }
        | MgmtRequest::Register(_)
        | MgmtRequest::Heartbeat(_)
        | MgmtRequest::Goodbye { .. }
        | MgmtRequest::Capacities
        | MgmtRequest::Member { .. }
        | MgmtRequest::Refused { .. }
        | MgmtRequest::TakeRange { .. }
        | MgmtRequest::JoinMgmt(_)
        | MgmtRequest::MgmtNodes
        | MgmtRequest::AdoptMgmt { .. }
        | MgmtRequest::AnnounceMount(_)
        | MgmtRequest::Mounts
        | MgmtRequest::SlotStep(_)
        | MgmtRequest::Audit
        | MgmtRequest::Changes
        // Written down where it is known whether it is new.
        | MgmtRequest::Fsck(_) => return None,
    })
}

/// An order about mirror groups, targets, nodes and storage pools.
pub(crate) fn group(order: &GroupOrder) -> String {
    match order {
        GroupOrder::Create { group, kind, members } => {
            format!("mirror create: group {group}, {kind:?}, members {}", list(members))
        }
        GroupOrder::CreateAll { kind, members, ignore_space, ignore_uneven } => format!(
            "mirror create: of all {kind:?} targets, {members} members each, sizes ignored: {ignore_space}, uneven: {ignore_uneven}"
        ),
        GroupOrder::Remove { group, content_gone } => {
            format!("mirror delete: group {group}, content given up: {content_gone}")
        }
        GroupOrder::StopResync { group, stopped } => format!("mirror resync: group {group}, stopped: {stopped}"),
        GroupOrder::Switch { group, target } => format!("mirror switch: group {group}, primary {target}"),
        GroupOrder::Declare { target, consistency } => format!("target set-state: target {target}, {consistency:?}"),
        GroupOrder::AddMember { group, target } => format!("mirror add-member: group {group}, target {target}"),
        GroupOrder::RemoveMember { group, target } => format!("mirror remove-member: group {group}, target {target}"),
        GroupOrder::RemoveTarget { target, content_gone } => {
            format!("target remove: target {target}, content given up: {content_gone}")
        }
        GroupOrder::RemoveNode { node } => format!("node remove: node {node}"),
        GroupOrder::Pools(order) => pools(order),
    }
}

fn pools(order: &PoolOrder) -> String {
    match order {
        PoolOrder::RenameNode { node, alias } => format!("node set-alias: node {node}, {alias}"),
        PoolOrder::RenameTarget { target, alias } => format!("target set-alias: target {target}, {alias}"),
        PoolOrder::RenamePool { pool, alias } => format!("pool modify: pool {pool}, alias {alias}"),
        PoolOrder::CreatePool { alias } => format!("pool create: {alias}"),
        PoolOrder::RemovePool { pool } => format!("pool delete: pool {pool}"),
        PoolOrder::SetPool { target, pool } => format!("pool modify: pool {pool}, target {target}"),
    }
}

fn slots(order: &SlotOrder) -> String {
    match order {
        SlotOrder::Move { slots, to } => format!("meta rebalance: {} slots to target {to}", slots.len()),
        SlotOrder::Cancel { slots } if slots.is_empty() => "meta cancel: all moves".to_owned(),
        SlotOrder::Cancel { slots } => format!("meta cancel: {} slots", slots.len()),
        SlotOrder::Automatic { rebalance } => format!(
            "meta automatic: {}, settle {} ms, {} at once, pause {} ms",
            rebalance.automatic, rebalance.settle_ms, rebalance.at_once, rebalance.pause_ms
        ),
    }
}

fn list(ids: &[impl Display]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Writes an order down before it is carried out; its number.
pub(crate) async fn begin(core: &Core, (key, host, what): Said) -> Result<Option<u64>, Refusal> {
    let record = AuditRecord { number: 0, at_ms: wall_ms(), key, host, what, outcome: None };
    let events = core.propose(Command::NoteOrder(record)).await?;
    Ok(events.iter().find_map(|event| if let Event::OrderNoted(number) = event { Some(*number) } else { None }))
}

/// Writes down what came of it.
pub(crate) async fn end(core: &Core, number: Option<u64>, outcome: String) {
    let Some(number) = number else { return };
    if let Err(error) = core.propose(Command::EndOrder { number, outcome }).await {
        tracing::warn!(number, %error, "what came of an order could not be written down");
    }
}

/// Writes an order down, has it carried out, and writes down what came of it.
pub(crate) async fn audited<T, E: Display + From<Refusal>>(
    core: &Core,
    said: Said,
    order: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let number = begin(core, said).await?;
    let result = order.await;
    end(core, number, result.as_ref().map_or_else(|error| format!("refused: {error}"), |_| "done".to_owned())).await;
    result
}
