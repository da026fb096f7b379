// SPDX-License-Identifier: Apache-2.0

//! When files become doubtful and when they no longer are. Failure model: `nyala_namespace::doubts`.

use super::state::State;
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::records::{InodeRecord, TruncateRecord};
use nyala_wire::meta::MetaOp;
use nyala_wire::{InodeId, SessionId, codec};

/// A session ends whose client may have written what it will not commit, before anybody is given what it held.
pub fn died(state: &State, session: SessionId) {
    let (leases, mut doubts) = (state.leases.borrow(), state.doubts.borrow_mut());
    match leases.is_unconfirmed(session) {
        true => doubts.any_died(keys::first_sequence(state.boot)),
        false => doubts.died(leases.written_alone(session)),
    }
}

/// A truncation to a larger size cuts a doubtful file where it ended `before`.
pub fn cut_at_old_size(
    state: &State,
    inode: InodeId,
    before: Option<InodeRecord>,
    record: &mut TruncateRecord,
    batch: &mut Batch,
) {
    if let Some(before) = before.filter(|before| before.size < record.size && state.doubts.borrow().has(inode)) {
        record.size = before.size;
        batch.put(keys::truncate(inode), codec::encode(record));
    }
}

/// After a change: content that has moved to storage is all that storage has, and files that are gone are nobody's concern.
pub fn settle(state: &State, op: &MetaOp, gone: &[InodeId]) {
    let mut doubts = state.doubts.borrow_mut();
    gone.iter().for_each(|inode| doubts.forget(*inode));
    if let MetaOp::Commit(commit) = op
        && commit.spilled.is_some()
    {
        doubts.settle(commit.inode);
    }
}
