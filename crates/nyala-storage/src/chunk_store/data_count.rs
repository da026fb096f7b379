// SPDX-License-Identifier: Apache-2.0

//! How many blocks of a target hold data, without going through all rows at every start.
//!
//! **Failure model.** The count is in the tables (`docs/format-storage.md`, `N`), and not in the record of each change: after a death of the process it
//! lacks what has changed since it was noted, and a build that does not know it leaves it as it was. So it is for estimates; a whole scrub puts it right.
//! Where a limit has to hold, all rows are counted at the start. A row that does not decode is a count that is not known.

use super::rows::tag;
use super::table::{Table, scan_prefix};
use nyala_store::{Batch, StoreError};
use nyala_wire::storage::BLOCK_BYTES;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Noted when it has changed by so many blocks: 64 MiB.
const NOTE_BLOCKS: u64 = (64 << 20) / BLOCK_BYTES;
/// A count that differs from what a scrub has compared by more than this part of it is not believed.
const SCRUB_PART: u64 = 16;

/// Blocks that hold data.
#[derive(Debug, Default)]
pub(super) struct DataCount {
    /// While it is not known: those since the start, which may be below zero.
    blocks: AtomicI64,
    known: AtomicBool,
    /// All rows were counted.
    exact: AtomicBool,
    /// As the tables have it; one more than that, 0: they do not.
    noted: AtomicI64,
}

impl DataCount {
    /// Begins with what the tables say, or, if it is to be `exact`, with a count of all rows.
    pub fn begin(&self, kv: &dyn Table, exact: bool) -> Result<(), StoreError> {
        let stored = kv.get(&[tag::DATA_COUNT])?;
        let stored = stored.and_then(|value| Some(u64::from_le_bytes(<[u8; 8]>::try_from(&*value).ok()?)));
        self.noted.store(stored.map_or(0, |blocks| signed(blocks).saturating_add(1)), Ordering::Relaxed);
        self.exact.store(exact, Ordering::Relaxed);
        if exact {
            let mut blocks = 0;
            scan_prefix(kv, &[tag::CHECKSUMS], &mut |_, value| {
                blocks += value.len().saturating_sub(8) as u64 / 4;
                ControlFlow::Continue(())
            })?;
            self.blocks.store(signed(blocks), Ordering::Relaxed);
        } else if let Some(blocks) = stored {
            // Recovery may have counted already.
            self.blocks.fetch_add(signed(blocks), Ordering::Relaxed);
        } else {
            let mut any = false;
            scan_prefix(kv, &[tag::CHECKSUMS], &mut |_, _| {
                any = true;
                ControlFlow::Break(())
            })?;
            if any {
                return Ok(());
            }
        }
        self.known.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// So many blocks were in use, now it is so many.
    pub fn account(&self, before: u64, after: u64) {
        self.blocks.fetch_add(signed(after) - signed(before), Ordering::Relaxed);
    }

    /// Bytes; those since the start while it is not known.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.blocks.load(Ordering::Relaxed)).unwrap_or(0).saturating_mul(BLOCK_BYTES)
    }

    /// Bytes, about; `None` while that is not known.
    pub fn known_bytes(&self) -> Option<u64> {
        self.known.load(Ordering::Relaxed).then(|| self.bytes())
    }

    /// A whole scrub has compared so many bytes.
    pub fn scrubbed(&self, bytes: u64) {
        let known = self.known_bytes();
        let believed = known.is_some_and(|known| known.abs_diff(bytes) <= bytes / SCRUB_PART);
        if !believed && !self.exact.load(Ordering::Relaxed) {
            // What is accounted for meanwhile stays accounted for.
            let difference = signed(bytes / BLOCK_BYTES) - self.blocks.load(Ordering::Relaxed);
            self.blocks.fetch_add(difference, Ordering::Relaxed);
            self.known.store(true, Ordering::Relaxed);
        }
    }

    /// Notes it in the tables if it is known and has changed by `least` blocks.
    fn note(&self, kv: &dyn Table, least: u64) -> Result<(), StoreError> {
        let Some(bytes) = self.known_bytes() else { return Ok(()) };
        let blocks = bytes / BLOCK_BYTES;
        let noted = self.noted.load(Ordering::Relaxed);
        if noted == 0 || signed(blocks).abs_diff(noted - 1) >= least {
            kv.apply(Batch::new().put([tag::DATA_COUNT], blocks.to_le_bytes()))?;
            self.noted.store(signed(blocks) + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes it if it has changed much. To be called now and then.
    pub fn note_much(&self, kv: &dyn Table) -> Result<(), StoreError> {
        self.note(kv, NOTE_BLOCKS)
    }

    /// Notes it if it has changed: before the tables are closed.
    pub fn note_all(&self, kv: &dyn Table) -> Result<(), StoreError> {
        self.note(kv, 1)
    }
}

/// Numbers of blocks are bounded far below the sign bit; one that is not was written by something else.
fn signed(blocks: u64) -> i64 {
    i64::try_from(blocks).unwrap_or(i64::MAX / 2).min(i64::MAX / 2)
}
