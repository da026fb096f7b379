// SPDX-License-Identifier: Apache-2.0

//! Fences as they go from one member of a mirror group to another: as the content of a region (`nyala_replica::session_fences`).
//!
//! **Failure model.** What is taken in is added to what is there and never takes anything away, except when there are too many: then
//! those that were fenced here longest ago go. A list that makes no sense is refused as a whole. It counts when it is on
//! disk: the caller waits for the position.

use super::error::ChunkError;
use super::fence::MOST;
use super::region::{Region, RegionHeader, There};
use super::rows::{fence_key, fence_value};
use super::shared::Shared;
use super::worker::ChunkWorker;
use nyala_store::{Batch, Lsn};
use nyala_wire::SessionId;
use nyala_wire::storage::BLOCK_BYTES;

const ENTRY: usize = size_of::<u64>();
// The list is one region, and one message.
const _: () = assert!(MOST * ENTRY <= 1 << 20);

impl ChunkWorker {
    /// All sessions that are fenced on this target, in the order of fencing.
    pub fn fence_list(&self) -> Region {
        let data: Vec<u8> = self.shared.fences.read().in_order().flat_map(|session| session.0.to_le_bytes()).collect();
        let blocks = (data.len() as u64).div_ceil(BLOCK_BYTES);
        let present = vec![u8::MAX; blocks.div_ceil(8) as usize].into();
        let len = data.len() as u64;
        let header = RegionHeader { there: There::File, len, start: 0, end: len, present, bad: None };
        Region { header, data: data.into() }
    }

    /// Fences all sessions of another target's list that are not fenced here. None of their writes is under way when this
    /// returns. They count when the log is durable up to the position.
    pub fn take_fences(&mut self, list: &Region) -> Result<Lsn, ChunkError> {
        let (sessions, odd) = list.data.as_chunks::<ENTRY>();
        let sessions = sessions.iter().map(|bytes| SessionId(u64::from_le_bytes(*bytes)));
        if !odd.is_empty() || sessions.clone().any(|session| session == ChunkWorker::OWN) {
            return Err(ChunkError::Invalid("a list of fenced sessions that makes no sense"));
        }
        self.shared.take_fences(sessions, MOST)
    }
}

impl Shared {
    pub(super) fn take_fences(
        &self,
        sessions: impl Iterator<Item = SessionId>,
        most: usize,
    ) -> Result<Lsn, ChunkError> {
        let mut set = self.fences.write();
        let mut new: Vec<SessionId> = sessions.filter(|session| !set.contains(*session)).collect();
        if new.is_empty() {
            // What is known may not be on disk yet.
            return Ok(self.kv.flush()?);
        }
        let new = new.split_off(new.len().saturating_sub(most));
        let mut batch = Batch::new();
        let forgotten = set.oldest((set.len() + new.len()).saturating_sub(most));
        for session in &forgotten {
            batch.delete(fence_key(*session));
        }
        let first = set.next_number();
        for (number, session) in (first..).zip(&new) {
            batch.put(fence_key(*session), fence_value(number));
        }
        let lsn = self.kv.apply(&batch)?;
        forgotten.into_iter().for_each(|session| set.remove(session));
        (first..).zip(new).for_each(|(number, session)| set.insert(session, number));
        tracing::info!(target_id = %self.label, sessions = set.len(), "fences of another member taken in");
        Ok(lsn)
    }
}
