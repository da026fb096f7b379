// SPDX-License-Identifier: Apache-2.0

//! What shares a frame.

use super::super::parse::ChangeRequest;
use super::*;
use crate::chunk_store::WriteOp;
use bytes::Bytes;
use nyala_replica::message::Origin;
use nyala_replica::{Change, Span};
use nyala_wire::SessionId;
use std::sync::Arc;

fn change(op: ChangeOp, len: usize) -> Payload {
    let (body, data) = (Bytes::new(), Bytes::from(vec![0; len]));
    Payload::Change(Arc::new(ChangeRequest { kind: 0, body, data, session: SessionId(1), op }))
}

#[test]
fn what_takes_its_time_shares_no_frame() {
    let (file, origin) = (ChunkFileId::default(), Origin { client: 1, seq: 1, lowest: 1 });
    let about = Change { file, span: Span { start: 0, end: 4096 } };
    let forward = Body::Forward { seq: 1, committed_below: 1, change: about, origin };
    let write = |len: usize| {
        let data = Bytes::from(vec![0; len]);
        let op = WriteOp {
            session: SessionId(1),
            file,
            offset: 0,
            data,
            crcs: Vec::new(),
            compared: true,
            stamp: Default::default(),
        };
        change(ChangeOp::Write(op), len)
    };
    let cut = change(ChangeOp::Other(file, StorageOp::Truncate { len: 0 }), 0);
    assert!(is_quick(&forward, Some(&write(4096))) && is_quick(&forward, Some(&write(SMALL_BYTES - 1))));
    assert!(!is_quick(&forward, Some(&write(SMALL_BYTES))), "its data takes long");
    assert!(!is_quick(&forward, Some(&cut)), "it waits for a disk");
    let sync = |flush| Body::Sync { id: 1, flush, done: None };
    assert!(!is_quick(&sync(true), None) && is_quick(&sync(false), None));
    assert!(!is_quick(&Body::Copy { seq: 1, committed_below: 1, change: about }, None));
    assert!(is_quick(&Body::Forwarded { seq: 1, ok: true }, None) && is_quick(&Body::Behind, None));
}
