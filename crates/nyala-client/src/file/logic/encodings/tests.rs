// SPDX-License-Identifier: Apache-2.0

//! When files are due, how often they are tried, and that what is kept is bounded.

use super::*;
use nyala_wire::{ErasureCode, Pattern, TargetId};

const DELAY: Duration = Duration::from_secs(10);
const FILE: InodeId = InodeId(7);

fn layout(moves: u32) -> Layout {
    let code = Some(ErasureCode { data: 2, parity: 1 });
    Layout { pattern: Pattern::Mirror, chunk_bytes: 65_536, targets: vec![TargetId(1)], moves, code }
}

#[test]
fn a_file_is_due_once_some_time_after_its_last_close() {
    let mut all = Encodings::default();
    all.closed(FILE, &layout(0), DELAY, 1_000);
    all.closed(FILE, &layout(0), DELAY, 3_000);
    assert!(all.take_due(12_999).is_none());
    let taken = all.take_due(13_000).unwrap();
    assert!(taken.inode == FILE && taken.work() == Work::Encode && all.take_due(u64::MAX).is_none());
    all.ended(taken, Some(Obstacle::InUse), 13_000);
    assert!(all.take_due(32_999).is_none());
    let taken = all.take_due(33_000).unwrap();
    all.ended(taken, None, 33_000);
    all.closed(InodeId(8), &Layout { code: None, ..layout(0) }, DELAY, 0);
    all.closed(InodeId(9), &Layout { pattern: Pattern::Ec, ..layout(0) }, DELAY, 0);
    assert!(all.take_due(u64::MAX).is_none(), "nothing is to be done for these");
}

#[test]
fn what_is_written_to_often_waits_longer() {
    let mut all = Encodings::default();
    all.closed(FILE, &layout(6), DELAY, 0);
    assert!(all.take_due(79_999).is_none());
    let taken = all.take_due(80_000).unwrap();
    all.ended(taken, None, 0);
    all.closed(FILE, &layout(1_000_000), DELAY, 0);
    assert!(all.take_due(10_000 << MAX_DOUBLINGS).is_some());
}

/// How often a file is tried that always meets this, and when last.
fn tries(all: &mut Encodings, obstacle: Obstacle) -> (u32, u64) {
    let (mut tries, mut now_ms) = (0, 0);
    while !all.files.is_empty() {
        now_ms = all.files[&FILE].at_ms;
        let taken = all.take_due(now_ms).unwrap();
        tries += 1;
        all.ended(taken, Some(obstacle), now_ms);
    }
    (tries, now_ms)
}

#[test]
fn what_others_use_is_given_up_soon_and_what_has_no_room_after_some_hours() {
    let mut all = Encodings::default();
    all.closed(FILE, &layout(0), DELAY, 0);
    assert_eq!(tries(&mut all, Obstacle::InUse), (1 + TRIES_IN_USE, 310_000));
    all.closed(FILE, &layout(0), DELAY, 0);
    let (count, last_ms) = tries(&mut all, Obstacle::NoSpace);
    assert!(count == 1 + TRIES_ALONE && (8..24).contains(&(last_ms / 3_600_000)), "{count} tries, {last_ms} ms");
    all.closed(FILE, &layout(0), DELAY, 0);
    assert_eq!(tries(&mut all, Obstacle::Refused).0, 1);
    all.closed(FILE, &layout(0), DELAY, 0);
    assert!(all.take_due(10_000).is_some(), "a close begins anew");
}

#[test]
fn a_file_that_lost_parts_is_made_whole_once() {
    let mut all = Encodings::default();
    assert!(all.damaged(FILE, 3, DELAY, 0) && !all.damaged(FILE, 3, DELAY, 5_000));
    assert!(all.take_due(9_999).is_none());
    let taken = all.take_due(10_000).unwrap();
    assert_eq!(taken.work(), Work::Repair { moves: 3 });
    assert!(!all.damaged(FILE, 3, DELAY, 0), "who makes it whole reads it");
    all.ended(taken, Some(Obstacle::InUse), 0);
    assert_eq!(tries(&mut all, Obstacle::InUse).0, TRIES_ALONE, "nobody else does it when they close it");
    assert!(all.damaged(FILE, 3, DELAY, 0), "found again");
    assert_eq!(tries(&mut all, Obstacle::Refused).0, 1);
    assert!(!all.damaged(FILE, 3, DELAY, 0) && all.damaged(FILE, 4, DELAY, 0), "its data was moved since");
    // Somebody opened it for writing: it is mirrored, and to be encoded.
    all.closed(FILE, &layout(5), DELAY, 0);
    assert_eq!(all.take_due(u64::MAX).unwrap().work(), Work::Encode);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut all = Encodings::default();
    for n in 0..MAX_FILES as u64 {
        assert!(all.damaged(InodeId(n), 1, DELAY, 0));
    }
    let more = InodeId(MAX_FILES as u64);
    assert!(!all.damaged(more, 1, DELAY, 0));
    all.closed(more, &layout(0), DELAY, 0);
    assert_eq!(all.files.len(), MAX_FILES);
    for n in 0..=MAX_REFUSED as u64 {
        all.refuse(InodeId(n), Work::Repair { moves: 1 });
    }
    assert!(all.refused.len() <= MAX_REFUSED);
}
