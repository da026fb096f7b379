// SPDX-License-Identifier: Apache-2.0

//! Access rules as a table.

use super::held_args::Pair;
use super::key_table::{ranges, squash};
use crate::output::Table;
use nyala_wire::access_rules::{AccessRule, Admit};

/// A row for each rule.
pub fn table(rules: &[AccessRule]) -> String {
    let mut table = Table::new(&["KEY", "FROM", "ROOT", "ACCESS", "SQUASH", "ANONYMOUS", "USERS", "GROUPS"]);
    for AccessRule { rule, network, subtree, admit } in rules {
        let access = match (admit, rule.read_only) {
            (Admit::Refused, _) => "none",
            (Admit::Free, _) => "all",
            (Admit::Held, true) => "ro",
            (Admit::Held, false) => "rw",
        };
        table.row([
            rule.key.clone(),
            network.map_or_else(|| "-".to_owned(), |network| network.to_string()),
            subtree.as_ref().map_or("/", |tree| &tree.path).to_owned(),
            access.to_owned(),
            squash(rule.squash).to_owned(),
            Pair(rule.anonymous_uid, rule.anonymous_gid).to_string(),
            ranges(&rule.users),
            ranges(&rule.groups),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;
    use nyala_wire::access_rules::Subtree;
    use nyala_wire::key_rules::{KeyRule, Squash};

    #[test]
    fn the_table_says_who_and_what() {
        let lab = AccessRule {
            rule: KeyRule { read_only: true, squash: Squash::Root, ..KeyRule::none("lab") },
            network: Some("10.1.0.0/16".parse().unwrap()),
            subtree: Some(Subtree { inode: InodeId(9), path: "/projects".to_owned() }),
            admit: Admit::Held,
        };
        let any = AccessRule { rule: KeyRule::none("*"), admit: Admit::Refused, ..AccessRule::default() };
        let lines: Vec<String> = table(&[any, lab])
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|line| !line.starts_with('='))
            .collect();
        assert_eq!(
            lines,
            [
                "KEY FROM ROOT ACCESS SQUASH ANONYMOUS USERS GROUPS",
                "* - / none none 65534:65534 - -",
                "lab 10.1.0.0/16 /projects ro root 65534:65534 - -",
            ]
        );
    }
}
