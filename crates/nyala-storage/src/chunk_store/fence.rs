// SPDX-License-Identifier: Apache-2.0

//! Fenced sessions: clients that lost their delegations without knowing, whose changes are refused for good.
//!
//! **Failure model.** A fenced client still sends what it holds, now or much later, on connections that still work. So a
//! fence counts only when it is on disk (the caller waits for the position), and no change that looked before it is still
//! under way: whoever changes something holds the set for reading from the look to the end of the change. The set is bounded: beyond
//! [`MOST`], the session that was fenced longest ago is forgotten, which is days after its client has ended.

use super::error::ChunkError;
use super::fence_set::FenceSet;
use super::repeats::Author;
use super::rows::{fence_key, fence_value, parse_fence, tag};
use super::shared::Shared;
use super::table::scan_prefix;
use super::worker::ChunkWorker;
use nyala_store::{Batch, Lsn};
use nyala_wire::SessionId;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::ops::ControlFlow;

/// Sessions that are remembered.
pub(super) const MOST: usize = 100_000;

#[derive(Default)]
pub(super) struct Fences {
    set: RwLock<FenceSet>,
}

impl Fences {
    /// The same without waiting.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, FenceSet>> {
        self.set.try_read()
    }

    /// Nobody writes while this is held.
    pub fn write(&self) -> RwLockWriteGuard<'_, FenceSet> {
        self.set.write()
    }

    /// Nobody is fenced while this is held.
    pub fn read(&self) -> RwLockReadGuard<'_, FenceSet> {
        self.set.read()
    }
}

impl Shared {
    /// Reads the fences of earlier lives of this target.
    pub fn load_fences(&self) -> Result<(), ChunkError> {
        let (mut set, mut bad) = (self.fences.set.write(), false);
        scan_prefix(&*self.kv, &[tag::FENCE], &mut |key, value| {
            match parse_fence(key, value) {
                Some((session, number)) => set.insert(session, number),
                None => bad = true,
            }
            ControlFlow::Continue(())
        })?;
        if bad { Err(ChunkError::BadFence) } else { Ok(()) }
    }

    /// Fences a session; again is fine. When this returns, none of its writes is under way or will be done. Answer when
    /// the log is durable up to the position.
    pub fn fence(&self, session: SessionId) -> Result<Lsn, ChunkError> {
        self.fence_of(session, MOST)
    }

    pub(super) fn fence_of(&self, session: SessionId, most: usize) -> Result<Lsn, ChunkError> {
        if session == ChunkWorker::OWN {
            return Err(ChunkError::Invalid("session 0 is nobody's and cannot be fenced"));
        }
        let mut set = self.fences.set.write();
        let number = set.next_number();
        let mut batch = Batch::new();
        batch.put(fence_key(session), fence_value(number));
        let known = set.contains(session);
        let oldest = set.in_order().next();
        let forgotten = oldest.filter(|_| !known && set.len() >= most);
        if let Some(forgotten) = forgotten {
            batch.delete(fence_key(forgotten));
        }
        let lsn = self.kv.apply(&batch)?;
        set.insert(session, number);
        if let Some(forgotten) = forgotten {
            set.remove(forgotten);
        }
        tracing::info!(target_id = %self.label, session = session.0, "session is fenced");
        Ok(lsn)
    }
}

impl ChunkWorker {
    /// The session of what a target writes by itself.
    pub const OWN: SessionId = SessionId(0);

    /// Does a change for a client, unless its session is fenced. Who fences it meanwhile waits for the end of the change. `None`:
    /// it was done before, under the same stamp.
    pub fn change_of<T>(
        &mut self,
        by: Author,
        change: impl FnOnce(&mut ChunkWorker) -> Result<T, ChunkError>,
    ) -> Result<Option<T>, ChunkError> {
        let shared = self.shared.clone();
        let fences = shared.fences.read();
        if by.session != ChunkWorker::OWN && fences.contains(by.session) {
            return Err(ChunkError::Fenced);
        }
        if self.repeats.is_done(by.stamp)? {
            return Ok(None);
        }
        let done = change(self)?;
        self.repeats.done(by.stamp);
        Ok(Some(done))
    }

    /// Refuses all changes of a session from now on, for the whole target; again is fine. Answer when the log is durable up
    /// to the position.
    pub fn fence(&mut self, session: SessionId) -> Result<Lsn, ChunkError> {
        self.shared.fence(session)
    }
}
