// SPDX-License-Identifier: Apache-2.0

//! A member of a mirror group whose tables are damaged gives way to one that has everything, and is filled from it, by itself.
//!
//! Failure model: the disk may give back something else than was written, at any place and time; the store says so, whoever comes upon
//! it. Then management is asked to call this member needs-resync, which it does only while another one is good, and which takes the
//! primary's role from it. Only after that, and by a map that says so, the tables are put aside ([`refill`]) and the member begins
//! anew with empty ones. A member that is the only good one goes on as it is: what is damaged is EIO, all else is served. This process
//! may die in between: then the damage is found again, or the tables cannot be opened, which is the same.

pub mod opening;
pub mod refill;

use super::host::{End, Host, Outcome};
use nyala_store::StoreError;
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, Group, MemberState, Reachability, TargetKind};
use nyala_wire::mgmt::{MemberNews, MgmtReply, MgmtRequest};
use refill::Refill;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// Between looks at what the store has found.
const LOOK: Duration = Duration::from_millis(500);
/// A member that had everything so long ago may only have begun anew, and is good again in a moment: requests wait for that.
const HOPE: Duration = Duration::from_secs(10);
/// Longest wait for a decision of management.
const DECISION_TIMEOUT: Duration = Duration::from_secs(2);

/// Why another run follows.
pub const AGAIN: &str = "its tables are damaged, and another member of its mirror group has everything";

fn group_of(map: &ClusterMap, me: TargetId) -> Option<&Group> {
    map.groups.iter().find(|group| group.kind == TargetKind::Meta && group.members.contains(&me))
}

/// Good members of the target's mirror group beside it.
fn other_good(map: &ClusterMap, me: TargetId) -> impl Iterator<Item = TargetId> {
    let members = group_of(map, me).into_iter().flat_map(|group| group.members_with_states());
    members.filter(move |(target, state)| *target != me && *state == MemberState::Good).map(|(target, _)| target)
}

/// Whether another member has everything and is in reach.
pub fn is_replaceable(map: &ClusterMap, me: TargetId) -> bool {
    let online = |target: TargetId| map.target(target).is_some_and(|known| known.reachability == Reachability::Online);
    other_good(map, me).any(online)
}

/// Whether nothing counts on what this target holds: its group goes on without it.
pub fn may_be_emptied(map: &ClusterMap, me: TargetId) -> bool {
    !is_good(map, me) && other_good(map, me).next().is_some()
}

fn is_good(map: &ClusterMap, me: TargetId) -> bool {
    group_of(map, me).and_then(|group| group.state(me)) == Some(MemberState::Good)
}

/// Looks at what the store has found, for as long as this run lasts, and ends the run where another member can go on.
pub async fn watch(host: &Rc<Host>, refill: &Refill) -> Infallible {
    let mut hope_until = Instant::now();
    loop {
        let (map, tables) = (host.member.map(), &host.tables);
        let replaceable = is_replaceable(&map, host.me);
        if replaceable {
            hope_until = Instant::now() + HOPE;
        }
        tables.takeover.set_possible(Instant::now() < hope_until);
        if is_good(&map, host.me) && tables.store.damage().is_none() {
            refill.over().await;
        }
        if replaceable
            && let Some(error) = tables.store.damage()
            && refill.may_begin()
        {
            if give_way(host, &map, refill, &error).await {
                host.end(End::Again(AGAIN));
                std::future::pending().await
            }
            tokio::time::sleep(LOOK).await;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = tables.takeover.needed() => {}
        }
    }
}

/// Asks management to go on without this member until it has been filled again. Whether it does.
async fn give_way(host: &Host, map: &ClusterMap, refill: &Refill, damage: &StoreError) -> bool {
    let Some(group) = group_of(map, host.me) else { return false };
    tracing::error!(target = %host.me, group = %group.id, error = %damage,
        "the metadata tables are damaged: another member of the mirror group is to take over, and to fill this one again");
    // The map that takes the primary's role may end this run before the answer is here.
    refill.begin();
    let (id, epoch, me) = (group.id, group.epoch, host.me);
    let request = MgmtRequest::Member { group: id, epoch, target: me, by: me, news: MemberNews::NeedsResync };
    match host.member.mgmt().call_within(&request, DECISION_TIMEOUT).await {
        Ok(MgmtReply::Map(map)) => {
            host.member.watch().offer(*map);
            true
        }
        Ok(_) => false,
        Err(error) => {
            tracing::warn!(%error, "management does not let this member give way now");
            false
        }
    }
}

/// What comes of a run that failed: another one, if it failed by damage and another member has everything.
pub fn instead(outcome: Outcome, host: &Host, refill: &Refill) -> Outcome {
    let failed = outcome.is_err() && host.tables.store.damage().is_some();
    if !failed || !refill.may_begin() || !is_replaceable(&host.member.map(), host.me) {
        return outcome;
    }
    if let Err(error) = outcome {
        tracing::error!(target = %host.me, %error, "the metadata tables are damaged: the mirror group goes on without them");
    }
    refill.begin();
    Ok(Some(AGAIN))
}

#[cfg(test)]
mod tests;
