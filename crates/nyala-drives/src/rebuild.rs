// SPDX-License-Identifier: Apache-2.0

//! Members get what they miss, a few stripes at a time: how often is for the caller to say.

use crate::core::Core;
use crate::drive::Drive;
use crate::error::SetError;
use crate::events::{failed, happened};
use crate::missed::{forget, missed_of};
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
    let location = drive.location().to_owned();
    set.runners.set(member, drive).map_err(|error| SetError::Directory { location, error })?;
    happened(set, Event::Replaced { member, drive: id }, None)
}

/// Rebuilds up to `most` stripes of the member whose group has lost most.
pub(crate) fn rebuild_some(set: &Core, most: usize) -> Result<Progress, SetError> {
    let waiting = by_risk(&set.state.lock().members);
    let Some(member) = waiting.first().copied() else { return Ok(Progress { done: true, ..Progress::default() }) };
    let next = next_stripes(set, member, most)?;
    let (mut progress, mut forgotten) = (Progress::default(), Vec::new());
    for (stripe, number) in &next.stripes {
        match repair(set, *stripe, vec![member]) {
            Ok(repaired) if !repaired.failed.is_empty() => return Ok(progress),
            Ok(repaired) => progress.bytes += repaired.read_bytes + repaired.rebuilt_bytes,
            Err(SetError::Stripe(StripeError::Lost { stripe })) => {
                tracing::error!(object = %format!("{:032x}", stripe.object.0), stripe = stripe.number, "cannot be rebuilt");
                progress.lost += 1;
                if set.state.lock().behind[member].lost(stripe, *number) {
                    forgotten.push(stripe);
                }
            }
            Err(error) => return Err(error),
        }
        progress.stripes += 1;
    }
    let Some(given) = sync_given(set, member) else {
        failed(set, &[member], None)?;
        return Ok(progress);
    };
    let _alone = set.gate.write();
    forgotten.extend(set.state.lock().behind[member].synced(&given));
    forgotten.extend(finish(set, member, &next)?);
    forget(set, member, forgotten)?;
    progress.done = by_risk(&set.state.lock().members).is_empty();
    Ok(progress)
}

/// Makes durable what a member was given; also what an error in an earlier step left. None: it failed.
fn sync_given(set: &Core, member: usize) -> Option<Vec<(StripeId, u64)>> {
    let given = set.state.lock().behind[member].given();
    if given.is_empty() {
        return Some(given);
    }
    let sync = vec![Effect::SyncFiles { member }, Effect::Apply { member, batch: Batch::new(), sync: true }];
    set.runners.run(sync).iter().all(|reply| matches!(reply, Reply::Done)).then_some(given)
}

/// Writes down how far a member is, and that it is good if it has everything. The caller has the gate alone, so nothing is given meanwhile. Gives
/// the stripes that became durable on it.
fn finish(set: &Core, member: usize, next: &Next) -> Result<Vec<StripeId>, SetError> {
    if let (true, Some((behind, _))) = (next.walking, next.stripes.last().copied()) {
        happened(set, Event::Progress { member, behind }, None)?;
    }
    let (has_all, state) = {
        let state = set.state.lock();
        (state.behind[member].has_all(), state.members.state(member))
    };
    if !has_all || !(next.end || state == MemberState::CatchingUp) {
        return Ok(Vec::new());
    }
    // The removals of the last moment; were they left for the next step, there might be others by then.
    let Some(given) = sync_given(set, member) else {
        return happened(set, Event::Failed { members: vec![member] }, None).map(|()| Vec::new());
    };
    let durable = set.state.lock().behind[member].synced(&given);
    happened(set, Event::Complete { member }, None)?;
    Ok(durable)
}

/// What a member gets next.
#[derive(Default)]
struct Next {
    /// Each with the number of its note, if it has one.
    stripes: Vec<(StripeId, u64)>,
    /// These are the next rows behind those that a new member has, rather than what it missed.
    walking: bool,
    /// There are no more rows than these.
    end: bool,
}

/// A new member gets what it missed of the rows that it has, then the next rows: of those it would go on missing writes. What is noted of others
/// comes last: they were removed.
fn next_stripes(set: &Core, member: usize, most: usize) -> Result<Next, SetError> {
    let state = set.state.lock().members.state(member);
    let MemberState::Rebuilding { behind } = state else {
        return Ok(Next { stripes: missed_of(set, member, None, most), ..Next::default() });
    };
    if let Some(behind) = behind {
        let stripes = missed_of(set, member, Some(behind), most);
        if !stripes.is_empty() {
            return Ok(Next { stripes, ..Next::default() });
        }
    }
    let from = behind.map_or_else(|| b"R".to_vec(), |behind| key::next(&key::row(behind)));
    let rows = rows(set, set.volume.geometry().group_of(member), from, most)?;
    if rows.is_empty() {
        return Ok(Next { stripes: missed_of(set, member, None, most), end: true, ..Next::default() });
    }
    let noted = |stripe| (stripe, set.state.lock().behind[member].number_of(stripe));
    let end = rows.len() < most;
    Ok(Next { stripes: rows.into_iter().map(noted).collect(), walking: true, end })
}
