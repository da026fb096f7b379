// SPDX-License-Identifier: Apache-2.0

//! Rules of keys as a table.

use super::held_args::Pair;
use crate::output::Table;
use nyala_wire::key_rules::{IdRange, KeyRule, Squash};

/// A row for each rule.
pub fn table(rules: &[KeyRule]) -> String {
    let mut table = Table::new(&["KEY", "READ-ONLY", "SQUASH", "ANONYMOUS", "USERS", "GROUPS"]);
    for rule in rules {
        table.row([
            rule.key.clone(),
            if rule.read_only { "yes" } else { "no" }.to_owned(),
            squash(rule.squash).to_owned(),
            Pair(rule.anonymous_uid, rule.anonymous_gid).to_string(),
            ranges(&rule.users),
            ranges(&rule.groups),
        ]);
    }
    table.render()
}

/// Who is squashed, as the flag says it.
pub(super) fn squash(whom: Squash) -> &'static str {
    match whom {
        Squash::None => "none",
        Squash::Root => "root",
        Squash::All => "all",
    }
}

/// Ranges of ids, as the flags say them.
pub(super) fn ranges(ranges: &[IdRange]) -> String {
    match ranges {
        [] => "-".to_owned(),
        ranges => {
            let texts = ranges.iter().map(|range| format!("{}:{}:{}", range.client, range.server, range.count));
            texts.collect::<Vec<_>>().join(",")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits() {
        let range = IdRange { client: 1000, server: 50_000, count: 100 };
        let lab = KeyRule { squash: Squash::Root, users: vec![range], groups: vec![range], ..KeyRule::none("lab") };
        let web = KeyRule { read_only: true, squash: Squash::All, ..KeyRule::none("web") };
        let want = "KEY  READ-ONLY  SQUASH  ANONYMOUS    USERS           GROUPS\n\
                    ===  =========  ======  ===========  ==============  ==============\n\
                    lab  no         root    65534:65534  1000:50000:100  1000:50000:100\n\
                    web  yes        all     65534:65534  -               -\n";
        let lines = |text: &str| {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(lines(&table(&[lab, web])), lines(want));
    }
}
