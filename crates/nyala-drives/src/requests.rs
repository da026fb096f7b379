// SPDX-License-Identifier: Apache-2.0

//! Reads and writes.

use crate::core::Core;
use crate::error::SetError;
use crate::events::{damaged, failed};
use crate::repair::repair;
use crate::status::check_hosts;
use crate::sync::sync;
use bytes::Bytes;
use nyala_raid::{ObjectId, StripeError, StripePart, Use, WriteMode};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// A checkpoint is made when logs have so much, bytes.
const LOG_BYTES: u64 = 64 << 20;

fn slow(set: &Core, mut uses: Vec<Use>) -> Vec<Use> {
    for (member, state) in uses.iter_mut().enumerate() {
        if *state == Use::Good && set.runners.avoid(member) {
            *state = Use::Slow;
        }
    }
    uses
}

/// Reads a range of an object. What was never written is zeros.
pub(crate) fn read(set: &Core, object: ObjectId, range: Range<u64>) -> Result<Vec<u8>, SetError> {
    let mut out = Vec::with_capacity(usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0));
    for part in set.volume.geometry().parts(object, range).collect::<Vec<_>>() {
        let read = {
            let _gate = set.gate.read();
            set.readable()?;
            let _stripe = set.lock_of(part.stripe).lock();
            let uses = slow(set, set.state.lock().uses(part.stripe));
            set.finish(set.volume.read(&part, |member| uses[member]))
        };
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                // Hosts that cannot be reached are no damage: if there are too many of them, the set stops.
                check_hosts(set)?;
                return Err(error.into());
            }
        };
        set.counters.late.fetch_add(read.late.len() as u64, Ordering::Relaxed);
        damaged(set, &read.damage)?;
        out.extend(read.bytes);
    }
    Ok(out)
}

/// Writes at an offset of an object. It survives the death of the process; with [`sync`] also that of the machine.
pub(crate) fn write(set: &Core, object: ObjectId, offset: u64, bytes: &[u8]) -> Result<(), SetError> {
    // One copy, which all drives' threads write from.
    let mut left = Bytes::copy_from_slice(bytes);
    let range = offset..offset.saturating_add(bytes.len() as u64);
    for part in set.volume.geometry().parts(object, range).collect::<Vec<_>>() {
        let piece = left.split_to(part.bytes.len());
        while !write_part(set, &part, &piece)? {}
    }
    if set.state.lock().logged_bytes >= LOG_BYTES {
        sync(set)?;
    }
    Ok(())
}

/// One try; whether it is done.
fn write_part(set: &Core, part: &StripePart, bytes: &Bytes) -> Result<bool, SetError> {
    let stripe = part.stripe;
    let written = {
        let _gate = set.gate.read();
        set.running()?;
        let _stripe = set.lock_of(stripe).lock();
        let (mode, uses) = {
            let mut state = set.state.lock();
            let uses = state.uses(stripe);
            state.note_write(stripe, &uses);
            (WriteMode { number: state.next(), open: state.open.contains(&stripe) }, uses)
        };
        let written = set.finish(set.volume.write(part, bytes.clone(), mode, |member| uses[member]));
        if let Ok(written) = &written {
            let mut state = set.state.lock();
            if written.fresh {
                state.open.insert(stripe);
            }
            state.logged_bytes += written.logged_bytes;
        }
        written
    };
    match written {
        Ok(written) => {
            set.counters.logged_bytes.fetch_add(written.logged_bytes, Ordering::Relaxed);
            failed(set, &written.failed, Some(stripe))?;
            damaged(set, &written.damage)?;
            Ok(true)
        }
        Err(StripeError::Failed { members }) => failed(set, &members, None).map(|()| false),
        Err(StripeError::OutOfDate { .. }) => repair(set, stripe, vec![]).map(|_| false),
        Err(error) => Err(error.into()),
    }
}
