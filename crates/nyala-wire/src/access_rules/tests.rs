// SPDX-License-Identifier: Apache-2.0

//! Networks as people write them, and rules that contradict themselves.

use super::*;

pub(crate) fn network(text: &str) -> Network {
    text.parse().unwrap()
}

pub(crate) fn rule(key: &str, from: Option<&str>) -> AccessRule {
    let rule = KeyRule { read_only: true, ..KeyRule::none(key) };
    AccessRule { rule, network: from.map(network), subtree: None, admit: Admit::Held }
}

#[test]
fn networks_are_prefixes() {
    let table = [
        ("10.1.0.0/16", "10.1.255.255", true),
        ("10.1.0.0/16", "10.2.0.0", false),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("0.0.0.0/0", "fd00::1", false),
        ("::/0", "fd00::1", true),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.6", false),
        ("fd00:1::/32", "fd00:1:ffff::9", true),
        ("fd00:1::/32", "fd00:2::9", false),
        ("10.0.0.0/8", "::ffff:10.9.8.7", true),
    ];
    for (net, address, want) in table {
        assert_eq!(network(net).has(address.parse().unwrap()), want, "{address} in {net}");
    }
    assert_eq!(network("192.0.2.7").to_string(), "192.0.2.7/32");
    let bytes = crate::codec::encode(&network("fd00::/8"));
    assert_eq!(crate::codec::decode::<Network>(&bytes).unwrap(), network("fd00::/8"));
}

#[test]
fn what_is_no_network_is_said() {
    for (text, says) in [
        ("", "is no network"),
        ("10.1.0.0/", "is no network"),
        ("10.1.0/8", "is no network"),
        ("host", "is no network"),
        ("10.0.0.0/8/8", "is no network"),
        ("10.0.0.0/-1", "is no network"),
        ("10.0.0.0/33", "more than the 32 bits"),
        ("fd00::/129", "more than the 128 bits"),
        ("10.1.2.3/8", "the network is 10.0.0.0/8"),
        ("fd00::1/64", "the network is fd00::/64"),
    ] {
        let error = text.parse::<Network>().unwrap_err();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn rules_that_contradict_themselves_are_refused() {
    let tree = |inode| Some(Subtree { inode: InodeId(inode), path: "/a".to_owned() });
    let plain = |admit, subtree| AccessRule { rule: KeyRule::none("k"), network: None, subtree, admit };
    for (bad, says) in [
        (plain(Admit::Held, None), "nobody to anything"),
        (AccessRule { admit: Admit::Refused, ..rule("k", None) }, "cannot be held"),
        (plain(Admit::Free, tree(9)), "cannot be held"),
        (plain(Admit::Held, tree(InodeId::ROOT.0)), "root directory is everything"),
        (rule("no key", None), "is no id of a key"),
        (
            AccessRule { rule: KeyRule { anonymous_uid: 0, ..rule("*", None).rule }, ..rule("*", None) },
            "must not be root",
        ),
    ] {
        let error = bad.check().unwrap_err();
        assert!(error.contains(says), "{bad:?}: {error}");
    }
    for good in [plain(Admit::Free, None), plain(Admit::Refused, None), plain(Admit::Held, tree(9)), rule("*", None)] {
        assert_eq!(good.check(), Ok(()));
    }
}
