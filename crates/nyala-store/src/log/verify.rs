// SPDX-License-Identifier: Apache-2.0

//! Comparing the log with its checksums while it is in use.
//!
//! # Failure model
//! What is behind the last checkpoint is in memory and would be read again only after a crash: damage there would be found when it is too late to
//! do something. What is before the checkpoint is not needed any more, and damage to it is no matter. A segment may go away while it is
//! looked for: a checkpoint has made it superfluous. Where the damage is in the page cache only, or on the disk only, it may not be
//! seen: what is read is what a restart of the process would read.

use std::io;

use super::Log;
use super::disk::LogDisk;
use super::format::{self, ALIGN_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::segment;
use crate::StoreError;

/// Damaged places behind the record that `checkpoint` says, which is asked when all is read.
pub(crate) fn damage(log: &Log, checkpoint: impl FnOnce() -> u64) -> Vec<StoreError> {
    let (segments, last_lsn) = {
        let tail = log.lock_tail();
        let active = tail.active.as_ref().map(|active| (active.sequence, active.end - tail.buffer.len() as u64));
        let closed = tail.closed.iter().map(|segment| (segment.sequence, segment.end));
        (closed.chain(active).collect::<Vec<_>>(), log.progress.written())
    };
    let mut walk = LogWalk::default();
    for (sequence, end) in segments {
        match read(&*log.disk, sequence, end) {
            Ok(data) => walk.segment(sequence, &data),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => walk.lost(sequence, 0, error.to_string()),
        }
    }
    walk.end(last_lsn, checkpoint())
}

/// Writes the header of the segment that is written to once more.
pub(crate) fn write_header_again(log: &Log) -> io::Result<()> {
    let tail = log.lock_tail();
    let Some(active) = &tail.active else { return Ok(()) };
    let header =
        SegmentHeader { store_id: log.store_id, sequence: active.sequence, salt: active.salt, bytes: active.bytes };
    active.file.write_at(0, &header.encode())?;
    active.file.sync()
}

fn read(disk: &dyn LogDisk, sequence: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut data = vec![0; end as usize];
    disk.open(&segment::name(sequence))?.read_at(0, &mut data)?;
    Ok(data)
}

/// A way through the log: damaged places, each with the last record that may be damaged with it. Pure.
#[derive(Default)]
struct LogWalk {
    /// The place under way: nothing valid was found behind it yet.
    open: Option<StoreError>,
    found: Vec<(StoreError, u64)>,
}

impl LogWalk {
    fn lost(&mut self, sequence: u64, offset: usize, reason: String) {
        let file = segment::name(sequence);
        self.open.get_or_insert(StoreError::LogDamaged { file, offset: offset as u64, reason });
    }

    /// Opening a store looks at the headers of all segments that are there.
    fn headless(&mut self, sequence: u64, reason: String) {
        self.found.push((StoreError::LogDamaged { file: segment::name(sequence), offset: 0, reason }, u64::MAX));
    }

    /// The written part of a segment.
    fn segment(&mut self, sequence: u64, data: &[u8]) {
        let salt = match SegmentHeader::decode(data) {
            Ok(header) if header.sequence == sequence => header.salt,
            Ok(header) => {
                return self.headless(sequence, format!("the header is that of segment {:016x}", header.sequence));
            }
            Err(reason) => return self.headless(sequence, reason),
        };
        let mut offset = SEGMENT_HEADER_BYTES as usize;
        while offset < data.len() {
            match format::decode_record(&data[offset..], salt) {
                Some(record) => {
                    self.found.extend(self.open.take().map(|place| (place, record.lsn - 1)));
                    offset += record.stored_bytes;
                }
                None => {
                    self.lost(sequence, offset, "a record does not match its checksum".into());
                    offset += ALIGN_BYTES;
                }
            }
        }
    }

    /// What matters where everything up to `checkpoint` is in the table.
    fn end(mut self, last_lsn: u64, checkpoint: u64) -> Vec<StoreError> {
        self.found.extend(self.open.take().map(|place| (place, last_lsn)));
        self.found.into_iter().filter(|(_, last)| *last > checkpoint).map(|(place, _)| place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::format::{Kind, encode_record};

    /// A segment with records of these numbers, and where each begins.
    fn segment(sequence: u64, lsns: std::ops::Range<u64>) -> (Vec<u8>, Vec<usize>) {
        let mut data = SegmentHeader { store_id: 1, sequence, salt: 7, bytes: 1 << 20 }.encode();
        let begin = |lsn: u64| {
            let at = data.len();
            encode_record(&mut data, 7, lsn, 0, Kind::Batch, b"some payload of a record");
            at
        };
        let begins = lsns.map(begin).collect();
        (data, begins)
    }

    fn damaged(segments: &[&[u8]], checkpoint: u64) -> Vec<(String, u64)> {
        let mut walk = LogWalk::default();
        segments.iter().zip(1..).for_each(|(data, sequence)| walk.segment(sequence, data));
        let place = |error| match error {
            StoreError::LogDamaged { file, offset, .. } => (file, offset),
            other => panic!("{other}"),
        };
        walk.end(19, checkpoint).into_iter().map(place).collect()
    }

    #[test]
    fn every_flip_behind_the_checkpoint_is_a_place_and_none_before_it() {
        let ((one, at_one), (two, at_two)) = (segment(1, 1..10), segment(2, 10..20));
        assert_eq!(damaged(&[&one, &two], 0), []);
        for (lsn, at) in (1..10).zip(&at_one) {
            for offset in [0, 9, 20, 40] {
                let mut bad = one.clone();
                bad[at + offset] ^= 4;
                let found = damaged(&[&bad, &two], lsn - 1);
                assert_eq!(found, [(segment::name(1), *at as u64)], "record {lsn}, byte {offset}");
                assert_eq!(damaged(&[&bad, &two], lsn), [], "record {lsn} is in the table");
            }
        }
        let mut bad = two.clone();
        let last = at_two[9];
        bad[last + 30] ^= 4;
        assert_eq!(damaged(&[&one, &bad], 18), [(segment::name(2), last as u64)], "nothing is behind it");
        assert_eq!(damaged(&[&one, &bad], 19), []);
    }

    #[test]
    fn a_damaged_header_is_a_place_as_long_as_its_segment_is_there() {
        let ((mut one, _), (two, _)) = (segment(1, 1..10), segment(2, 10..20));
        one[20] ^= 1;
        assert_eq!(damaged(&[&one, &two], 8), [(segment::name(1), 0)]);
        assert_eq!(damaged(&[&one, &two], 19), [(segment::name(1), 0)]);
        assert_eq!(damaged(&[], 19), []);
    }
}
