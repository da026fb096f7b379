// SPDX-License-Identifier: Apache-2.0

//! Ids of rules: what becomes of them, in both directions.

use super::*;
use proptest::prelude::*;

/// Ids of a range: its first on the client's host, its first in the cluster, how many.
type Range = (u32, u32, u32);

fn rule(squash: Squash, users: &[Range]) -> KeyRule {
    let users = users.iter().map(|&(client, server, count)| IdRange { client, server, count }).collect();
    KeyRule { squash, users, ..KeyRule::none("k1") }
}

#[test]
fn users_become_whom_the_rule_says() {
    let lab = [(1000, 50_000, 10)];
    let to_root = [(0, 0, 1), (500, 600, 2)];
    let table: [(Squash, &[Range], u32, u32); 14] = [
        (Squash::None, &[], 0, 0),
        (Squash::None, &[], 7, 7),
        (Squash::Root, &[], 0, NOBODY),
        (Squash::Root, &[], 7, 7),
        (Squash::All, &[], 0, NOBODY),
        (Squash::All, &[], 7, NOBODY),
        (Squash::None, &lab, 1000, 50_000),
        (Squash::None, &lab, 1009, 50_009),
        (Squash::None, &lab, 1010, NOBODY),
        (Squash::None, &lab, 50_000, NOBODY),
        (Squash::None, &lab, 0, NOBODY),
        (Squash::None, &to_root, 0, 0),
        (Squash::Root, &[(77, 0, 2)], 77, NOBODY),
        (Squash::All, &lab, 1000, NOBODY),
    ];
    for (squash, users, said, acts) in table {
        assert_eq!(rule(squash, users).user_to_server(said), acts, "{squash:?} {users:?} {said}");
    }
}

#[test]
fn clients_are_shown_their_own_ids() {
    let lab = rule(Squash::None, &[(1000, 50_000, 10)]);
    assert_eq!(
        [50_000, 50_009, 50_010, 0, 1000].map(|uid| lab.user_to_client(uid)),
        [1000, 1009, NOBODY, NOBODY, NOBODY]
    );
    assert_eq!(rule(Squash::Root, &[]).user_to_client(0), 0, "without ranges as they are");
}

#[test]
fn rules_that_contradict_themselves_are_refused() {
    let bad: [KeyRule; 8] = [
        KeyRule::none(""),
        KeyRule::none("no spaces"),
        KeyRule { anonymous_uid: 0, ..KeyRule::none("k1") },
        KeyRule { anonymous_gid: u32::MAX, ..KeyRule::none("k1") },
        rule(Squash::None, &[(1, 1, 0)]),
        rule(Squash::None, &[(u32::MAX - 1, 1, 2)]),
        rule(Squash::None, &[(0, 100, 10), (9, 200, 1)]),
        rule(Squash::None, &[(0, 100, 10), (20, 109, 1)]),
    ];
    assert!(bad.iter().all(|rule| rule.check().is_err()), "{:?}", bad.iter().find(|rule| rule.check().is_ok()));
    assert_eq!(rule(Squash::Root, &[(0, 100, 10), (10, 110, 1)]).check(), Ok(()));
    let many: Vec<_> = (0..=MAX_ID_RANGES as u32).map(|n| (n, n, 1)).collect();
    assert!(rule(Squash::None, &many).check().is_err());
}

proptest! {
    /// Whatever a client says, it acts as somebody whom the key may be; and it sees as its own what it made.
    #[test]
    fn nobody_becomes_more_than_the_key_may_be(
        said: u32, squash in 0..3u8, ranges in proptest::collection::vec((0..50u32, 0..50u32, 1..9u32), 0..3),
    ) {
        let squash = [Squash::None, Squash::Root, Squash::All][usize::from(squash)];
        for said in [said, said % 64] {
            let rule = rule(squash, &ranges);
            if rule.check().is_err() {
                continue;
            }
            let acts = rule.user_to_server(said);
            prop_assert!(rule.may_be_user(acts));
            prop_assert!(squash == Squash::None || acts != 0);
            if acts != NOBODY && rule.maps_ids() {
                prop_assert_eq!(rule.user_to_client(acts), said);
            }
        }
    }
}
