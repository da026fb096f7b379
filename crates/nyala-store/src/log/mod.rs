// SPDX-License-Identifier: Apache-2.0

//! The log: records get numbers, wait in a buffer, go to segment files with one write, and to disk with one sync.
//!
//! # Failure model
//! - A write or sync that fails leaves unknown bytes behind: the log is dead until it is opened again.
//! - No space: seen only when a segment is made, before a record has its number. Smaller ones are tried, then the reserve;
//!   then the append is refused, and nothing changed. [`Log::is_short`] asks callers to let a checkpoint release segments.
//! - A crash at any point leaves a prefix of the records and an unsynced tail; `recover` sorts that out.

pub(crate) mod disk;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod recover;
mod reserve;
pub(crate) mod segment;
mod unproven;
pub(crate) mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::StoreError;
use crate::progress::Progress;
use disk::{FreeSpace, LogDisk, LogFile};
use format::{Kind, SEGMENT_HEADER_BYTES};
use segment::{ClosedSegment, Segment};

/// The buffer is written when it passes this.
const BUFFER_BYTES: usize = 1 << 20;
/// A checkpoint is due when this many segments wait to be released, so that changing the same few keys for ever, which
/// takes no memory, does not grow the log or the time to replay it.
const WAITING_SEGMENTS: usize = 8;

/// A place in the log: the record after `lsn` starts at byte `offset` of segment `sequence`, or in a later segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub lsn: u64,
    pub sequence: u64,
    pub offset: u64,
}

/// Where appends happen; held through its lock while a batch gets its number and enters the table.
pub(crate) struct Tail {
    active: Option<Segment>,
    /// Oldest first; the newest of them is kept while there is no active one.
    closed: Vec<ClosedSegment>,
    buffer: Vec<u8>,
    /// Segments that were left since the last sync.
    unsynced: Vec<Arc<dyn LogFile>>,
    last_lsn: u64,
    /// The last marker's record; nothing has to be said of the records before it any more.
    marker: u64,
}

/// The log of one store.
pub(crate) struct Log {
    disk: Arc<dyn LogDisk>,
    store_id: u128,
    segment_bytes: u64,
    progress: Arc<Progress>,
    tail: Mutex<Tail>,
    /// Prepared ahead so that appends need not wait. Taken after `tail`, and alone while a segment is made.
    spare: Mutex<Option<Segment>>,
    /// Changes only under the lock of `spare`.
    newest_sequence: AtomicU64,
    /// Changes only under the lock of `spare`.
    reserve_bytes: AtomicU64,
    /// Number of the segment before which segments have to be released so that there is room for the next one; 0 for none.
    short_until: AtomicU64,
    sync_turn: Mutex<()>,
}

impl Log {
    /// A log that goes on after `closed` segments (at least one) with the record after `last_lsn`.
    pub(crate) fn resume(
        disk: Arc<dyn LogDisk>,
        store_id: u128,
        segment_bytes: u64,
        progress: Arc<Progress>,
        closed: Vec<ClosedSegment>,
        last_lsn: u64,
    ) -> Log {
        let newest = closed.last().map_or(0, |segment| segment.sequence);
        Log {
            disk,
            store_id,
            segment_bytes: segment_bytes.max(SEGMENT_HEADER_BYTES),
            progress,
            tail: Mutex::new(Tail {
                active: None,
                closed,
                buffer: Vec::new(),
                unsynced: Vec::new(),
                last_lsn,
                marker: 0,
            }),
            spare: Mutex::new(None),
            newest_sequence: AtomicU64::new(newest),
            reserve_bytes: AtomicU64::new(0),
            short_until: AtomicU64::new(0),
            sync_turn: Mutex::new(()),
        }
    }

    /// Keeps everyone else from appending.
    pub(crate) fn lock_tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock()
    }

    /// Memory of the buffer, bytes; it keeps some for later records.
    pub(crate) fn buffered_bytes(&self) -> u64 {
        self.tail.lock().buffer.capacity() as u64
    }

    /// Numbers a record and puts it into the buffer.
    pub(crate) fn append(&self, tail: &mut Tail, kind: Kind, payload: &[u8]) -> Result<u64, StoreError> {
        self.progress.check()?;
        let bytes = format::stored_bytes(payload.len());
        if tail.active.as_ref().is_none_or(|active| active.end + bytes as u64 > active.bytes) {
            self.next_segment(tail, bytes as u64)?;
        }
        // why: next_segment has just made sure of it
        let Tail { active: Some(active), buffer, .. } = tail else { unreachable!("no active segment") };
        let lsn = tail.last_lsn + 1;
        format::encode_record(buffer, active.salt, lsn, self.progress.durable(), kind, payload);
        active.end += bytes as u64;
        tail.last_lsn = lsn;
        if tail.buffer.len() >= BUFFER_BYTES {
            self.write_buffer(tail)?;
        }
        self.progress.set_applied(lsn);
        Ok(lsn)
    }

    /// Leaves the active segment for one with room for a record of `bytes`.
    fn next_segment(&self, tail: &mut Tail, bytes: u64) -> Result<(), StoreError> {
        self.write_buffer(tail)?;
        let mut spare = self.spare.lock();
        let needed = SEGMENT_HEADER_BYTES + bytes;
        let next = match spare.take() {
            Some(ready) if ready.bytes >= needed => ready,
            // A spare that is too small is replaced under its own name.
            _ => self.make_segment(tail, needed).map_err(|error| self.kill_unless_full(error))?,
        };
        self.newest_sequence.store(next.sequence, Ordering::Relaxed);
        if let Some(left) = tail.active.replace(next) {
            tail.closed.push(ClosedSegment { sequence: left.sequence, end: left.end });
            tail.unsynced.push(left.file);
            if tail.closed.len() >= WAITING_SEGMENTS {
                self.progress.want_checkpoint();
            }
        }
        Ok(())
    }

    /// A segment of the usual size, or of what there is room for: on a full disk work goes on in small ones, and where
    /// there is no room at all in the reserve. The lock of `spare` is held.
    fn make_segment(&self, tail: &Tail, needed: u64) -> Result<Segment, StoreError> {
        let sequence = self.newest_sequence.load(Ordering::Relaxed) + 1;
        let wanted = self.segment_bytes.max(needed);
        let made = segment::make_fitting(&*self.disk, self.store_id, sequence, wanted, needed);
        let Err(full @ StoreError::Full { .. }) = made else { return made };
        let used = self.use_reserve(sequence, needed)?;
        let left = tail.active.iter().map(|active| active.sequence);
        let last = tail.closed.iter().map(|segment| segment.sequence).chain(left).next_back();
        if used.is_some() || tail.closed.len() > usize::from(tail.active.is_none()) {
            self.short_until.store(used.as_ref().map_or(last.unwrap_or(0), |used| used.sequence), Ordering::Relaxed);
            self.progress.want_checkpoint();
        }
        used.ok_or(full)
    }

    fn kill_unless_full(&self, error: StoreError) -> StoreError {
        if matches!(error, StoreError::Full { .. }) { error } else { self.progress.kill(error) }
    }

    /// Hands the buffer to the operating system. Returns the last record written.
    pub(crate) fn write_buffer(&self, tail: &mut Tail) -> Result<u64, StoreError> {
        self.progress.check()?;
        if let (Some(active), false) = (&tail.active, tail.buffer.is_empty()) {
            let offset = active.end - tail.buffer.len() as u64;
            if let Err(error) = active.file.write_at(offset, &tail.buffer) {
                return Err(self.progress.kill(StoreError::poisoned("write to the log", error)));
            }
            tail.buffer.clear();
            if tail.buffer.capacity() > 4 * BUFFER_BYTES {
                tail.buffer = Vec::new();
            }
            self.progress.set_written(tail.last_lsn);
        }
        Ok(tail.last_lsn)
    }

    /// Hands the buffer to the operating system as far as it was at `up_to`, a position that the log had. Returns the last record
    /// written.
    pub(crate) fn write_up_to(&self, tail: &mut Tail, up_to: Position) -> Result<u64, StoreError> {
        self.progress.check()?;
        let Some(active) = tail.active.as_ref().filter(|active| active.sequence == up_to.sequence) else {
            // Whoever left the segment has written it, or there was nothing yet.
            return Ok(self.progress.written());
        };
        let offset = active.end - tail.buffer.len() as u64;
        let Some(bytes) = up_to.offset.checked_sub(offset).filter(|bytes| *bytes > 0) else {
            return Ok(self.progress.written());
        };
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(tail.buffer.len());
        if bytes == tail.buffer.len() {
            return self.write_buffer(tail);
        }
        if let Err(error) = active.file.write_at(offset, &tail.buffer[..bytes]) {
            return Err(self.progress.kill(StoreError::poisoned("write to the log", error)));
        }
        tail.buffer.drain(..bytes);
        self.progress.set_written(up_to.lsn);
        Ok(up_to.lsn)
    }

    /// Writes the buffer and makes all of the log durable. Returns the last durable record, and whether it did a sync.
    pub(crate) fn sync(&self) -> Result<(u64, bool), StoreError> {
        let _turn = self.sync_turn.lock();
        let (files, target) = {
            let mut tail = self.tail.lock();
            let written = self.write_buffer(&mut tail)?;
            if written == self.progress.durable() {
                return Ok((written, false));
            }
            let mut files = std::mem::take(&mut tail.unsynced);
            files.extend(tail.active.as_ref().map(|active| active.file.clone()));
            (files, written)
        };
        for file in files {
            if let Err(error) = file.sync() {
                return Err(self.progress.kill(StoreError::poisoned("sync of the log", error)));
            }
        }
        self.progress.set_durable(target);
        Ok((target, true))
    }

    /// Makes the next segment ahead of its use when the active one is half full. Lack of space is left to the append.
    pub(crate) fn prepare_spare(&self) {
        let half_full = self.tail.lock().active.as_ref().is_some_and(|active| active.end * 2 > active.bytes);
        let mut spare = self.spare.lock();
        if !half_full || spare.is_some() || self.progress.check().is_err() {
            return;
        }
        let sequence = self.newest_sequence.load(Ordering::Relaxed) + 1;
        match segment::make_fitting(&*self.disk, self.store_id, sequence, self.segment_bytes, SEGMENT_HEADER_BYTES) {
            Ok(segment) => *spare = Some(segment),
            Err(StoreError::Full { .. }) => {}
            Err(error) => {
                self.progress.kill(error);
            }
        }
    }

    /// Where the next record will be.
    pub(crate) fn position(&self, tail: &Tail) -> Position {
        let (sequence, offset) = match (&tail.active, tail.closed.last()) {
            (Some(active), _) => (active.sequence, active.end),
            (None, Some(last)) => (last.sequence, last.end),
            // why: resume was given a segment, and release keeps the one that a checkpoint points into
            (None, None) => unreachable!("a log always has a segment"),
        };
        Position { lsn: tail.last_lsn, sequence, offset }
    }

    /// Removes the segments before `sequence`, which a durable checkpoint has made superfluous.
    pub(crate) fn release(&self, sequence: u64) -> Result<(), StoreError> {
        let superfluous: Vec<ClosedSegment> = {
            let mut tail = self.tail.lock();
            let keep = tail.closed.partition_point(|segment| segment.sequence < sequence);
            tail.closed.drain(..keep).collect()
        };
        for segment in &superfluous {
            let removed = self.disk.remove(&segment::name(segment.sequence));
            removed.map_err(|error| self.progress.kill(StoreError::poisoned("removal of a log segment", error)))?;
        }
        if superfluous.is_empty() {
            return Ok(());
        }
        self.disk
            .sync_dir()
            .map_err(|error| self.progress.kill(StoreError::poisoned("sync of the log directory", error)))
    }

    /// After the last sync: a record that vouches for all before it. Not itself synced; losing it loses nothing.
    pub(crate) fn write_marker(&self) -> Result<(), StoreError> {
        let mut tail = self.tail.lock();
        let fits = |active: &Segment| active.end + format::stored_bytes(0) as u64 <= active.bytes;
        if tail.active.as_ref().is_some_and(fits) {
            tail.marker = self.append(&mut tail, Kind::Marker, &[])?;
            self.write_buffer(&mut tail)?;
        }
        Ok(())
    }

    /// A marker for records that were synced and have none behind them that says so: if the process is killed now, damage to
    /// them would look like a write that never ended.
    pub(crate) fn vouch(&self) -> Result<(), StoreError> {
        let is_due = {
            let tail = self.tail.lock();
            tail.last_lsn > tail.marker && tail.last_lsn == self.progress.durable()
        };
        // A record that comes in between vouches as well; a marker more does no harm.
        if is_due { self.write_marker() } else { Ok(()) }
    }

    /// What the disk of the log has left.
    pub(crate) fn free_space(&self) -> std::io::Result<FreeSpace> {
        self.disk.free_space()
    }

    /// Where the log is, for messages.
    pub(crate) fn location(&self) -> String {
        self.disk.location()
    }

    pub(crate) fn segments(&self) -> u64 {
        let tail = self.tail.lock();
        tail.closed.len() as u64 + u64::from(tail.active.is_some())
    }
}
