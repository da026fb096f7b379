// SPDX-License-Identifier: Apache-2.0

//! Members get what they miss, a few stripes at a time: how often is for the caller to say.

use crate::core::Core;
use crate::drive::Drive;
use crate::error::SetError;
use crate::events::{failed, happened};
use crate::missed::{caught_up, missed_of};
use crate::progress::Progress;
use crate::repair::repair;
use crate::rows::rows;
use nyala_raid::event::Event;
use nyala_raid::member::{DriveId, MemberState};
use nyala_raid::risk::by_risk;
use nyala_raid::{Effect, Reply, StripeError, StripeId, key};
use nyala_store::Batch;

/// Whether a member may be replaced now; what is wrong is known before a drive is changed for it.
pub(crate) fn may_replace(set: &Core, member: usize) -> Result<(), SetError> {
    let geometry = set.volume.geometry();
    let refuse = |why| SetError::Replace { member, why };
    set.running()?;
    if member >= geometry.drives() {
        return Err(refuse("the set has no member of this number"));
    }
    let others = set.good_of_group(member).into_iter().filter(|other| *other != member).count();
    if others < geometry.data() {
        return Err(refuse("the others of its group cannot do without it"));
    }
    Ok(())
}

/// An empty drive takes the place of a member, which leaves the set if it has not yet.
pub(crate) fn replace(set: &Core, member: usize, drive: Drive, id: DriveId) -> Result<(), SetError> {
    may_replace(set, member)?;
    if drive.superblock()?.is_some() {
        return Err(SetError::Replace { member, why: "the new drive is of a set already: give an empty one" });
    }
    failed(set, &[member], None)?;
    let _alone = set.gate.write();
    let place = drive.place().to_owned();
    set.runners.set(member, drive).map_err(|error| SetError::Directory { place, error })?;
    happened(set, Event::Replaced { member, drive: id }, None)
}

/// Rebuilds up to `most` stripes of the member whose group has lost most.
pub(crate) fn rebuild_some(set: &Core, most: usize) -> Result<Progress, SetError> {
    let waiting = by_risk(&set.state.lock().members);
    let Some(member) = waiting.first().copied() else { return Ok(Progress { done: true, ..Progress::default() }) };
    let missed = missed_of(set, member, most);
    let (stripes, walking) = match missed.is_empty() {
        false => (missed.iter().map(|(stripe, _)| *stripe).collect(), false),
        true => (rows_behind(set, member, most)?, true),
    };
    let mut progress = Progress::default();
    for stripe in &stripes {
        match repair(set, *stripe, vec![member]) {
            Ok(repaired) if !repaired.failed.is_empty() => return Ok(progress),
            Ok(repaired) => progress.bytes += repaired.read_bytes + repaired.rebuilt_bytes,
            Err(SetError::Stripe(StripeError::Lost { stripe })) => {
                tracing::error!(object = %format!("{:032x}", stripe.object.0), stripe = stripe.number, "cannot be rebuilt");
                progress.lost += 1;
            }
            Err(error) => return Err(error),
        }
        progress.stripes += 1;
    }
    let sync = vec![Effect::SyncFiles { member }, Effect::Apply { member, batch: Batch::new(), sync: true }];
    if !set.runners.run(sync).iter().all(|reply| matches!(reply, Reply::Done)) {
        failed(set, &[member], None)?;
        return Ok(progress);
    }
    let _alone = set.gate.write();
    caught_up(set, member, &missed)?;
    if let (true, Some(behind)) = (walking, stripes.last().copied()) {
        happened(set, Event::Progress { member, behind }, None)?;
    }
    let nothing_missed = set.state.lock().missed[member].is_empty();
    let state = set.state.lock().members.state(member);
    let walked = walking && stripes.len() < most;
    if nothing_missed && (walked || state == MemberState::CatchingUp) {
        happened(set, Event::Complete { member }, None)?;
    }
    progress.done = by_risk(&set.state.lock().members).is_empty();
    Ok(progress)
}

/// The next stripes that a new member does not have yet.
fn rows_behind(set: &Core, member: usize, most: usize) -> Result<Vec<StripeId>, SetError> {
    let MemberState::Rebuilding { behind } = set.state.lock().members.state(member) else { return Ok(Vec::new()) };
    let from = behind.map_or_else(|| b"R".to_vec(), |behind| key::next(&key::row(behind)));
    rows(set, set.volume.geometry().group_of(member), from, most)
}
