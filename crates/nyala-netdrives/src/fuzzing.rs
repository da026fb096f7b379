// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets of what drive services and their users send each other, and of the row that says who holds a drive: `crates/nyala-fuzz` runs them.

use crate::{effects, fence};
use bytes::Bytes;
use nyala_raid::Effect;
use nyala_wire::codec;
use nyala_wire::drive::{DriveEffect, DriveOrder, DriveReply, DriveRequest, MAX_DRIVE_BYTES};
use nyala_wire::fuzzing::round_trip;

/// Length of the request (u8), request, length of the reply (u8), reply, payload of both. Accepted: the effect can be done, or the reply fits what was asked.
pub fn message(bytes: &[u8]) -> bool {
    let cut = |bytes: &[u8]| {
        let (len, rest) = bytes.split_first()?;
        let (part, rest) = rest.split_at_checked(usize::from(*len))?;
        Some((part.to_vec(), rest.to_vec()))
    };
    let Some((request, rest)) = cut(bytes) else { return false };
    let Some((reply, payload)) = cut(&rest) else { return false };
    round_trip::<DriveRequest>(&request);
    round_trip::<DriveReply>(&reply);
    let Ok(DriveRequest { order: DriveOrder::Run { effect, .. }, .. }) = codec::decode(&request) else { return false };
    let payload = Bytes::from(payload);
    let done = effects::receive(effect.clone(), payload.clone()).is_ok_and(|effect| bounded(&effect));
    let understood = codec::decode(&reply).ok().and_then(|reply| effects::understand(&effect, reply, payload));
    done | understood.is_some()
}

/// What is asked for fits, and is the same when it is sent on.
fn bounded(effect: &Effect) -> bool {
    let (sent, payload) = effects::send(effect.clone());
    let again = effects::receive(sent.clone(), payload);
    assert_eq!(again.map(|again| format!("{again:?}")).ok(), Some(format!("{effect:?}")));
    match sent {
        DriveEffect::Read { len, .. } => assert!(len as usize <= MAX_DRIVE_BYTES),
        DriveEffect::Scan { most, .. } => assert!(most as usize <= effects::MOST_PAIRS),
        _ => {}
    }
    true
}

/// Who holds a drive, as its table has it.
pub fn hold(bytes: &[u8]) -> bool {
    fence::decode(bytes).is_some_and(|hold| {
        assert_eq!(fence::encode(hold), bytes);
        true
    })
}
