// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets of management's own formats: `crates/nyala-fuzz` runs them. Each takes any bytes, says whether they were
//! accepted, and panics on a wrong result.

use crate::raft::log::{pack, unpack};
use crate::raft::peers::RaftMessage;
use crate::raft::record::{EntryRecord, Position, SnapshotHead, SnapshotRecord, VoteRecord};
use crate::raft::rpc::{RaftReply, RaftRequest};
use crate::raft::{Entry, LogId, Vote};
use minicbor::{Decode, Encode};
use nyala_wire::codec;
use nyala_wire::fuzzing::round_trip;
use openraft::{BasicNode, SnapshotMeta};
use std::fmt::Debug;

/// A record of the Raft log on disk. It is handed to openraft as at a start.
pub fn raft_record(bytes: &[u8]) -> bool {
    let entry = record::<EntryRecord>(bytes).map(of_entry);
    let snapshot = record::<SnapshotRecord>(bytes).map(|record| of_head(record.head));
    let vote = record::<VoteRecord>(bytes).map(|vote| assert_eq!(VoteRecord::from(Vote::from(vote)), vote));
    let position = record::<Position>(bytes).map(|at| assert_eq!(Position::from(LogId::from(at)), at));
    [entry, snapshot, vote, position].contains(&Some(()))
}

fn record<T>(bytes: &[u8]) -> Option<T>
where
    T: Encode<()> + for<'b> Decode<'b, ()> + PartialEq + Debug,
{
    let value: T = unpack(b"key", bytes).ok()?;
    let again: T = unpack(b"key", &pack(&value)).expect("what was written can be read");
    assert_eq!(again, value);
    Some(value)
}

/// Members that are named twice become one; apart from that it stays what it is.
fn of_entry(record: EntryRecord) {
    let entry = Entry::from(record);
    let again = EntryRecord::from(entry.clone());
    assert_eq!(Entry::from(again), entry);
}

fn of_head(head: SnapshotHead) {
    let meta = SnapshotMeta::<u64, BasicNode>::from(head);
    assert_eq!(SnapshotMeta::from(SnapshotHead::from(&meta)), meta);
}

/// A message between management nodes, and a reply. What it carries is handed to openraft as on arrival.
pub fn raft_message(bytes: &[u8]) -> bool {
    let message = round_trip::<RaftMessage>(bytes);
    if let (true, Ok(message)) = (message, codec::decode::<RaftMessage>(bytes)) {
        match message.request {
            RaftRequest::Append { entries, .. } => entries.into_iter().for_each(of_entry),
            RaftRequest::Snapshot { head, .. } => of_head(head),
            RaftRequest::Vote { .. } => {}
        }
    }
    round_trip::<RaftReply>(bytes) | message
}

/// The body of a request to the REST API.
pub fn rest_body(bytes: &[u8]) -> bool {
    crate::rest::fuzzing::body(bytes)
}
