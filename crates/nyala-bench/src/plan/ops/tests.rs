// SPDX-License-Identifier: Apache-2.0

//! Phases that build on each other.

use super::*;
use crate::plan::{data, meta};
use std::collections::HashSet;

fn names(phase: &Phase) -> Vec<Entry> {
    let all = (0..phase.tasks).flat_map(|task| (0..phase.count).map(move |index| (task, index)));
    all.map(|(task, index)| match phase.op(task, index) {
        Op::Name { entry, .. } => entry,
        other => panic!("{other:?} has no name"),
    })
    .collect()
}

#[test]
fn every_phase_meets_the_names_that_the_first_one_made() {
    let sizes = meta::Sizes { tasks: 3, files: 5, seed: 1 };
    for workload in [meta::easy(sizes), meta::hard(sizes), meta::small(sizes), meta::dirs(sizes)] {
        let made = names(&workload.phases[0]);
        let set: HashSet<_> = made.iter().cloned().collect();
        assert_eq!((made.len(), set.len()), (15, 15), "{}: no name twice", workload.name);
        assert!(made.iter().all(|entry| entry.dir < workload.dirs.len()));
        for phase in workload.phases[1..].iter().filter(|p| !matches!(p.step, Step::List | Step::ListPlus)) {
            assert_eq!(names(phase).into_iter().collect::<HashSet<_>>(), set, "{} {:?}", workload.name, phase.step);
        }
    }
}

#[test]
fn what_is_there_before_has_names_of_its_own() {
    let shared = meta::shared(meta::Sizes { tasks: 3, files: 5, seed: 1 }, 2);
    let before: HashSet<_> = names(&shared.phases[0]).into_iter().collect();
    let all: Vec<Vec<Entry>> = shared.phases[1..].iter().map(names).collect();
    assert_eq!((before.len(), all.len()), (6, 3));
    assert!(all.iter().flatten().all(|entry| !before.contains(entry) && entry.dir == 0));
    assert!(all.iter().all(|names| names.len() == 15));
}

#[test]
fn many_directories_are_filled_listed_and_removed_one_after_the_other() {
    let sizes = meta::Sizes { tasks: 3, files: 10, seed: 1 };
    let many = meta::many(sizes, 11);
    assert_eq!((many.dirs.len(), many.dirs.iter().collect::<HashSet<_>>().len()), (12, 12), "as many for each task");
    let made = names(&many.phases[0]);
    let mut filled = [0; 12];
    made.iter().for_each(|entry| filled[entry.dir] += 1);
    assert_eq!(filled, [3, 3, 3, 1, 3, 3, 3, 1, 3, 3, 3, 1]);
    for phase in &many.phases[1..] {
        match phase.step {
            Step::Stat | Step::Unlink => {
                assert_eq!(names(phase).into_iter().collect::<HashSet<_>>(), made.iter().cloned().collect());
            }
            _ => {
                let all = (0..phase.tasks).flat_map(|task| (0..phase.count).map(move |index| phase.op(task, index)));
                let dirs = all.map(|op| match op {
                    Op::Dir { dir, .. } | Op::RemoveDir { dir } => dir,
                    other => panic!("{other:?} is not on a directory"),
                });
                assert_eq!(dirs.collect::<Vec<_>>(), (0..12).collect::<Vec<_>>(), "{:?}: each once", phase.step);
            }
        }
    }
    let one = meta::many(sizes, 1);
    assert_eq!(one.dirs.len(), 1);
    let ends: Vec<_> = one.phases[2..].iter().map(|phase| (phase.step, phase.tasks as u64 * phase.count)).collect();
    assert_eq!(ends, [(Step::List, 1), (Step::ListPlus, 1), (Step::Unlink, 30), (Step::RemoveDir, 1)]);
}

#[test]
fn readers_expect_the_content_that_writers_wrote() {
    let small = meta::small(meta::Sizes { tasks: 4, files: 3, seed: 9 });
    let content = |phase: &Phase| -> HashSet<String> {
        let all = (0..phase.tasks).flat_map(|task| (0..phase.count).map(move |index| phase.op(task, index)));
        all.map(|op| match op {
            Op::Name { entry, bytes, key, .. } => format!("{entry:?} {bytes} {key}"),
            Op::Transfer { offset, bytes, key, .. } => format!("{offset} {bytes} {key}"),
            other => panic!("{other:?} has no content"),
        })
        .collect()
    };
    assert_eq!(content(&small.phases[0]), content(&small.phases[1]));
    let hard = data::hard(data::Sizes { tasks: 4, bytes: 1 << 20, transfer: 1 << 20, random: 1, seed: 2 });
    assert_eq!(content(&hard.phases[0]), content(&hard.phases[1]));
}

#[test]
fn hard_records_interleave_and_leave_no_hole() {
    let hard = data::hard(data::Sizes { tasks: 3, bytes: 47_008 * 4, transfer: 1, random: 1, seed: 2 });
    let write = &hard.phases[0];
    let mut offsets: Vec<u64> = (0..3)
        .flat_map(|task| (0..write.count).map(move |index| (task, index)))
        .map(|(task, index)| match write.op(task, index) {
            Op::Transfer { offset, .. } => offset,
            other => panic!("{other:?} is no transfer"),
        })
        .collect();
    offsets.sort_unstable();
    assert_eq!(offsets, (0..12).map(|record| record * 47_008).collect::<Vec<_>>());
    assert_eq!(write.op(1, 0), Op::Transfer { write: true, offset: 47_008, bytes: 47_008, key: write.file_key(1) });
}

#[test]
fn random_places_are_aligned_inside_and_repeatable() {
    let easy = data::random(data::Sizes { tasks: 2, bytes: 1 << 20, transfer: 1 << 20, random: 500, seed: 3 });
    let phase = easy.phases.iter().find(|phase| phase.step == Step::RandomRead).unwrap();
    let offsets: Vec<u64> = (0..phase.count)
        .map(|index| match phase.op(1, index) {
            Op::Transfer { offset, bytes: 4096, write: false, .. } => offset,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(offsets.iter().all(|offset| offset % 4096 == 0 && offset + 4096 <= 1 << 20));
    assert!(offsets.iter().collect::<HashSet<_>>().len() > 150, "spread over 256 blocks");
    assert_eq!(phase.op(1, 7), phase.op(1, 7));
    assert_ne!(phase.op(0, 7), phase.op(1, 7));
}

#[test]
fn a_phase_that_was_cut_short_shortens_the_next() {
    let easy = meta::easy(meta::Sizes { tasks: 2, files: 100, seed: 1 });
    let stat = &easy.phases[1];
    assert_eq!(stat.shift, 1);
    assert_eq!((stat.count_after(&[10, 20], 0), stat.count_after(&[10, 20], 1)), (20, 10));
    assert_eq!(stat.count_after(&[], 0), 100);
}
