// SPDX-License-Identifier: Apache-2.0

//! Histories that are fine, and that are not.

use super::*;

/// Client, operation, beginning, end, what was told.
fn judged(entries: &[(u32, Op, Nanos, Nanos, Outcome)]) -> Verdict {
    let mut history = History::default();
    for (client, op, begun, ended, told) in entries {
        let number = history.begin(*client, *op, *begun);
        history.end(number, *ended, *told);
    }
    history.judge()
}

fn is_wrong(entries: &[(u32, Op, Nanos, Nanos, Outcome)]) -> bool {
    matches!(judged(entries), Verdict::Wrong(_))
}

const RENAME: Op = Op::Rename { from: 0, to: 1, no_replace: false };

#[test]
fn one_of_two_makes_a_name() {
    let made = (1, Op::Create(0), 1, 5, Outcome::Done(7));
    assert_eq!(judged(&[made, (2, Op::Create(0), 2, 4, Outcome::Exists)]), Verdict::Fine);
    assert!(is_wrong(&[made, (2, Op::Create(0), 2, 4, Outcome::Done(8))]));
    assert!(is_wrong(&[(2, Op::Create(0), 1, 2, Outcome::Exists)]), "nobody had made it");
    assert!(is_wrong(&[made, (2, Op::Lookup(0), 6, 7, Outcome::Missing)]), "stale");
    assert_eq!(judged(&[made, (2, Op::Lookup(0), 4, 7, Outcome::Missing)]), Verdict::Fine, "at the same time");
    assert!(is_wrong(&[made, (2, Op::Lookup(0), 6, 7, Outcome::Done(9))]), "another file");
}

#[test]
fn a_rename_is_one_step() {
    let made = (1, Op::Create(0), 1, 2, Outcome::Done(7));
    let renamed = (1, RENAME, 3, 10, Outcome::Done(0));
    let neither = [(2, Op::Lookup(1), 4, 5, Outcome::Missing), (2, Op::Lookup(0), 6, 7, Outcome::Missing)];
    assert_eq!(judged(&[made, renamed, neither[0], neither[1]]), Verdict::Fine, "it came between");
    let both = [(2, Op::Lookup(0), 6, 7, Outcome::Missing), (2, Op::Lookup(1), 8, 9, Outcome::Missing)];
    assert!(is_wrong(&[made, renamed, both[0], both[1]]), "it was nowhere");
    let linked = (1, Op::Link { inode: 7, to: 1 }, 3, 4, Outcome::Done(0));
    let again = (1, RENAME, 5, 6, Outcome::Done(0));
    assert_eq!(judged(&[made, linked, again, (1, Op::Lookup(0), 7, 8, Outcome::Done(7))]), Verdict::Fine);
    assert!(is_wrong(&[made, linked, again, (1, Op::Lookup(0), 7, 8, Outcome::Missing)]), "names of one file stay");
    let kept = Op::Rename { from: 0, to: 1, no_replace: true };
    assert!(is_wrong(&[made, linked, (1, kept, 5, 6, Outcome::Done(0))]));
    assert_eq!(judged(&[made, linked, (1, kept, 5, 6, Outcome::Exists)]), Verdict::Fine);
    let gone = [(1, Op::Unlink(0), 3, 4, Outcome::Done(0)), (1, Op::Link { inode: 7, to: 1 }, 5, 6, Outcome::Missing)];
    assert_eq!(judged(&[made, gone[0], gone[1]]), Verdict::Fine);
    assert!(is_wrong(&[made, gone[1]]), "the file has a name");
}

#[test]
fn what_was_not_told_may_come_about_once_until_its_time_is_over() {
    let made = (1, Op::Create(0), 1, 2, Outcome::Done(7));
    let removed = (2, Op::Unlink(0), 3, 4, Outcome::Unknown(50));
    let later = |at| (1, Op::Lookup(0), at, at + 1, Outcome::Missing);
    assert_eq!(judged(&[made, removed]), Verdict::Fine);
    assert_eq!(judged(&[made, removed, (1, Op::Lookup(0), 20, 21, Outcome::Done(7)), later(30)]), Verdict::Fine);
    assert!(is_wrong(&[made, removed, (1, Op::Lookup(0), 60, 61, Outcome::Done(7)), later(70)]), "too late");
    let twice = [later(30), (1, Op::Create(0), 32, 33, Outcome::Done(8)), later(34)];
    assert!(is_wrong(&[made, removed, twice[0], twice[1], twice[2]]), "it was done twice");
}

#[test]
fn after_a_loss_names_are_what_is_seen() {
    let mut history = History::default();
    let mut add = |op, at, told| {
        let number = history.begin(1, op, at);
        history.end(number, at + 1, told);
    };
    add(Op::Create(0), 1, Outcome::Done(7));
    add(Op::Lookup(0), 11, Outcome::Missing);
    assert!(matches!(history.judge(), Verdict::Wrong(_)));
    history.shake(5);
    assert_eq!(history.judge(), Verdict::Fine);
    let number = history.begin(1, Op::Lookup(0), 13);
    history.end(number, 14, Outcome::Done(7));
    assert!(matches!(history.judge(), Verdict::Wrong(_)), "once it is known to be gone, it stays so");
}

#[test]
fn of_the_dead_what_was_under_way_may_come() {
    let mut history = History::default();
    history.begin(1, Op::Create(0), 1);
    history.gone(1, 40);
    let number = history.begin(2, Op::Create(0), 10);
    history.end(number, 11, Outcome::Exists);
    assert_eq!(history.judge(), Verdict::Fine);
    let number = history.begin(2, Op::Lookup(0), 50);
    history.end(number, 51, Outcome::Missing);
    assert!(matches!(history.judge(), Verdict::Wrong(_)));
}

#[test]
fn a_long_history_is_looked_at_in_time() {
    let mut history = History::default();
    for round in 0..100 {
        let at = round * 100;
        for client in 0..3 {
            let number = history.begin(client, Op::Create(client as usize), at + u64::from(client));
            history.end(number, at + 20, Outcome::Done(round * 3 + u64::from(client)));
            let number = history.begin(client, Op::Unlink(client as usize), at + 30 + u64::from(client));
            history.end(number, at + 60, Outcome::Done(0));
        }
    }
    assert_eq!(history.judge(), Verdict::Fine);
}
