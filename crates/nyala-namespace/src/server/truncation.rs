// SPDX-License-Identifier: Apache-2.0

//! Truncation of striped files: storage has to follow before the client hears that it is done.
//!
//! The new size and a record of the pending truncation are logged together; the inode stays locked until every target
//! has cut its chunk file and the record is gone from the log. After a restart the records bring the locks back and the work goes on, unless a
//! client says that it was told it is over ([`super::replay`]). `O_TRUNC` is a truncation to nothing.
//!
//! Failure model: either side may lose power and what it had not synced.
//! - **Metadata.** A smaller size is on disk before storage hears of it: else the old size could come back, and the file would have zeros where its
//!   data was. That costs one sync of the log, which all who wait share. A size that is not smaller cuts only what lies behind it, which belongs to no
//!   size that could come back: the sizes before it are smaller, or were on disk before this truncation could begin, since the inode was
//!   locked. So it waits for no sync.
//! - **Storage.** A target answers when its cut is on disk (`StorageOp::Truncate`). Only then the record may go: what came
//!   back later would show as soon as the file grows again.
//! - **Metadata again.** When the record's end is lost, so is everything that was logged after it, and the cut is done again, unless a client
//!   knows better ([`super::replay`]). It destroys only data behind the new size, which no synced size reached.
//! - **Another member** of a mirrored server does it as after a restart, and clients go on. A late cut of the one before is refused by storage.
//!
//! Clients send holes (`FALLOC_FL_PUNCH_HOLE`, `FALLOC_FL_ZERO_RANGE`) to storage; one that loses power shows old bytes or zeros until a sync.

use super::io::{Durability, Effect, Ticket};
use super::state::State;
use super::waits::Wait;
use crate::keys;
use crate::locks::LockKey;
use crate::records::{InodeRecord, TruncateRecord};
use nyala_kv::Batch;
use nyala_wire::meta::{MetaOp, MetaRequest};
use nyala_wire::meta_tx::TxId;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{InodeId, WireError, codec};

/// A truncation under way.
#[derive(Debug)]
pub struct Truncation {
    /// The file.
    pub inode: InodeId,
    record: TruncateRecord,
    /// The new size has to be on disk before storage hears of it.
    shrinks: bool,
    /// The name under which the inode's lock is held.
    lock: TxId,
    phase: Phase,
    /// Place in the log of the record's end.
    pub ended: Option<u64>,
}

#[derive(Debug)]
enum Phase {
    Applied,
    Logging(Ticket),
    Cutting(Vec<Ticket>),
    Forgetting(Ticket),
}

/// If this change, which is not applied yet, truncates a striped file: locks the inode until the truncation is over. To a larger
/// size it cuts at the old one, if storage may have something behind that which nobody committed ([`crate::doubts`]).
pub fn begin(state: &mut State, request: &MetaRequest, batch: &mut Batch) -> Result<Option<Truncation>, WireError> {
    let MetaOp::SetAttr { inode, set } = &request.op else { return Ok(None) };
    if set.size.is_none() {
        return Ok(None);
    }
    let key = keys::truncate(*inode);
    let Some(value) = batch.iter().find(|(k, _)| **k == *key).and_then(|(_, value)| value) else { return Ok(None) };
    let mut record: TruncateRecord = codec::decode(value)?;
    let before = state.ground.tables.get(&keys::inode(*inode))?;
    let before: Option<InodeRecord> = before.map(|bytes| codec::decode(&bytes)).transpose()?;
    let shrinks = before.as_ref().is_none_or(|before| record.size < before.size);
    if let Some(before) = before.filter(|before| before.size < record.size && state.doubts.has(*inode)) {
        record.size = before.size;
    }
    (record.session, record.sequence) = (Some(request.session), Some(request.sequence));
    batch.put(key, codec::encode(&record));
    Truncation::lock(state, *inode, record, shrinks).map(Some)
}

/// Whether a file's truncation is under way.
pub fn is_under_way(state: &State, inode: InodeId) -> bool {
    // A table that cannot be read is reported to whoever changes it.
    state.ground.tables.get(&keys::truncate(inode)).is_ok_and(|record| record.is_some())
}

impl Truncation {
    /// Locks the inode. `shrinks`: the new size is to be on disk before storage hears of it.
    pub fn lock(
        state: &mut State,
        inode: InodeId,
        record: TruncateRecord,
        shrinks: bool,
    ) -> Result<Truncation, WireError> {
        let lock = state.new_tx();
        state.lock(lock, &[LockKey::Inode(inode)])?;
        Ok(Truncation { inode, record, shrinks, lock, phase: Phase::Applied, ended: None })
    }

    /// The change was not made after all.
    pub fn cancel(self, state: &mut State) {
        state.unlock(self.lock);
    }

    /// Cuts the chunk files, however long that takes, then forgets the record and unlocks. `None` once it is over.
    pub fn advance(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        let advanced = self.cut(state);
        match &advanced {
            Ok(Some(_)) => return advanced,
            Ok(None) => state.doubts.settle(self.inode),
            Err(_) => {}
        }
        state.unlock(self.lock);
        advanced
    }

    fn cut(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        loop {
            match &mut self.phase {
                Phase::Applied => {
                    let durability = if self.shrinks { Durability::OnDisk } else { Durability::Written };
                    self.phase = Phase::Logging(state.log(durability));
                }
                Phase::Logging(ticket) => {
                    // If the log fails, the process ends, and the next one does what its log says.
                    let Some(logged) = state.logged(*ticket) else { return Ok(Some(Wait::COMPLETION)) };
                    logged?;
                    let layout = &self.record.layout;
                    let cut = |index| {
                        let len = layout.chunk_file_len(index, self.record.size);
                        let file = ChunkFileId { inode: self.inode, index };
                        state.ask_for(|ticket| Effect::Truncate(ticket, layout.location(index), file, len))
                    };
                    self.phase = Phase::Cutting(layout.indices().map(cut).collect());
                }
                Phase::Cutting(left) => {
                    left.retain(|ticket| state.completed(*ticket).is_none());
                    if !left.is_empty() {
                        return Ok(Some(Wait::COMPLETION));
                    }
                    let mut batch = Batch::new();
                    batch.delete(keys::truncate(self.inode));
                    state.apply(&batch)?;
                    self.ended = Some(state.ground.tables.position());
                    self.phase = Phase::Forgetting(state.log(Durability::Written));
                }
                Phase::Forgetting(ticket) => {
                    return state.logged(*ticket).map_or(Ok(Some(Wait::COMPLETION)), |logged| logged.map(|()| None));
                }
            }
        }
    }
}
