// SPDX-License-Identifier: Apache-2.0

//! How often the target may have lost what it had acknowledged and not synced: clients compare the number that they were told with a
//! write to the one that their sync is answered with.
//!
//! **Failure model.** Whether a flag of unsynced changes reached the disk is not known after a crash of the machine, since new blocks
//! do not wait for theirs. So every such crash counts, unless the target was closed in order and had nothing unsynced then.
//! The number is on disk before the target answers anybody, and so is that it is no longer closed.

use super::error::ChunkError;
use super::rows::tag;
use super::shared::{ChunkStore, ChunkStoreOptions, Shared};
use nyala_store::Batch;

/// The stored form: the number, and whether the target was closed in order since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    count: u32,
    closed: bool,
}

impl Losses {
    pub(super) fn decode(value: &[u8]) -> Option<Losses> {
        let (count, [closed]) = value.split_first_chunk::<4>()? else { return None };
        Some(Losses { count: u32::from_le_bytes(*count), closed: *closed != 0 })
    }

    pub(super) fn encode(self) -> [u8; 5] {
        let [a, b, c, d] = self.count.to_le_bytes();
        [a, b, c, d, self.closed.into()]
    }
}

impl Shared {
    /// Begins to use the target under this kernel and mount; `crashed`: they are others than before.
    pub(super) fn begin_losses(&self, options: &ChunkStoreOptions, crashed: bool) -> Result<(), ChunkError> {
        let stored = self.kv.get(&[tag::LOSSES])?;
        // What cannot be read counts like a loss: it makes syncs doubtful, and never certain.
        let known = stored.map(|value| Losses::decode(&value).unwrap_or(Losses { count: u32::MAX - 1, closed: false }));
        let before = known.unwrap_or_default();
        let count = before.count.wrapping_add(u32::from(crashed && !before.closed));
        let now = Losses { count, closed: false };
        self.losses.store(count, std::sync::atomic::Ordering::Relaxed);
        if known != Some(now) || crashed {
            let mut batch = Batch::new();
            batch.put([tag::BOOT], options.boot_id.as_bytes()).put([tag::LOSSES], now.encode());
            self.kv.apply(&batch)?;
        }
        Ok(())
    }
}

impl ChunkStore {
    /// How often it may have lost what was acknowledged and not synced.
    pub fn losses(&self) -> u32 {
        self.shared.losses.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// To be called when all workers have ended, before the table is closed: notes how much data there is, and
    /// that nothing can get lost, if so.
    pub fn close(&self) -> Result<(), ChunkError> {
        self.shared.data.note_all(&*self.shared.kv)?;
        if self.shared.list(tag::UNSYNCED)?.is_empty() {
            let closed = Losses { count: self.losses(), closed: true };
            self.shared.kv.apply(Batch::new().put([tag::LOSSES], closed.encode()))?;
        }
        Ok(())
    }
}
