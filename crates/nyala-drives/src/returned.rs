// SPDX-License-Identifier: Apache-2.0

//! A drive that was away comes back to a running set.
//!
//! **Failure model.** What it has is as old as when it left, and it may have lost what was not synced there; its log may have operations that the others never
//! finished, or finished without it. The others remember what it missed. It may be a copy, a drive of another set, or have been in use elsewhere meanwhile: then
//! it is refused. A death of the process in the middle leaves a drive that is behind, which the next start finds as any other.

use crate::core::Core;
use crate::drive::Drive;
use crate::error::SetError;
use crate::events::happened;
use crate::missed::load_missed;
use crate::sync::sync_alone;
use nyala_raid::StripeError;
use nyala_raid::event::Event;
use nyala_raid::member::MemberState;

/// Gives a missing member its drive back; gives its number. It catches up then.
pub(crate) fn returned(set: &Core, drive: Drive) -> Result<usize, SetError> {
    let location = drive.location().to_owned();
    let refuse = |why| SetError::Return { location: location.clone(), why };
    let own = drive.superblock()?.ok_or_else(|| refuse("it has no superblock"))?;
    let _one = set.checkpoints.lock();
    let _alone = set.gate.write();
    set.running()?;
    let ours = set.state.lock().members.superblock().clone();
    if own.set != ours.set {
        return Err(refuse("it is of another set"));
    }
    let member = ours.members.iter().position(|member| member.drive == own.drive);
    let member = member.ok_or_else(|| refuse("another drive has taken its place"))?;
    if ours.members[member].state != MemberState::Missing {
        return Err(refuse("the set has this drive already: one is a copy of the other"));
    }
    // The others wrote down that it is missing, so they are newer, unless it was started without them, or alone got a change that a crash
    // of that start cut off. Which of both only all drives together tell, when the set starts.
    if own.generation >= ours.generation {
        return Err(refuse("it was in use without the other drives, which know nothing of that"));
    }
    let had = own.members.get(member).map_or(MemberState::CatchingUp, |own| own.state);
    set.runners.set(member, drive).map_err(|error| SetError::Directory { location: location.clone(), error })?;
    let joined = settle(set, member).and_then(|()| happened(set, Event::Returned { member, had }, None));
    if joined.is_err() || set.state.lock().members.state(member) == MemberState::Missing {
        set.runners.release(member);
        joined?;
        return Err(refuse("it cannot be written"));
    }
    (0..ours.members.len()).try_for_each(|member| load_missed(set, member))?;
    Ok(member)
}

/// Ends the log of a drive that was away. What it may have beyond the others is noted as missed.
fn settle(set: &Core, member: usize) -> Result<(), SetError> {
    // Then the logs of all others are empty, and nothing of theirs is done again.
    sync_alone(set)?;
    let uses = set.state.lock().whole_uses();
    match set.finish(set.volume.recover(vec![member], |member| uses[member])) {
        Ok(recovered) => {
            set.state.lock().number_at_least(recovered.number);
            Ok(())
        }
        Err(StripeError::Failed { mut members }) => {
            members.retain(|failed| *failed != member);
            if !members.is_empty() {
                happened(set, Event::Failed { members }, None)?;
            }
            Err(StripeError::Failed { members: vec![member] }.into())
        }
        Err(error) => Err(error.into()),
    }
}
