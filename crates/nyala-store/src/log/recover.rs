// SPDX-License-Identifier: Apache-2.0

//! Opening a log: replay from the checkpoint's position, cut an unsynced tail, refuse damage.
//!
//! # Failure model
//! Only what was never synced may be missing or torn, and it may be so in any pattern: a later record can have reached
//! the disk before an earlier one. So the first place where the next record is not found ends the log, *unless* any
//! record of the log, wherever it is found, says that the log was on disk beyond that place when it was written: then
//! synced data is gone or damaged, and the log is refused. A crash during recovery leaves a log that recovers the same way.
//! What is found may be in the page cache only, and counted as clean there: [`Unproven`].

use std::sync::Arc;

use super::Position;
use super::disk::{LogDisk, LogFile};
use super::format::{self, ALIGN_BYTES, Kind, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::segment::{self, ClosedSegment};
use super::unproven::Unproven;
use crate::StoreError;

/// What a log turned out to hold.
pub(crate) struct Recovered {
    pub closed: Vec<ClosedSegment>,
    pub last_lsn: u64,
    pub replayed_records: u64,
    pub cut_records: u64,
    pub cut_bytes: u64,
}

struct Loaded {
    sequence: u64,
    file: Arc<dyn LogFile>,
    salt: u32,
    data: Vec<u8>,
}

impl Loaded {
    fn damaged(&self, offset: usize, reason: impl Into<String>) -> StoreError {
        StoreError::LogDamaged { file: segment::name(self.sequence), offset: offset as u64, reason: reason.into() }
    }
}

/// Segment numbers on the disk, sorted. Removes what an interrupted making left behind.
pub(crate) fn list_segments(disk: &dyn LogDisk) -> Result<Vec<u64>, StoreError> {
    let names = disk.list().map_err(|e| StoreError::io("list", disk.location(), e))?;
    for name in names.iter().filter(|name| segment::is_temporary(name)) {
        disk.remove(name).map_err(|e| StoreError::io("remove", name, e))?;
    }
    let mut sequences: Vec<u64> = names.iter().filter_map(|name| segment::parse_name(name)).collect();
    sequences.sort_unstable();
    Ok(sequences)
}

/// Whether any segment holds a record, for a store that has no checkpoint at all.
pub(crate) fn holds_records(disk: &dyn LogDisk, sequences: &[u64]) -> Result<bool, StoreError> {
    for sequence in sequences {
        let loaded = load(disk, *sequence, None)?;
        if !strays(&loaded, SEGMENT_HEADER_BYTES as usize).is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Replays every record after `start` in order, cuts the unsynced tail, and leaves the log durable as it then is.
pub(crate) fn recover(
    disk: &dyn LogDisk,
    store_id: u128,
    start: Position,
    replay: &mut dyn FnMut(&[u8]),
) -> Result<Recovered, StoreError> {
    let sequences = list_segments(disk)?;
    let (superfluous, needed): (Vec<u64>, Vec<u64>) = sequences.into_iter().partition(|s| *s < start.sequence);
    check_complete(start.sequence, &needed)?;

    let mut chain = Chain::new(start, needed.last().copied().unwrap_or(start.sequence));
    let mut rest = needed.into_iter().peekable();
    while let Some(sequence) = rest.next_if(|_| chain.end.is_none()) {
        let loaded = load(disk, sequence, Some(store_id))?;
        chain.follow(loaded, replay)?;
    }
    chain.judge(disk, store_id, rest)?;
    for sequence in &superfluous {
        disk.remove(&segment::name(*sequence)).map_err(|e| StoreError::io("remove", segment::name(*sequence), e))?;
    }
    chain.cut(disk)
}

/// `needed` is sorted and starts at `first` or later.
fn check_complete(first: u64, needed: &[u64]) -> Result<(), StoreError> {
    let missing = match needed.iter().zip(first..).find(|(sequence, expected)| **sequence != *expected) {
        Some((_, expected)) => expected,
        None if needed.is_empty() => first,
        None => return Ok(()),
    };
    let (file, reason) = (segment::name(missing), "the segment is missing".into());
    Err(StoreError::LogDamaged { file, offset: 0, reason })
}

fn load(disk: &dyn LogDisk, sequence: u64, store_id: Option<u128>) -> Result<Loaded, StoreError> {
    let name = segment::name(sequence);
    let file = disk.open(&name).map_err(|e| StoreError::io("open", &name, e))?;
    let data = file.read_all().map_err(|e| StoreError::io("read", &name, e))?;
    let damaged = |reason: String| StoreError::LogDamaged { file: name.clone(), offset: 0, reason };
    let header = SegmentHeader::decode(&data).map_err(damaged)?;
    if header.sequence != sequence {
        return Err(damaged(format!("the header is that of segment {:016x}", header.sequence)));
    }
    if store_id.is_some_and(|id| id != header.store_id) {
        return Err(damaged("the segment belongs to another store".into()));
    }
    Ok(Loaded { sequence, file, salt: header.salt, data })
}

/// The records that follow each other without a gap, and what lies beyond them.
struct Chain {
    start: Position,
    /// Newest segment on the disk.
    last_sequence: u64,
    last_lsn: u64,
    replayed_records: u64,
    unproven: Unproven,
    /// Segments of the chain with the end of their part of it.
    segments: Vec<(Loaded, usize)>,
    /// The first segment after the chain.
    end: Option<Loaded>,
    /// Segments after the chain, to be removed.
    beyond: Vec<u64>,
    cut_records: u64,
    cut_bytes: u64,
}

impl Chain {
    fn new(start: Position, last_sequence: u64) -> Chain {
        Chain {
            start,
            last_sequence,
            last_lsn: start.lsn,
            replayed_records: 0,
            unproven: Unproven::default(),
            segments: Vec::new(),
            end: None,
            beyond: Vec::new(),
            cut_records: 0,
            cut_bytes: 0,
        }
    }

    /// Takes the records of a segment if the chain goes on in it; remembers it as the end if not.
    fn follow(&mut self, mut loaded: Loaded, replay: &mut dyn FnMut(&[u8])) -> Result<(), StoreError> {
        let first = self.segments.is_empty();
        let mut offset = if first { self.start.offset as usize } else { SEGMENT_HEADER_BYTES as usize };
        if loaded.data.len() < offset {
            return Err(loaded.damaged(loaded.data.len(), format!("the file ends before byte {offset}")));
        }
        let begin = offset;
        while let Some(record) = format::decode_record(&loaded.data[offset..], loaded.salt) {
            if record.lsn != self.last_lsn + 1 {
                break;
            }
            if record.kind == Kind::Batch {
                if nyala_kv::validate(record.payload).is_none() {
                    return Err(loaded.damaged(offset, "the record's content is not a batch"));
                }
                replay(record.payload);
            }
            let stored = &loaded.data[offset..offset + record.stored_bytes];
            self.unproven.take(record.lsn, record.durable, loaded.sequence, offset, stored);
            offset += record.stored_bytes;
            self.last_lsn = record.lsn;
            self.replayed_records += 1;
        }
        if first || offset > begin {
            // Only what follows the chain is still of interest.
            loaded.data = loaded.data.split_off(offset);
            self.segments.push((loaded, offset));
        } else {
            self.end = Some(loaded);
        }
        Ok(())
    }

    /// Refuses the log if anything beyond the chain proves that more of it was once on disk.
    fn judge(&mut self, disk: &dyn LogDisk, store_id: u128, rest: impl Iterator<Item = u64>) -> Result<(), StoreError> {
        for (loaded, _) in &self.segments {
            let found = strays(loaded, 0);
            self.cut_bytes += used_bytes(&loaded.data);
            self.cut_records += self.refuse_if_synced(loaded, &found)?;
        }
        let later = rest.map(|sequence| load(disk, sequence, Some(store_id)));
        for loaded in self.end.take().map(Ok).into_iter().chain(later) {
            let loaded = loaded?;
            let found = strays(&loaded, SEGMENT_HEADER_BYTES as usize);
            self.cut_bytes += used_bytes(&loaded.data[SEGMENT_HEADER_BYTES as usize..]);
            self.cut_records += self.refuse_if_synced(&loaded, &found)?;
            self.beyond.push(loaded.sequence);
        }
        Ok(())
    }

    /// Where the chain breaks: after its last record, or, if nothing is there, at the start of the next segment.
    fn break_point(&self) -> (String, u64) {
        let last =
            self.segments.last().map(|(loaded, end)| (loaded.sequence, *end as u64, used_bytes(&loaded.data) > 0));
        let (sequence, end, has_rest) = last.unwrap_or((self.start.sequence, self.start.offset, true));
        if has_rest || self.last_sequence == sequence {
            (segment::name(sequence), end)
        } else {
            (segment::name(sequence + 1), SEGMENT_HEADER_BYTES)
        }
    }

    fn refuse_if_synced(&self, loaded: &Loaded, found: &[Stray]) -> Result<u64, StoreError> {
        let Some(stray) = found.iter().find(|stray| stray.durable > self.last_lsn) else {
            return Ok(found.iter().filter(|stray| stray.lsn > self.last_lsn).count() as u64);
        };
        let (file, offset) = self.break_point();
        let reason = format!(
            "record {} is damaged or missing; record {} in {} shows that it was on disk",
            self.last_lsn + 1,
            stray.lsn,
            segment::name(loaded.sequence)
        );
        Err(StoreError::LogDamaged { file, offset, reason })
    }

    /// Removes what lies beyond the chain, newest first so that no gap can appear, and makes the rest durable.
    fn cut(self, disk: &dyn LogDisk) -> Result<Recovered, StoreError> {
        for sequence in self.beyond.iter().rev() {
            let name = segment::name(*sequence);
            disk.remove(&name).and_then(|()| disk.sync_dir()).map_err(|e| StoreError::io("remove", name, e))?;
        }
        let newest = self.segments.len().saturating_sub(1);
        let mut closed = Vec::new();
        for (index, (loaded, end)) in self.segments.iter().enumerate() {
            let name = segment::name(loaded.sequence);
            if index == newest {
                loaded.file.truncate(*end as u64).map_err(|e| StoreError::io("truncate", &name, e))?;
            }
            let again = self.unproven.write_again(loaded.sequence, &*loaded.file);
            again.map_err(|e| StoreError::io("write again", &name, e))?;
            loaded.file.sync().map_err(|e| StoreError::io("sync", &name, e))?;
            closed.push(ClosedSegment { sequence: loaded.sequence, end: *end as u64 });
        }
        disk.sync_dir().map_err(|e| StoreError::io("sync", disk.location(), e))?;
        Ok(Recovered {
            closed,
            last_lsn: self.last_lsn,
            replayed_records: self.replayed_records,
            cut_records: self.cut_records,
            cut_bytes: self.cut_bytes,
        })
    }
}

struct Stray {
    lsn: u64,
    durable: u64,
}

/// Every valid record of the segment from `offset` on, at whatever distance.
fn strays(loaded: &Loaded, offset: usize) -> Vec<Stray> {
    let mut found = Vec::new();
    let mut offset = offset;
    while offset + format::RECORD_HEAD_BYTES <= loaded.data.len() {
        match format::decode_record(&loaded.data[offset..], loaded.salt) {
            Some(record) => {
                found.push(Stray { lsn: record.lsn, durable: record.durable });
                offset += record.stored_bytes;
            }
            None => offset += ALIGN_BYTES,
        }
    }
    found
}

/// Bytes up to and including the last one that is not zero.
fn used_bytes(data: &[u8]) -> u64 {
    data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
}
