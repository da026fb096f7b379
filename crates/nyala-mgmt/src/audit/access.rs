// SPDX-License-Identifier: Apache-2.0

//! Orders about which clients are let in, and what they are held to.

use nyala_wire::access_rules::{AccessRule, Admit, Network};
use nyala_wire::key_rules::{IdRange, KeyRule, Squash};

/// What the clients of a key are held to.
pub(super) fn key(rule: &KeyRule) -> String {
    match rule.is_none() {
        true => format!("key clear {}", rule.key),
        false => format!("key set {}: {}", rule.key, held(rule)),
    }
}

/// What holds for users and changes.
fn held(rule: &KeyRule) -> String {
    let squash = match rule.squash {
        Squash::None => "none",
        Squash::Root => "root",
        Squash::All => "all",
    };
    let ranges = |ranges: &[IdRange]| -> String {
        let texts = ranges.iter().map(|range| format!("{}:{}:{}", range.client, range.server, range.count));
        texts.collect::<Vec<_>>().join(",")
    };
    format!(
        "read-only {}, squash {squash}, anonymous {}:{}, users [{}], groups [{}]",
        rule.read_only,
        rule.anonymous_uid,
        rule.anonymous_gid,
        ranges(&rule.users),
        ranges(&rule.groups)
    )
}

/// A rule is set.
pub(super) fn set(rule: &AccessRule) -> String {
    let what = match rule.admit {
        Admit::Free => "let in freely".to_owned(),
        Admit::Refused => "refused".to_owned(),
        Admit::Held => {
            let root = rule.subtree.as_ref().map_or("/", |tree| &tree.path);
            format!("root {root}, {}", held(&rule.rule))
        }
    };
    format!("access set {}: {what}", clients(&rule.rule.key, rule.network))
}

/// A rule ends.
pub(super) fn remove(key: &str, network: Option<Network>) -> String {
    format!("access delete {}", clients(key, network))
}

fn clients(key: &str, network: Option<Network>) -> String {
    network.map_or_else(|| key.to_owned(), |network| format!("{key} from {network}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;
    use nyala_wire::access_rules::Subtree;
    use nyala_wire::key_rules::KeyRule;

    #[test]
    fn orders_say_who_and_what() {
        let network = Some("10.1.0.0/16".parse().unwrap());
        let subtree = Some(Subtree { inode: InodeId(9), path: "/projects".to_owned() });
        let rule = KeyRule { read_only: true, ..KeyRule::none("*") };
        let rule = AccessRule { rule, network, subtree, admit: Admit::Held };
        assert_eq!(
            set(&rule),
            "access set * from 10.1.0.0/16: root /projects, read-only true, squash none, anonymous 65534:65534, users [], groups []"
        );
        let refused = AccessRule { rule: KeyRule::none("lab"), admit: Admit::Refused, ..AccessRule::default() };
        assert_eq!(set(&refused), "access set lab: refused");
        assert_eq!(remove("lab", network), "access delete lab from 10.1.0.0/16");
    }
}
