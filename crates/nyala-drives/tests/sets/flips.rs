// SPDX-License-Identifier: Apache-2.0

//! Many flipped bytes in data and parity while programs work: each is found, healed and counted once.
//!
//! `NYALA_FLIPS=10000` makes it the long form; CI flips fewer.

use crate::common::{SET, ids};
use crate::directories::{content, files};
use nyala_drives::{Drive, DriveSet, create};
use nyala_raid::event::ErrorLimit;
use nyala_raid::{Geometry, Level, ObjectId};
use nyala_wire::SplitMix64;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const DRIVES: usize = 8;
const DATA: usize = DRIVES - 2;
/// One block, so that each flip is damage of its own.
const STRIP: usize = 4096;
/// Stripes of an object.
const STRIPES: u64 = 64;
const OBJECT_BYTES: usize = STRIPES as usize * DATA * STRIP;
/// Objects that nothing is flipped in, one for each thread of the load.
const LOADED: u128 = 1 << 64;
const NO_LIMIT: ErrorLimit = ErrorLimit { errors: u32::MAX, within_ms: 1000 };

/// Flips a byte in `count` strips, in two of each stripe, which is what the set can bear. Gives how many by member.
fn flip(drives: &[PathBuf], count: u64, random: &mut SplitMix64) -> Vec<u64> {
    let of_drive = |drive: &PathBuf| {
        let open = |path: PathBuf| std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        files(drive).into_iter().map(|path| (name(&path), open(path))).collect::<BTreeMap<_, _>>()
    };
    let drives: Vec<_> = drives.iter().map(of_drive).collect();
    let mut flipped = vec![0; DRIVES];
    let stripes = drives[0].keys().flat_map(|object| (0..STRIPES).map(move |stripe| (object, stripe)));
    for (object, stripe) in stripes.take(count as usize / 2) {
        let first = random.below(DRIVES as u64) as usize;
        let second = (first + 1 + random.below(DRIVES as u64 - 1) as usize) % DRIVES;
        for member in [first, second] {
            let (file, at) = (&drives[member][object], stripe * STRIP as u64 + random.below(STRIP as u64));
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ (1 << random.below(8))], at).unwrap();
            flipped[member] += 1;
        }
    }
    flipped
}

/// Writes at random places of an object of its own, and reads it back, until `stop`; counts what it did.
fn load(set: &DriveSet, thread: u64, stop: &AtomicBool, rounds: &AtomicU64) {
    let (object, mut right) = (ObjectId(LOADED + u128::from(thread)), vec![0; 20 * STRIP]);
    let mut random = SplitMix64::new(thread);
    for round in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let offset = random.below(right.len() as u64 - 1) as usize;
        let bytes = content(round, 1 + random.below((right.len() - offset) as u64) as usize);
        set.write(object, offset as u64, &bytes).unwrap();
        right[offset..offset + bytes.len()].copy_from_slice(&bytes);
        if round % 64 == 0 {
            set.sync().unwrap();
        }
        assert!(set.read(object, 0..right.len() as u64).unwrap() == right, "thread {thread}, round {round}");
        rounds.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn each_of_many_flipped_bytes_is_found_and_healed_while_programs_work() {
    let count: u64 = std::env::var("NYALA_FLIPS").map_or(1500, |count| count.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let drives: Vec<PathBuf> = (0..DRIVES).map(|at| dir.path().join(format!("drive{at}"))).collect();
    let opened: Vec<Drive> = drives.iter().map(|path| Drive::open(path, true).unwrap()).collect();
    create(&opened, Geometry::new(Level::Raid6, DRIVES, STRIP).unwrap(), SET, &ids(DRIVES)).unwrap();
    drop(opened);
    let open = |without: &[usize]| {
        let there = drives.iter().enumerate().filter(|(at, _)| !without.contains(at));
        DriveSet::open(there.map(|(_, path)| Drive::open(path, false).unwrap()).collect(), false, NO_LIMIT, true)
    };
    let set = open(&[]).unwrap();
    let objects = (count / 2).div_ceil(STRIPES);
    (0..objects).for_each(|at| set.write(ObjectId(at.into()), 0, &content(at, OBJECT_BYTES)).unwrap());
    set.sync().unwrap();
    let flipped = flip(&drives, count, &mut SplitMix64::new(11));
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        (0..2).for_each(|thread| {
            _ = scope.spawn({
                let (set, stop, rounds) = (&set, &stop, &rounds);
                move || load(set, thread, stop, rounds)
            })
        });
        set.begin_scrub(1);
        while !set.scrub_some(16, 2).unwrap().done {}
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!((set.scrub().healed, set.scrub().lost), (count / 2 * 2, 0));
    let counted: Vec<u64> = set.members().iter().map(|member| member.errors).collect();
    assert_eq!(counted, flipped, "by drive");
    assert!(rounds.load(Ordering::Relaxed) > 10, "the load went on: {rounds:?}");
    drop(set);
    // All of it is right, whichever two drives are lost.
    let set = open(&[1, 6]).unwrap();
    (0..objects).for_each(|at| {
        assert!(set.read(ObjectId(at.into()), 0..OBJECT_BYTES as u64).unwrap() == content(at, OBJECT_BYTES), "{at}");
    });
}
