// SPDX-License-Identifier: Apache-2.0

//! What a set says of its members and their space, and whether their files are still where they were.

use crate::core::Core;
use crate::error::SetError;
use crate::events::failed;
use crate::state::Stopped;
use nyala_raid::member::MemberState;
use nyala_raid::{ObjectId, StripeId, key};

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// Where its drive is, or was; none if none was there since the set was opened.
    pub location: Option<String>,
    /// The set has a drive there, which may have failed.
    pub is_held: bool,
    /// Its state.
    pub state: MemberState,
    /// Stripes of which it misses writes.
    pub missed: u64,
    /// What it returned that was wrong, since the set was opened.
    pub errors: u64,
}

/// All members, by number.
pub(crate) fn members(set: &Core) -> Vec<MemberStatus> {
    let state = set.state.lock();
    let status = |member: usize| MemberStatus {
        location: set.runners.location(member),
        is_held: set.runners.drive(member).is_some(),
        state: state.members.state(member),
        missed: state.behind[member].count() as u64,
        errors: state.errors[member],
    };
    (0..state.behind.len()).map(status).collect()
}

/// Bytes of data that the set takes in all, and that it still takes: the drive with the least says, since all have about the same.
pub(crate) fn space(set: &Core) -> Option<(u64, u64)> {
    let good = set.state.lock().members.all(|state| state == MemberState::Good);
    let spaces = good.into_iter().filter_map(|member| set.runners.drive(member)?.space());
    let (total, free) = spaces.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))?;
    let geometry = set.volume.geometry();
    let columns = (geometry.data() * geometry.groups()) as u64;
    Some((total.saturating_mul(columns), free.saturating_mul(columns)))
}

/// Members whose files are gone from where they were leave the set, and their drives are let go: what is there later is opened anew. Gives them.
pub(crate) fn check_presence(set: &Core) -> Result<Vec<usize>, SetError> {
    let is_gone = |member: &usize| set.runners.drive(*member).is_some_and(|drive| !drive.is_there());
    let gone: Vec<usize> = (0..set.volume.geometry().drives()).filter(is_gone).collect();
    for member in &gone {
        tracing::error!(member, "a drive's directory is gone, or something else is mounted there");
    }
    failed(set, &gone, None)?;
    // A drive of another host says so too when somebody else has taken the set over.
    let taken = (0..set.volume.geometry().drives())
        .any(|member| set.runners.drive(member).is_some_and(|drive| drive.is_taken()));
    if taken {
        set.state.lock().stopped = Some(Stopped::Taken);
        return Err(SetError::Taken);
    }
    gone.iter().for_each(|member| set.runners.release(*member));
    Ok(gone)
}

/// The same, if drives are of other hosts.
pub(crate) fn check_hosts(set: &Core) -> Result<(), SetError> {
    let is_far = |member| set.runners.drive(member).is_some_and(|drive| drive.instance().is_some());
    if (0..set.volume.geometry().drives()).any(is_far) { check_presence(set).map(drop) } else { Ok(()) }
}

/// Whether an object has anything in stripes from `number` on.
pub(crate) fn has_stripes(set: &Core, object: ObjectId, number: u64) -> Result<bool, SetError> {
    let from = key::row(StripeId { object, number });
    for group in 0..set.volume.geometry().groups() {
        let found = crate::rows::rows(set, group, from.clone(), 1)?;
        if found.first().is_some_and(|stripe| stripe.object == object) {
            return Ok(true);
        }
    }
    Ok(false)
}
