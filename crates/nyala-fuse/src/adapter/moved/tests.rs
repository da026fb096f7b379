// SPDX-License-Identifier: Apache-2.0

//! Moves by others, moves by this mount, and bounds.

use super::kernel_dirs::{AGAIN, MAX_DIRS};
use super::*;
use crate::adapter::convert::inode;

const DIR: InodeId = InodeId(7);
const OTHER: InodeId = InodeId(8);
const PLAIN: Ino = Ino(7);
const SECOND: Ino = Ino(7 | 1 << SHIFT);

fn at(parent: u64) -> (Ino, &'static [u8]) {
    (Ino(parent), b"name")
}

fn entry(parent: u64) -> At {
    At::new(Ino(parent), b"name")
}

fn nodes(moved: &Moved) -> Vec<Ino> {
    moved.nodes(DIR).collect()
}

fn parts(moved: &Moved, dir: InodeId, parent: u64, now: Instant) -> bool {
    moved.found(dir, at(parent), 50, now).parted
}

#[test]
fn a_second_look_that_finds_it_moved_gets_another_node() {
    let (moved, now) = (Moved::default(), Instant::now());
    let here = |ino| Node { ino, parted: false, from: None };
    assert_eq!(nodes(&moved), [PLAIN], "what is not known has one");
    assert_eq!(moved.found(DIR, at(1), 50, now), here(PLAIN));
    assert_eq!(moved.found(DIR, at(1), 50, now), here(PLAIN), "not moved");
    assert_eq!(moved.found(DIR, at(2), 50, now), here(PLAIN), "the kernel may be able to move it");
    assert_eq!(moved.found(DIR, at(2), 51, now), here(PLAIN), "somebody else");
    assert!(!moved.has_several(DIR));
    assert_eq!(moved.found(DIR, at(2), 50, now), Node { ino: SECOND, parted: true, from: Some(entry(1)) });
    assert!(moved.has_several(DIR) && !moved.has_several(OTHER));
    assert_eq!(nodes(&moved), [PLAIN, SECOND]);
    assert_eq!(moved.found(DIR, at(2), 50, now), here(SECOND), "once");
    assert_eq!((moved.listed(DIR, at(3)), inode(SECOND)), (SECOND, DIR));
    // The first one goes: the kernel may keep things again.
    moved.forgotten(PLAIN, 3);
    assert!(moved.has_several(DIR), "it was told of it four times");
    moved.forgotten(PLAIN, 1);
    assert!(!moved.has_several(DIR));
    assert_eq!(nodes(&moved), [SECOND]);
    moved.forgotten(SECOND, 2);
    assert!(moved.has_known());
    moved.forgotten(SECOND, 1);
    assert!(!moved.has_known());
    assert_eq!(moved.found(DIR, at(2), 50, now), here(PLAIN));
}

#[test]
fn what_this_mount_renames_is_no_news_and_old_news_are_none() {
    let (moved, now) = (Moved::default(), Instant::now());
    parts(&moved, DIR, 1, now);
    parts(&moved, OTHER, 2, now);
    moved.renamed(entry(1), entry(2), true);
    for _ in 0..3 {
        assert!(!parts(&moved, DIR, 2, now) && !parts(&moved, OTHER, 1, now));
    }
    moved.renamed(entry(2), entry(3), false);
    assert!(!parts(&moved, DIR, 3, now) && !parts(&moved, DIR, 3, now));
    parts(&moved, DIR, 4, now);
    assert!(!parts(&moved, DIR, 4, now + AGAIN), "so late it is another question");
}

#[test]
fn where_a_listing_showed_it_the_kernel_may_have_it() {
    let (moved, now) = (Moved::default(), Instant::now());
    assert_eq!((moved.listed(DIR, at(1)), moved.listed(DIR, at(1))), (PLAIN, PLAIN));
    assert!(!parts(&moved, DIR, 1, now) && !parts(&moved, DIR, 1, now));
    moved.listed(DIR, at(2));
    assert!(!parts(&moved, DIR, 1, now));
    assert_eq!(moved.found(DIR, at(1), 50, now), Node { ino: SECOND, parted: true, from: None });
}

#[test]
fn nodes_come_round_and_places_are_bounded() {
    let (moved, now) = (Moved::default(), Instant::now());
    for n in 0..9 {
        parts(&moved, DIR, n, now);
        assert_eq!(parts(&moved, DIR, n, now), n > 0);
    }
    assert_eq!(nodes(&moved).len(), 4);
    for n in 0..2 * MAX_DIRS as u64 {
        parts(&moved, InodeId(100 + n), 100 + n, now);
    }
    assert!(moved.has_several(DIR), "withdrawals reach all its nodes");
    assert!(moved.dirs.lock().of.len() <= MAX_DIRS && moved.dirs.lock().at.len() <= MAX_DIRS);
    nodes(&moved).into_iter().for_each(|node| moved.forgotten(node, u64::MAX));
    assert!(!moved.has_several(DIR));
}

#[test]
fn what_is_found_by_number_is_at_no_place_until_a_name_leads_to_it() {
    let (moved, now) = (Moved::default(), Instant::now());
    assert_eq!(moved.numbered(DIR, Some(1)), SECOND, "the node that was asked for");
    assert_eq!(nodes(&moved), [SECOND]);
    assert_eq!(moved.listed(DIR, at(1)), SECOND);
    for _ in 0..3 {
        let here = Node { ino: SECOND, parted: false, from: None };
        assert_eq!(moved.found(DIR, at(1), 50, now), here, "the kernel puts it there, as often as it likes");
    }
    assert_eq!(moved.numbered(DIR, None), SECOND);
    assert!(!moved.has_several(DIR));
    assert_eq!(moved.numbered(DIR, Some(0)), PLAIN);
    assert!(moved.has_several(DIR), "handles of two nodes");
    moved.forgotten(PLAIN, 1);
    moved.forgotten(SECOND, 6);
    assert!(!moved.has_known());
    assert_eq!(moved.numbered(OTHER, None), Ino(8));
}
