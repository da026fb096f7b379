// SPDX-License-Identifier: Apache-2.0

//! Effects as they travel. What a stranger asks for is bounded here: a read by [`MAX_DRIVE_BYTES`], a scan by that too.

use bytes::Bytes;
use nyala_raid::{Effect, ObjectId, Reply};
use nyala_store::Batch;
use nyala_wire::drive::{DriveEffect, DriveObject, DriveReply, MAX_DRIVE_BYTES};
use nyala_wire::{ErrorCode, WireError};

/// An effect's message and payload.
pub(crate) fn send(effect: Effect) -> (DriveEffect, Bytes) {
    let number = |object: ObjectId| DriveObject(object.0.to_be_bytes());
    // Lengths of reads are those of strips and rows, far below the bound; a longer one is refused by the other side.
    let len32 = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
    match effect {
        Effect::Read { object, offset, len, .. } => {
            (DriveEffect::Read { object: number(object), offset, len: len32(len) }, Bytes::new())
        }
        // What is to follow is an effect of its own (`split`).
        Effect::Write { object, offset, bytes, .. } => (DriveEffect::Write { object: number(object), offset }, bytes),
        Effect::Discard { object, offset, len, .. } => {
            (DriveEffect::Discard { object: number(object), offset, len }, Bytes::new())
        }
        Effect::Apply { batch, sync, .. } => (DriveEffect::Apply { sync }, Bytes::from(batch.into_bytes())),
        Effect::Get { key, .. } => (DriveEffect::Get { key }, Bytes::new()),
        Effect::Scan { from, to, limit, .. } => (DriveEffect::Scan { from, to, most: len32(limit) }, Bytes::new()),
        Effect::SyncFiles { .. } => (DriveEffect::SyncFiles, Bytes::new()),
    }
}

/// What is to be done for an effect, one after the other: a write and what follows in the table are two messages.
pub(crate) fn split(effect: Effect) -> Vec<Effect> {
    match effect {
        Effect::Write { member, object, offset, bytes, then } if !then.is_empty() => vec![
            Effect::Write { member, object, offset, bytes, then: Batch::new() },
            Effect::Apply { member, batch: then, sync: false },
        ],
        effect => vec![effect],
    }
}

/// What a message asks of the drive.
pub(crate) fn receive(effect: DriveEffect, payload: Bytes) -> Result<Effect, WireError> {
    let member = 0;
    let object = |object: DriveObject| ObjectId(u128::from_be_bytes(object.0));
    Ok(match effect {
        DriveEffect::Read { len, .. } if len as usize > MAX_DRIVE_BYTES => {
            return Err(ErrorCode::BAD_MESSAGE.with(format!("a read of {len} bytes is too long")));
        }
        DriveEffect::Read { object: of, offset, len } => {
            Effect::Read { member, object: object(of), offset, len: len as usize, patient: true }
        }
        DriveEffect::Write { object: of, offset } => {
            Effect::Write { member, object: object(of), offset, bytes: payload, then: Batch::new() }
        }
        DriveEffect::Discard { object: of, offset, len } => Effect::Discard { member, object: object(of), offset, len },
        DriveEffect::Apply { sync } => {
            let batch = Batch::from_bytes(payload.into());
            let batch = batch.ok_or_else(|| ErrorCode::BAD_MESSAGE.with("the payload is no batch of changes"))?;
            Effect::Apply { member, batch, sync }
        }
        DriveEffect::Get { key } => Effect::Get { member, key },
        DriveEffect::Scan { from, to, most } => {
            Effect::Scan { member, from, to, limit: (most as usize).min(MOST_PAIRS) }
        }
        DriveEffect::SyncFiles => Effect::SyncFiles { member },
    })
}

/// Pairs that are looked at together.
pub(crate) const MOST_PAIRS: usize = 4096;

/// A reply's message and payload. `asked` is how many pairs were wanted.
pub(crate) fn answer(reply: Reply, asked: Option<usize>) -> Result<(DriveReply, Bytes), WireError> {
    Ok(match reply {
        Reply::Done => (DriveReply::Done, Bytes::new()),
        Reply::Bytes(bytes) => (DriveReply::Done, Bytes::from(bytes)),
        Reply::Value(value) => (DriveReply::Value(value.is_some()), Bytes::from(value.unwrap_or_default())),
        Reply::Pairs(pairs) => {
            let (mut batch, mut given) = (Batch::new(), 0);
            for (key, value) in &pairs {
                if given > 0 && batch.as_bytes().len() + key.len() + value.len() > MAX_DRIVE_BYTES {
                    break;
                }
                batch.put(key, value);
                given += 1;
            }
            let cut = given < pairs.len() || (given == MOST_PAIRS && asked.is_some_and(|asked| asked > MOST_PAIRS));
            (DriveReply::Pairs { more: cut }, Bytes::from(batch.into_bytes()))
        }
        Reply::Late | Reply::Failed => return Err(ErrorCode::IO.with("the drive could not; its log says why")),
    })
}

/// What a reply says; for pairs also whether there are more. `None` if it does not fit what was asked.
pub(crate) fn understand(asked: &DriveEffect, reply: DriveReply, payload: Bytes) -> Option<(Reply, bool)> {
    let reply = match (asked, reply) {
        (DriveEffect::Read { len, .. }, DriveReply::Done) if payload.len() == *len as usize => {
            Reply::Bytes(payload.into())
        }
        (DriveEffect::Read { .. }, _) => return None,
        (DriveEffect::Get { .. }, DriveReply::Value(there)) => Reply::Value(there.then(|| payload.into())),
        (DriveEffect::Scan { .. }, DriveReply::Pairs { more }) => {
            let batch = Batch::from_bytes(payload.into())?;
            let pairs = batch.iter().map(|(key, value)| Some((key.to_vec(), value?.to_vec())));
            return Some((Reply::Pairs(pairs.collect::<Option<_>>()?), more));
        }
        (DriveEffect::Get { .. } | DriveEffect::Scan { .. }, _) => return None,
        (_, DriveReply::Done) => Reply::Done,
        _ => return None,
    };
    Some((reply, false))
}

#[cfg(test)]
mod tests;
