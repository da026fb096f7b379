// SPDX-License-Identifier: Apache-2.0

//! No item has a name that only its writer knew where the field has a word. These were renamed, and do not come back.

use crate::Finding;
use crate::items::words;
use crate::repo::Repo;

/// Names, and the field's words for what they named.
const NAMES: &[(&str, &str)] = &[
    ("Hub", "delegation cache"),
    ("Kept", "cached inode"),
    ("habits", "open predictor"),
    ("put_off", "deferred close, or defer"),
    ("naming", "mutate"),
    ("ending", "shutdown"),
    ("mending", "repair"),
    ("keeper", "maintenance, or supervisor"),
    ("Keeper", "maintenance, or supervisor"),
    ("look_up", "lookup"),
    ("withdraws", "begin invalidation"),
    ("withdrew", "end invalidation"),
    ("facing", "advertise"),
    ("outgoing", "frame writer"),
    ("Bell", "waker"),
    ("hush", "drain"),
    ("nudge", "kick"),
    ("Seat", "worker context"),
    ("Standing", "role"),
    ("reign", "term"),
    ("enthrone", "promote"),
    ("take_office", "begin recovery"),
    ("turns", "range locks"),
    ("beside", "session fences"),
    ("Spread", "sharded map, or replicated op"),
    ("floor", "commit index"),
    ("Wish", "operation"),
    ("Told", "commit notice"),
    ("Fate", "outcome"),
    ("take_words", "apply overrides"),
    ("tend", "reconcile"),
    ("trouble", "diagnosis"),
    ("unsaid", "implicit open"),
    ("linger", "deferred unlink"),
    ("untold", "unacknowledged"),
    ("loose_read", "optimistic read"),
    ("in_place", "zero-copy read"),
    ("entrance", "bootstrap"),
    ("announce", "register again"),
    ("knock", "probe"),
    ("hopper", "multi-mount fuzz"),
    ("pulse", "latency probe"),
    ("PATIENCE", "a name that ends in TIMEOUT"),
];
/// What makes the next word the name of an item.
const ITEMS: &[&str] = &["struct", "enum", "trait", "type", "fn", "mod", "const", "static"];

/// None of the names is an item's.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        for &(name, better) in NAMES {
            let items = words(&source.code, name).filter(|at| is_item(&source.code[..*at]));
            findings.extend(items.map(|at| {
                Finding::at(&source.path, source.line_of(at), format!("`{name}`: the field's word is {better}"))
            }));
        }
    }
    findings
}

/// Whether the code before a name ends in what makes it an item's.
fn is_item(before: &str) -> bool {
    let last = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next();
    before.ends_with(char::is_whitespace) && last.is_some_and(|word| ITEMS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Repo::of(&[("crates/x/src/a.rs", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn items_are_found() {
        let mut found = lines("pub struct Standing;\nasync fn tend() {}\nmod\nfloor;\nconst PATIENCE: u8 = 1;\n");
        found.sort_unstable();
        assert_eq!(found, [1, 2, 4, 5]);
    }

    #[test]
    fn prose_values_and_longer_names_pass() {
        assert_eq!(lines("// struct Standing\nlet floor = x.floor();\nfn tend_to() {}\nstruct Standings;\n"), []);
    }
}
