// SPDX-License-Identifier: Apache-2.0

//! What happens to members, carried out.

use crate::core::Core;
use crate::error::SetError;
use crate::state::Stopped;
use nyala_raid::event::{Action, Event};
use nyala_raid::member::MemberState;
use nyala_raid::superblock::Superblock;
use nyala_raid::{Damage, Effect, Reply, StripeId, key};
use nyala_store::Batch;
use std::sync::atomic::Ordering;

/// Members failed, of a stripe if it is known. When this returns they have left the set durably.
pub(crate) fn failed(set: &Core, members: &[usize], stripe: Option<StripeId>) -> Result<(), SetError> {
    if members.is_empty() {
        return Ok(());
    }
    let _alone = set.gate.write();
    happened(set, Event::Failed { members: members.to_vec() }, stripe)
}

/// Something happened; the caller has the gate alone.
pub(crate) fn happened(set: &Core, event: Event, stripe: Option<StripeId>) -> Result<(), SetError> {
    // Before anything is written anywhere: whoever has it now decides who its members are.
    if let Event::Failed { members } = &event
        && members.iter().any(|member| set.runners.drive(*member).is_some_and(|drive| drive.is_taken()))
    {
        set.state.lock().stopped = Some(Stopped::Taken);
        return Err(SetError::Taken);
    }
    let now_ms = set.now_ms();
    let mut events = vec![event];
    while let Some(event) = events.pop() {
        if let Event::Failed { members } = &event {
            members.iter().for_each(|member| set.state.lock().behind[*member].forget_unsynced());
        }
        let actions = set.state.lock().members.handle(now_ms, event);
        for action in actions {
            match action {
                Action::Store => {
                    let extra: Vec<StripeId> = stripe.into_iter().collect();
                    let failed = store_once(set, &extra);
                    if !failed.is_empty() {
                        events.push(Event::Failed { members: failed });
                    }
                }
                Action::Stop { group } => {
                    tracing::error!(group, "too many drives of a set have failed: it stops");
                    set.state.lock().stopped = Some(Stopped::Short { group });
                    return Err(SetError::Stopped { group });
                }
                Action::WantSpare { member } => tracing::error!(member, "a drive has left its set"),
                Action::Rebuild { member } => tracing::info!(member, "a drive is to be rebuilt"),
            }
        }
    }
    Ok(())
}

/// Writes the superblock everywhere; who cannot leaves.
pub(crate) fn store(set: &Core, stripes: &[StripeId]) -> Result<(), SetError> {
    match store_once(set, stripes) {
        failed if failed.is_empty() => Ok(()),
        failed => happened(set, Event::Failed { members: failed }, None),
    }
}

/// Writes the superblock everywhere, and what members that are not good have missed of late. Gives the members that failed.
fn store_once(set: &Core, stripes: &[StripeId]) -> Vec<usize> {
    let mut state = set.state.lock();
    let superblock = state.members.superblock().clone();
    let geometry = &superblock.geometry;
    let recent: Vec<StripeId> = state.recent.iter().chain(&state.syncing).chain(stripes).copied().collect();
    let missing = state.members.all(|state| state == MemberState::Missing);
    let in_group = |member: usize, stripe: &StripeId| geometry.group(*stripe) == geometry.group_of(member);
    for member in &missing {
        recent.iter().filter(|stripe| in_group(*member, stripe)).for_each(|stripe| state.behind[*member].note(*stripe));
    }
    let there = state.there();
    drop(state);
    let apply = |member: &usize| {
        let mut batch = Batch::new();
        let own = Superblock { drive: superblock.members[*member].drive, ..superblock.clone() };
        batch.put(key::SUPERBLOCK, own.encode());
        for lost in missing.iter().filter(|lost| geometry.group_of(**lost) == geometry.group_of(*member)) {
            let stripes = recent.iter().filter(|stripe| in_group(*lost, stripe));
            stripes.for_each(|stripe| _ = batch.put(key::dirty(*lost, *stripe), []));
        }
        Effect::Apply { member: *member, batch, sync: true }
    };
    let replies = set.runners.run(there.iter().map(apply).collect());
    let bad = there.iter().zip(replies).filter(|(_, reply)| !matches!(reply, Reply::Done));
    bad.map(|(member, _)| *member).collect()
}

/// Errors that were made good are counted; a member with too many leaves.
pub(crate) fn damaged(set: &Core, damage: &[Damage]) -> Result<(), SetError> {
    for one in damage {
        tracing::warn!(member = one.member, object = %format!("{:032x}", one.stripe.object.0), stripe = one.stripe.number, kind = ?one.kind, "a drive returned something wrong");
        set.counters.healed.fetch_add(1, Ordering::Relaxed);
        set.state.lock().errors[one.member] += 1;
        let _alone = set.gate.write();
        happened(set, Event::Errors { member: one.member, count: 1 }, None)?;
    }
    Ok(())
}
