// SPDX-License-Identifier: Apache-2.0

//! What a change came from: the command, in a sentence.

use super::what::{node, target};
use crate::{ClusterState, Command, Trigger};
use nyala_wire::TargetId;
use nyala_wire::map::Reachability;

fn heard(name: &str, reachability: Reachability) -> String {
    match reachability {
        Reachability::Online => format!("{name} was heard again"),
        Reachability::ProbablyOffline => format!("{name} missed heartbeats for half of its lease"),
        Reachability::Offline => format!("the lease of {name} ended: it stopped, crashed or was not heard"),
    }
}

pub(super) fn why(command: &Command, before: &ClusterState, after: &ClusterState) -> String {
    match command {
        Command::Init { .. } => "the first management node was started".to_owned(),
        Command::RegisterNode(register) => {
            let known = after.nodes.iter().find(|n| n.uuid == register.uuid);
            let name = known.map_or_else(|| "a service".to_owned(), |n| node(after, n.id));
            format!("{name} was started and registered")
        }
        Command::SetReachability { node: id, reachability, .. } => heard(&node(before, *id), *reachability),
        Command::SetConsistency { trigger, .. } => content(*trigger).to_owned(),
        Command::SetCapacityPools(_) => "free space passed a limit".to_owned(),
        Command::MarkNeedsResync { member, by } => without(before, member.target, *by),
        Command::StartResync(member) => format!("the primary reached {} again", target(before, member.target)),
        Command::MemberResynced(member) => format!("resync of {} is complete", target(before, member.target)),
        Command::Fenced(member) => format!("{} knows that it lost its rights", target(before, member.target)),
        Command::HandOutRange { .. } => "a metadata server needed inode numbers".to_owned(),
        Command::BeginMove { slot, .. } => format!("the server of slot {slot} began to copy it"),
        Command::PlanMoves { to, .. } => format!("{} joined, and has less than its share", target(before, *to)),
        Command::ReleaseMoves { to, .. } => format!("the next slots planned for {} set out", target(before, *to)),
        Command::CompleteMove { slot, .. } => format!("slot {slot} is wholly on the other server"),
        Command::CallFailing { target: id, errors } => {
            format!("{} has found {errors} errors on its disk, which passes its limit", target(before, *id))
        }
        Command::ReplaceFailing { target: id, .. } => format!("the disk of {} fails", target(before, *id)),
        Command::NoteOrder(_) | Command::EndOrder { .. } => "an operator's order was written down".to_owned(),
        Command::SetSettings(_)
        | Command::SetKeyRule(_)
        | Command::SetAccessRule(_)
        | Command::RemoveAccessRule { .. }
        | Command::SetLimits(_)
        | Command::Rename { .. }
        | Command::CreatePool { .. }
        | Command::RemovePool { .. }
        | Command::SetPool { .. }
        | Command::RemoveNode { .. }
        | Command::RemoveTarget { .. }
        | Command::CreateGroup { .. }
        | Command::RemoveGroup { .. }
        | Command::Failover(_)
        | Command::StopResync { .. }
        | Command::AddMember { .. }
        | Command::RemoveMember { .. }
        | Command::MoveSlots { .. }
        | Command::CancelMoves { .. }
        | Command::Forgive { .. } => "by an operator's order".to_owned(),
    }
}

/// Why a mirror group goes on without a member.
fn without(before: &ClusterState, member: TargetId, by: TargetId) -> String {
    if member == by {
        return format!(
            "{} found its own disk failing or its tables damaged, and another member has everything",
            target(before, by)
        );
    }
    format!(
        "the primary, {}, goes on without {}, which did not answer or cannot read what it holds",
        target(before, by),
        target(before, member)
    )
}

fn content(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::DeclaredBad => "an operator or a check declared it bad",
        Trigger::DeclaredStale => "an operator wants it resynced",
        Trigger::DeclaredGood => "an operator declared it good",
        Trigger::MissedChanges => "changes were acknowledged without it",
        Trigger::Resynced => "resync brought it up to date",
        Trigger::Heard | Trigger::Late | Trigger::Lost => "its node was heard, or was not",
    }
}
