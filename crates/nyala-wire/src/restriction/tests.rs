// SPDX-License-Identifier: Apache-2.0

//! Which rule counts for whom.

use super::*;
use crate::access_rules::tests::{network, rule};
use crate::key_rules::Squash;

#[test]
fn the_most_specific_rule_counts_alone() {
    let names = [
        ("lab", Some("10.1.0.0/16")),
        ("lab", None),
        ("*", Some("10.1.0.0/16")),
        ("*", Some("10.1.2.0/24")),
        ("*", None),
    ];
    let mut access_rules: Vec<AccessRule> = names.iter().map(|(key, from)| rule(key, *from)).collect();
    access_rules.push(AccessRule { admit: Admit::Free, ..plain_of("ops") });
    access_rules.push(AccessRule { admit: Admit::Refused, network: Some(network("10.6.6.0/24")), ..plain_of("*") });
    for (number, rule) in access_rules.iter_mut().enumerate().take(5) {
        rule.rule.anonymous_gid = number as u32;
    }
    let map = ClusterMap { access_rules, ..ClusterMap::default() };
    let counts = |key, operator, address: &str| {
        restriction(&map, Asker { key, operator, address: address.parse().unwrap() })
            .map(|held| (held.rule.anonymous_gid, held.refused))
    };
    assert_eq!(counts("lab", false, "10.1.2.3"), Some((0, false)), "its key, then its network");
    assert_eq!(counts("lab", false, "10.2.2.3"), Some((1, false)));
    assert_eq!(counts("web", false, "10.1.9.9"), Some((2, false)));
    assert_eq!(counts("web", false, "10.1.2.3"), Some((3, false)), "the longer prefix");
    assert_eq!(counts("web", false, "192.0.2.1"), Some((4, false)));
    assert_eq!(counts("ops", false, "10.1.2.3"), None, "an exception by key");
    assert_eq!(counts("web", true, "10.6.6.6"), None, "operators are not clients of any key");
    assert!(counts("web", false, "10.6.6.6").is_some_and(|(_, refused)| refused));
    assert!(looks_at_addresses(&map) && restricts_anybody(&map) && !restricts_anybody(&ClusterMap::default()));
}

fn plain_of(key: &str) -> AccessRule {
    AccessRule { rule: KeyRule::none(key), ..AccessRule::default() }
}

#[test]
fn rules_of_keys_give_way_to_rules_for_the_same_key() {
    let of_key = KeyRule { squash: Squash::Root, ..KeyRule::none("lab") };
    let access_rules = vec![rule("lab", Some("10.1.0.0/16")), rule("*", Some("10.2.0.0/16"))];
    let map = ClusterMap { key_rules: vec![of_key], access_rules, ..ClusterMap::default() };
    let squash = |address: &str| {
        restriction(&map, Asker { key: "lab", operator: false, address: address.parse().unwrap() }).unwrap().rule.squash
    };
    assert_eq!(squash("10.1.0.1"), Squash::None, "the access rule");
    assert_eq!(squash("10.2.0.1"), Squash::Root, "the rule of its key is about it by name");
    assert_eq!(squash("10.3.0.1"), Squash::Root);
    assert!(may_hold(&map, "web", |rule| rule.rule.read_only) && !may_hold(&map, "lab", |rule| rule.subtree.is_some()));
}
