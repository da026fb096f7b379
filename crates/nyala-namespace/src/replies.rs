// SPDX-License-Identifier: Apache-2.0

//! Kept replies: what makes a request that is sent again be answered, not done again. Pure.
//!
//! A session's last [`keys::REPLY_WINDOW`] replies to changing requests are kept, each in the record of its change. A
//! client has fewer requests under way, so a reply is overwritten only when its client has it or has given it up;
//! requests that their client has given up are refused before they get here (`crate::sessions`).

use crate::change::{Change, Step};
use crate::keys;
use crate::records::ReplyRecord;
use minicbor::Encode;
use minicbor::bytes::ByteSlice;
use nyala_wire::ErrorCode;
use nyala_wire::meta::{MetaOp, MetaRequest};

/// A [`ReplyRecord`] of a reply that is not its own.
#[derive(Encode)]
struct ReplyRow<'a> {
    #[n(0)]
    sequence: u64,
    #[n(1)]
    body: &'a ByteSlice,
}

/// Puts the reply into the same record as the change. Not that of an Open, which is the same when done twice and whose
/// reply holds content; nor that of many contents at once: each names the version that it replaces, so that one that was
/// taken before is refused.
pub fn keep(change: &mut Change, request: &MetaRequest, body: &[u8]) {
    if matches!(request.op, MetaOp::Open { .. } | MetaOp::PutInlines { .. }) {
        return;
    }
    let row = ReplyRow { sequence: request.sequence, body: body.into() };
    change.put_record(keys::reply(request.session, request.sequence), &row);
}

/// The reply to a request that was done before.
pub fn find(change: &Change, request: &MetaRequest) -> Step<Option<Vec<u8>>> {
    match change.record::<ReplyRecord>(&keys::reply(request.session, request.sequence))? {
        Some(record) if record.sequence == request.sequence => Ok(Some(record.body.into())),
        Some(record) if record.sequence > request.sequence => {
            Err(ErrorCode::BAD_MESSAGE.with("the reply to this old request is no longer kept").into())
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::codec;

    #[test]
    fn a_row_is_the_record() {
        for body in [&b""[..], &[7; 23], &[7; 24], &[7; 300]] {
            let row = codec::encode(&ReplyRow { sequence: 1 << 40, body: body.into() });
            let record = ReplyRecord { sequence: 1 << 40, body: body.to_vec().into() };
            assert_eq!(row, codec::encode(&record));
            assert_eq!(codec::decode::<ReplyRecord>(&row), Ok(record));
        }
    }
}
