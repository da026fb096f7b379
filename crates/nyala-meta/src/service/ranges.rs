// SPDX-License-Identifier: Apache-2.0

//! Inode numbers name chunk files, so none may ever be given out twice. They come from ranges that management hands out,
//! each once: one at every start, and more before one is used up. The number of a start's first range is also the number of
//! that run of the service, from which transactions and delegations are numbered.
//!
//! Failure model: a power cut takes back which numbers were given out; the next start has another range. The target's
//! directory may be put back from a copy: then its tables know an older range than the last one that management gave it,
//! which is said. Management may be put back: then it is asked for a range above those that the tables know. Only when both
//! are put back, numbers may come again. What else tables that were put back know of clients cannot be taken for something
//! newer: sessions have random ids, a kept reply is only sent for its own sequence number, which clients have passed, and
//! delegations and transactions are of an older run. While management is away, creating goes on until the range is used up, and fails
//! with NOT_READY then.

use super::error::MetaError;
use super::group::rows::first_records;
use super::state::State;
use nyala_namespace::runs;
use nyala_namespace::sequences::{go_on_with, known};
use nyala_transport::member::{Member, MgmtError};
use nyala_wire::TargetId;
use nyala_wire::mgmt::{MAX_RANGE, MgmtReply, MgmtRequest, SEQUENCES_PER_RANGE};
use std::rc::Rc;
use std::time::Duration;

/// So many numbers before its end a range is followed by another one.
const RESERVE: u64 = SEQUENCES_PER_RANGE / 4;
/// Between looks at how many are left: shorter than it takes to use up the reserve.
const LOOK: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_millis(200);

/// Takes a range for this start, and has it on disk, with the position up to which the log was `recovered`. Waits for management as
/// long as that takes. Returns the number of this run, which none before had.
pub async fn start(state: &State, recovered: u64) -> Result<u64, MetaError> {
    let (member, me) = (&state.member, state.target);
    let known = known(&state.tables)?;
    // Tables of before there were ranges know only numbers.
    let used = known.range.max(known.next.div_ceil(SEQUENCES_PER_RANGE));
    let (range, before) = loop {
        match take(member, me, used).await {
            Err(error) if error.is_transient() => {
                tracing::debug!(%error, "no inode numbers from management yet");
                tokio::time::sleep(RETRY).await;
            }
            decided => break decided?,
        }
    };
    if known.range < before {
        tracing::error!(target_id = %me, tables = known.range, management = before,
            "the tables are older than this target's last start: they were put back from a copy, or that start was cut \
             off; what was done since then is lost, inode numbers go on above those of before");
    }
    let mut batch = go_on_with(&state.tables, range)?;
    runs::begin(&state.tables, &mut batch, range, recovered, leads_from(state)?)?;
    state.store.wait_room().await;
    state.apply(&batch)?;
    state.flusher.flushed().await?;
    state.durable().await?;
    Ok(range)
}

/// The first record of its term, if it is a mirror group's primary by now.
fn leads_from(state: &State) -> Result<Option<u64>, MetaError> {
    let firsts = state.group.borrow().as_ref().map(|_| first_records(&state.store)).transpose()?;
    Ok(firsts.and_then(|firsts| firsts.last().copied()))
}

async fn take(member: &Member, target: TargetId, used: u64) -> Result<(u64, u64), MgmtError> {
    let after = u32::try_from(used).unwrap_or(MAX_RANGE);
    match member.mgmt().call(&MgmtRequest::TakeRange { target, after }).await? {
        MgmtReply::Range { range, before } if range > after => Ok((range.into(), before.into())),
        _ => Err(MgmtError::UnexpectedReply),
    }
}

/// Takes another range before one is used up. Runs until the service stops.
pub async fn run(state: Rc<State>) {
    loop {
        tokio::time::sleep(LOOK).await;
        if let Err(error) = look(&state).await {
            tracing::warn!(%error, "no more inode numbers from management yet");
        }
    }
}

async fn look(state: &State) -> Result<(), MetaError> {
    let known = known(&state.tables)?;
    if known.next + RESERVE < known.range * SEQUENCES_PER_RANGE {
        return Ok(());
    }
    let (range, _) = take(&state.member, state.target, known.range).await?;
    tracing::info!(range, "another range of inode numbers");
    // Slots with numbers left go on with the new ones too.
    Ok(state.apply(&go_on_with(&state.tables, range)?)?)
}
