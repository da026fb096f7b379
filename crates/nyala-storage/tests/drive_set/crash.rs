// SPDX-License-Identifier: Apache-2.0

//! Power cuts at every change of state of one of the drives while a chunk file is changed in parts of stripes; then the target is opened with all drives, or
//! without another one.

use crate::drives::{SET, SimDrive, ids};
use bytes::Bytes;
use nyala_drives::{Drive, DriveSet, SetFiles, create, set_disk};
use nyala_raid::event::ErrorLimit;
use nyala_raid::{Geometry, Level};
use nyala_storage::chunk_store::{ChunkStore, ChunkStoreOptions, ChunkWorker, WriteOp};
use nyala_storage::drive_set::{Load, SetChunks};
use nyala_store::testing::Machine;
use nyala_store::{Options, Store};
use nyala_wire::checksum::crc32c;
use nyala_wire::storage::{ChunkFileId, Stamp, block_pieces};
use nyala_wire::{InodeId, SessionId, SplitMix64};
use std::error::Error;
use std::sync::Arc;

const FILE: ChunkFileId = ChunkFileId { inode: InodeId(1 << 48 | 77), index: 3 };
const STRIP: usize = 8192;
const DRIVES: usize = 4;
const LONGEST: u32 = 80_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A target that is open.
struct Target {
    set: Arc<DriveSet>,
    worker: ChunkWorker,
}

fn open(drives: &[SimDrive], without: &[usize], boot: u32) -> Outcome<Target> {
    let there = drives.iter().enumerate().filter(|(at, _)| !without.contains(at));
    let there: Vec<Drive> = there.filter_map(|(_, drive)| drive.open()).collect();
    let set = Arc::new(DriveSet::open(there, false, ErrorLimit::default(), false)?);
    let files = SetFiles::open(set.clone(), false)?;
    let options = Options { manual: true, segment_bytes: 64 << 10, reserve_bytes: 0, ..Options::default() };
    let (kv, _) = Store::open_disks(set_disk(&files, "log/"), &*set_disk(&files, "table/"), options)?;
    let chunks = SetChunks::new(set.clone(), Arc::new(kv.clone()), Arc::new(Load::default()));
    let options = ChunkStoreOptions { label: "7".into(), boot_id: format!("boot {boot}"), limit_bytes: None };
    let worker = ChunkStore::open(Arc::new(kv), Arc::new(chunks), &options)?.worker(0, 1);
    Ok(Target { set, worker })
}

fn made(seed: u64) -> Vec<SimDrive> {
    let drives: Vec<SimDrive> = (0..DRIVES as u64).map(|at| SimDrive::new(seed * 100 + at)).collect();
    let opened: Vec<Drive> = drives.iter().filter_map(SimDrive::open).collect();
    create(&opened, Geometry::new(Level::Raid6, DRIVES, STRIP).unwrap(), SET, &ids(DRIVES)).unwrap();
    let set = Arc::new(DriveSet::open(opened, false, ErrorLimit::default(), false).unwrap());
    SetFiles::open(set, true).unwrap();
    drives
}

fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    (0..len).map(|_| random.bits() as u8).collect()
}

impl Target {
    fn write(&mut self, offset: u64, data: Vec<u8>) -> Outcome<()> {
        let mut at = 0;
        let piece = |len: usize| {
            at += len;
            crc32c(&data[at - len..at])
        };
        let crcs = block_pieces(offset, data.len() as u64).map(piece).collect();
        let (session, stamp) = (SessionId(1), Stamp::default());
        let data = Bytes::from(data);
        Ok(self.worker.write(WriteOp { session, file: FILE, offset, data, crcs, compared: false, stamp })?)
    }

    fn content(&mut self) -> Outcome<Vec<u8>> {
        let len = self.worker.stat(FILE)?.0 as usize;
        let mut content = self.worker.read(FILE, 0, LONGEST, true)?.data.to_vec();
        assert!(content.len() <= len, "nothing is read behind the end");
        content.resize(len, 0);
        Ok(content)
    }
}

/// Contents that the file had, one after the other, and which of them is on disk at least, and acknowledged.
#[derive(Default)]
struct History {
    states: Vec<Vec<u8>>,
    synced: usize,
    acknowledged: usize,
}

impl History {
    fn now(&self) -> Vec<u8> {
        self.states.last().cloned().unwrap_or_default()
    }

    fn note_write(&mut self, offset: usize, data: &[u8]) {
        let mut next = self.now();
        next.resize(next.len().max(offset + data.len()), 0);
        next[offset..offset + data.len()].copy_from_slice(data);
        self.states.push(next);
    }

    /// Each byte is what it was at the last sync (or, if only the process died, when something was acknowledged last), or became since; zeros
    /// where the file became longer.
    fn check(&self, found: &[u8], power: bool, context: &str) {
        let allowed = &self.states[if power { self.synced } else { self.acknowledged }..];
        let (least, most) = (allowed.iter().map(Vec::len).min(), allowed.iter().map(Vec::len).max());
        assert!(Some(found.len()) >= least && Some(found.len()) <= most, "{context}: length {}", found.len());
        for (at, byte) in found.iter().enumerate() {
            let right = allowed.iter().any(|state| state.get(at).copied().unwrap_or(0) == *byte);
            assert!(right, "{context}: byte {at} is {byte}");
        }
    }
}

/// What is there before power is lost.
fn before(target: &mut Target, history: &mut History) -> Outcome<()> {
    let data = bytes(1, 3 * STRIP + 5000);
    target.write(0, data.clone())?;
    target.worker.sync(FILE)?;
    history.note_write(0, &data);
    history.synced = history.states.len() - 1;
    history.acknowledged = history.synced;
    Ok(())
}

/// Parts of stripes are overwritten, the file grows, is cut, and grows again.
fn work(target: &mut Target, history: &mut History) -> Outcome<()> {
    for (seed, offset, len) in [(2, 100, 4096), (3, STRIP + 7000, 3000), (4, 3 * STRIP + 5000, 9000)] {
        let data = bytes(seed, len);
        // Before it is tried: what failed may be there in part.
        history.note_write(offset, &data);
        target.write(offset as u64, data)?;
        history.acknowledged = history.states.len() - 1;
    }
    target.worker.sync(FILE)?;
    history.synced = history.states.len() - 1;
    let cut = history.now()[..STRIP + 100].to_vec();
    history.states.push(cut);
    target.worker.truncate(FILE, (STRIP + 100) as u64)?;
    history.acknowledged = history.states.len() - 1;
    let data = bytes(5, 300);
    history.note_write(STRIP + 1000, &data);
    target.write((STRIP + 1000) as u64, data)?;
    history.acknowledged = history.states.len() - 1;
    target.worker.sync(FILE)?;
    history.synced = history.states.len() - 1;
    Ok(())
}

fn points(drive: &SimDrive) -> (u64, u64) {
    (drive.files.points(), drive.table.points())
}

/// The target opens, has what it may have, goes on, and its set is whole after a rebuild.
fn check_after(drives: &[SimDrive], without: &[usize], history: &History, power: bool, context: &str) {
    let boot = if power { 2 } else { 1 };
    let mut target = open(drives, without, boot).unwrap_or_else(|error| panic!("{context}: {error}"));
    let content = target.content().unwrap_or_else(|error| panic!("{context}: {error}"));
    history.check(&content, power, context);
    let mut right = content;
    // Over the end, where a cut may have left something.
    let (offset, data) = (right.len() + 50, bytes(9, 200));
    right.resize(offset, 0);
    right.extend(&data);
    target.write(offset as u64, data).unwrap_or_else(|error| panic!("{context}: {error}"));
    target.worker.sync(FILE).unwrap_or_else(|error| panic!("{context}: {error}"));
    while !target.set.rebuild_some(8).unwrap().done {}
    target.set.begin_scrub(1);
    while !target.set.scrub_some(8, 2).unwrap().done {}
    assert_eq!((target.set.scrub().healed, target.set.scrub().lost), (0, 0), "{context}");
    assert_eq!(target.content().unwrap(), right, "{context}");
}

fn crashes(victim: usize, power: bool) {
    let drives = made(1);
    let mut target = open(&drives, &[], 1).unwrap();
    let mut history = History::default();
    before(&mut target, &mut history).unwrap();
    let began = points(&drives[victim]);
    work(&mut target, &mut history).unwrap();
    let ended = points(&drives[victim]);
    assert_eq!(target.content().unwrap(), history.now());
    drop(target);
    assert!(drives[victim].points() > began.0 + began.1 + 10, "there is something to interrupt");
    let of_files = (began.0..ended.0).map(|point| (true, point));
    let of_table = (began.1..ended.1).map(|point| (false, point));
    for (at, (files, point)) in of_files.chain(of_table).enumerate() {
        let context = format!("member {victim}, files {files}, point {point}");
        let drives = made(1);
        let mut target = open(&drives, &[], 1).unwrap();
        let mut history = History::default();
        before(&mut target, &mut history).unwrap();
        let machine = if files { &drives[victim].files } else { &drives[victim].table };
        machine.crash_at(point);
        // The set goes on without the drive, to the end: it cannot know that all of the host is to go.
        let _ = work(&mut target, &mut history);
        assert!(drives[victim].is_down(), "{context}");
        drop(target);
        for drive in &drives {
            match power {
                true => drive.power_cut(),
                false => [&drive.files, &drive.table].into_iter().for_each(Machine::process_crash),
            }
        }
        let without = if at % 3 == 0 { vec![(victim + 1) % DRIVES] } else { vec![] };
        check_after(&drives, &without, &history, power, &context);
    }
}

#[test]
fn power_cuts_at_every_point_of_the_first_drive() {
    crashes(0, true);
}

#[test]
fn power_cuts_at_every_point_of_the_last_drive() {
    crashes(DRIVES - 1, true);
}

#[test]
fn the_process_dies_at_every_point_of_a_drive() {
    crashes(1, false);
}
