// SPDX-License-Identifier: Apache-2.0

//! Moves of one file between targets and a mirror group.

use super::*;

const FILE: InodeId = InodeId(7);

fn layout(pattern: Pattern, target: u16, moves: u32) -> Layout {
    Layout { pattern, chunk_bytes: 4096, targets: vec![TargetId(target)], moves, code: None }
}

fn at(target: u16, names: &[u16]) -> ChunkFiles {
    let names = names.iter().map(|index| name(FILE, *index)).collect();
    ChunkFiles { target: TargetId(target), is_mirror: target < 3, names }
}

fn moved() -> DataMoves {
    let mut moves = DataMoves::default();
    moves.begin(FILE, &layout(Pattern::Raid0, 3, 0));
    assert_eq!(moves.done(FILE, layout(Pattern::Mirror, 1, 1)), None);
    moves
}

#[test]
fn what_was_told_to_be_moved_stays_moved() {
    let mut moves = moved();
    assert_eq!(moves.ends(FILE, Some(layout(Pattern::Mirror, 1, 1))), None);
    assert_eq!(moves.ends(FILE, Some(layout(Pattern::Raid0, 3, 2))), None, "moved once more");
    assert!(moves.ends(FILE, Some(layout(Pattern::Raid0, 3, 0))).is_some(), "taken back");
    assert!(moves.ends(FILE, Some(layout(Pattern::Raid0, 3, 1))).is_some(), "elsewhere");
    assert_eq!(moves.ends(FILE, None), None, "removed");
    moves.begin(FILE, &layout(Pattern::Mirror, 1, 1));
    assert!(moves.done(FILE, layout(Pattern::Raid0, 3, 1)).is_some(), "two moves were the first");
}

#[test]
fn nothing_is_left_where_it_was() {
    let mut moves = moved();
    moves.ends(FILE, Some(layout(Pattern::Mirror, 1, 1)));
    assert_eq!(moves.judge(&[at(1, &[1024]), at(2, &[1024]), at(3, &[])]), None);
    assert!(moves.judge(&[at(3, &[0])]).is_some(), "the data of before");
    assert!(moves.judge(&[at(3, &[1024])]).is_some(), "nobody put it there");
    assert_eq!(
        ["7.1024", "7.0", "8.0"].map(|name| {
            let name = name.replacen('7', &FILE.to_string(), 1);
            moves.is_mirrored(&name)
        }),
        [Some(true), Some(false), None]
    );
    // A move that failed may leave a copy, but not what another one was to remove.
    moves.begin(FILE, &layout(Pattern::Mirror, 1, 1));
    assert_eq!(moves.judge(&[at(3, &[2048])]), None);
    assert!(moves.judge(&[at(3, &[0])]).is_some());
    moves.refused(FILE);
    assert!(moves.judge(&[at(3, &[2048])]).is_some());
    moves.ends(FILE, None);
    assert!(moves.judge(&[at(2, &[1024])]).is_some(), "it is removed");
}
