// SPDX-License-Identifier: Apache-2.0

//! Kept replies: what makes a request that is sent again be answered, not done again. Pure.
//!
//! A session's last [`keys::REPLY_WINDOW`] replies to changing requests are kept, each in the record of its change. A
//! client has fewer requests under way, so a reply is overwritten only when its client has it or has given it up;
//! requests that their client has given up are refused before they get here (`crate::sessions`).

use crate::change::{Change, Step};
use crate::keys;
use crate::records::ReplyRecord;
use nyala_wire::ErrorCode;
use nyala_wire::meta::{MetaOp, MetaRequest};

/// Puts the reply into the same record as the change. Not that of an Open, which is the same when done twice and whose
/// reply holds content; nor that of many contents at once: each names the version that it replaces, so that one that was
/// taken before is refused.
pub fn keep(change: &mut Change, request: &MetaRequest, body: &[u8]) {
    if matches!(request.op, MetaOp::Open { .. } | MetaOp::PutInlines { .. }) {
        return;
    }
    let record = ReplyRecord { sequence: request.sequence, body: body.to_vec().into() };
    change.put_record(keys::reply(request.session, request.sequence), &record);
}

/// The reply to a request that was done before.
pub fn kept(change: &Change, request: &MetaRequest) -> Step<Option<Vec<u8>>> {
    match change.record::<ReplyRecord>(&keys::reply(request.session, request.sequence))? {
        Some(record) if record.sequence == request.sequence => Ok(Some(record.body.into())),
        Some(record) if record.sequence > request.sequence => {
            Err(ErrorCode::BAD_MESSAGE.with("the reply to this old request is no longer kept").into())
        }
        _ => Ok(None),
    }
}
