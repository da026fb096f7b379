// SPDX-License-Identifier: Apache-2.0

//! Segment files: names, making one so that it is either whole or absent.
//!
//! # Failure model
//! A crash while a segment is made leaves a `.tmp` file (removed at the next open) or a whole, synced segment under its
//! final name, never a segment without a valid header. Lack of space shows here and nowhere else in the log.

use std::sync::Arc;

use super::disk::{LogDisk, LogFile};
use super::format::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::StoreError;
use crate::error::is_out_of_space;

const TEMPORARY_NAME: &str = "new.tmp";
/// A segment on a full disk has at least this, if its first record does not need more.
pub(crate) const SMALL_BYTES: u64 = 256 << 10;
/// A segment takes at most this part of what is free, so that the log does not fill a small disk with what is empty.
const PART_OF_FREE: u64 = 8;

/// A segment that is being written, or waits to be.
pub(crate) struct Segment {
    pub sequence: u64,
    pub file: Arc<dyn LogFile>,
    pub salt: u32,
    /// Allocated size.
    pub bytes: u64,
    /// Where the next record goes; what is between the written part and here is in the log's buffer.
    pub end: u64,
}

/// A segment that gets no more records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClosedSegment {
    pub sequence: u64,
    /// Where its last record ends.
    pub end: u64,
}

pub(crate) fn name(sequence: u64) -> String {
    format!("{sequence:016x}.seg")
}

/// The sequence number in a segment's file name.
pub(crate) fn parse_name(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    let sequence = u64::from_str_radix(digits, 16).ok()?;
    (self::name(sequence) == name).then_some(sequence)
}

pub(crate) fn is_temporary(name: &str) -> bool {
    name == TEMPORARY_NAME
}

/// Makes a segment of `bytes`, durable with its header and name when this returns.
/// Errors: [`StoreError::Full`], after which nothing has changed, or [`StoreError::Poisoned`].
pub(crate) fn make(disk: &dyn LogDisk, store_id: u128, sequence: u64, bytes: u64) -> Result<Segment, StoreError> {
    let poisoned = |error| StoreError::poisoned("making of a log segment", error);
    let salt = disk.entropy().map_err(poisoned)? as u32;
    let made = disk.create(TEMPORARY_NAME, bytes).and_then(|file| {
        file.write_at(0, &SegmentHeader { store_id, sequence, salt, bytes }.encode())?;
        file.sync()?;
        disk.rename(TEMPORARY_NAME, &name(sequence))?;
        Ok(file)
    });
    let file = made.map_err(|error| {
        if is_out_of_space(&error) {
            // A partial file would hold the very space that is missing. If removing fails, the next making reuses it.
            let _ = disk.remove(TEMPORARY_NAME);
            StoreError::Full { bytes, location: disk.location() }
        } else {
            poisoned(error)
        }
    })?;
    disk.sync_dir().map_err(poisoned)?;
    Ok(Segment { sequence, file, salt, bytes, end: SEGMENT_HEADER_BYTES })
}

/// Makes a segment of `wanted` bytes, or of what there is room for, and at least of `needed`. Errors: as [`make`]'s.
pub(crate) fn make_fitting(
    disk: &dyn LogDisk,
    store_id: u128,
    sequence: u64,
    wanted: u64,
    needed: u64,
) -> Result<Segment, StoreError> {
    let least = needed.max(SMALL_BYTES.min(wanted));
    // Where nobody knows what is free, making it will tell.
    let part = disk.free_space().map_or(u64::MAX, |free| free.bytes / PART_OF_FREE);
    let mut bytes = wanted.min(part).max(least);
    loop {
        match make(disk, store_id, sequence, bytes) {
            Err(StoreError::Full { .. }) if bytes > least => bytes = (bytes / 4).max(least),
            made => return made,
        }
    }
}

/// Makes a segment of a file that has its space already, durable with its header and name when this returns.
/// Errors: [`StoreError::Poisoned`].
pub(crate) fn make_of(
    disk: &dyn LogDisk,
    store_id: u128,
    sequence: u64,
    allocated: &str,
) -> Result<Segment, StoreError> {
    let made = || {
        let salt = disk.entropy()? as u32;
        disk.rename(allocated, TEMPORARY_NAME)?;
        let file = disk.open(TEMPORARY_NAME)?;
        let bytes = file.bytes()?;
        file.write_at(0, &SegmentHeader { store_id, sequence, salt, bytes }.encode())?;
        file.sync()?;
        disk.rename(TEMPORARY_NAME, &name(sequence))?;
        disk.sync_dir()?;
        Ok(Segment { sequence, file, salt, bytes, end: SEGMENT_HEADER_BYTES })
    };
    made().map_err(|error| StoreError::poisoned("making of a log segment", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_strangers_are_not_segments() {
        assert_eq!(parse_name(&name(0xab12)), Some(0xab12));
        for stranger in ["x.seg", "1.seg", "+00000000000000a.seg", "000000000000000A.seg", "new.tmp", ".seg"] {
            assert_eq!(parse_name(stranger), None, "{stranger}");
        }
    }
}
