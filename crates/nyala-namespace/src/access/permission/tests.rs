// SPDX-License-Identifier: Apache-2.0

//! Which class counts, for one user and for anybody of several.

use super::*;
use nyala_wire::key_rules::{IdRange, KeyRule, Squash};

fn user(uid: u32, gid: u32, groups: &[u32]) -> Caller {
    Caller { uid, gid, groups: groups.to_vec(), anybody: None }
}

/// A list of user 5's entry, group 50's and a mask, over owner rw-, owning group r--, others nothing.
fn list() -> Acl {
    let entries: [(u16, u16, u32); 6] =
        [(1, 6, u32::MAX), (2, 7, 5), (4, 4, u32::MAX), (8, 2, 50), (16, 6, u32::MAX), (32, 0, u32::MAX)];
    let mut bytes = vec![2, 0, 0, 0];
    for (tag, perm, id) in entries {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&perm.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    Acl::parse(&bytes).unwrap().unwrap()
}

#[test]
fn one_user_is_in_one_class() {
    let owner = (7, 70);
    let granted = |who: &Caller, list: &Acl| -> String {
        [(READ, 'r'), (WRITE, 'w'), (EXECUTE, 'x'), (READ | WRITE, 'b')]
            .iter()
            .filter(|(wanted, _)| allows(who, list, owner, *wanted))
            .map(|(_, letter)| *letter)
            .collect()
    };
    let bits = Acl::of_perm(0o246);
    assert_eq!(granted(&user(7, 70, &[]), &bits), "w", "the owner has no more than its bits");
    assert_eq!(granted(&user(8, 70, &[]), &bits), "r");
    assert_eq!(granted(&user(8, 1, &[2, 70]), &bits), "r", "by another group");
    assert_eq!(granted(&user(8, 1, &[]), &bits), "rwb");
    let list = list();
    assert_eq!(granted(&user(7, 1, &[]), &list), "rwb");
    assert_eq!(granted(&user(5, 70, &[50]), &list), "rwb", "the mask takes x away");
    assert_eq!(granted(&user(8, 70, &[50]), &list), "rw", "each of a group of its own, both of none");
    assert_eq!(granted(&user(8, 50, &[]), &list), "w");
    assert_eq!(granted(&user(8, 8, &[]), &list), "");
}

#[test]
fn anybody_has_what_somebody_has_whom_the_key_may_be() {
    let squashed = |squash| Caller::anybody(&KeyRule { squash, ..KeyRule::none("k") });
    let lab = KeyRule {
        users: vec![IdRange { client: 0, server: 1000, count: 10 }],
        squash: Squash::Root,
        ..KeyRule::none("k")
    };
    let lab = Caller::anybody(&KeyRule { groups: vec![IdRange { client: 0, server: 1000, count: 10 }], ..lab });
    let may = |who: &Caller, perm, owner, wanted| allows(who, &Acl::of_perm(perm), owner, wanted);
    let root = squashed(Squash::Root);
    assert!(may(&root, 0o600, (7, 7), READ | WRITE), "it may be user 7");
    assert!(!may(&root, 0o600, (0, 0), READ) && !may(&root, 0o660, (0, 0), READ));
    assert!(may(&root, 0o604, (0, 0), READ) && may(&root, 0o640, (0, 7), READ));
    let all = squashed(Squash::All);
    assert!(!may(&all, 0o660, (7, 7), READ) && may(&all, 0o600, (65_534, 7), READ));
    assert!(
        may(&lab, 0o600, (1009, 0), READ) && !may(&lab, 0o660, (1010, 1010), READ) && !may(&lab, 0o660, (0, 0), READ)
    );
    assert!(!root.is_user(0) && squashed(Squash::None).is_user(0));
}
