// SPDX-License-Identifier: Apache-2.0

//! No item has a name that only its writer knew where the field has a word. These were renamed, and do not come back, in whatever case
//! and also in tests. A longer name that has the word in it is a matter of taste.

use crate::Finding;
use crate::items::whole_words;
use crate::repo::Repo;

/// Names, and the field's words for what they named. `put_off` is also `PutOff` and `PUT_OFF`.
const NAMES: &[(&str, &str)] = &[
    ("announce", "register again"),
    ("at_once", "inline path, or a number: MAX_CONCURRENT, BATCH_ROWS"),
    ("bell", "waker"),
    ("beside", "session fences"),
    ("bring", "lookup-open"),
    ("changing", "local change"),
    ("closing", "deferred close, or begin_close"),
    ("ending", "shutdown"),
    ("enthrone", "promote"),
    ("entrance", "bootstrap"),
    ("facing", "advertise"),
    ("fate", "outcome"),
    ("floor", "commit index"),
    ("guard", "admission"),
    ("habits", "open predictor"),
    ("home", "data location, or cluster directory"),
    ("hopper", "multi-mount fuzz"),
    ("hub", "delegation cache"),
    ("hush", "drain"),
    ("in_place", "zero-copy read"),
    ("keeper", "maintenance, or supervisor"),
    ("kept", "cached inode, or a limit: MAX_RUNS, RETENTION"),
    ("knock", "probe"),
    ("leading", "primary"),
    ("left", "remaining, available, or eviction clock"),
    ("linger", "deferred unlink"),
    ("look_up", "lookup"),
    ("looking", "lookup"),
    ("loose_read", "optimistic read"),
    ("mending", "repair"),
    ("naming", "mutate"),
    ("nudge", "kick"),
    ("outgoing", "frame writer, or what goes out: OutboundMessage"),
    ("patience", "a name that ends in TIMEOUT"),
    ("place", "which one: location, slot, entry, permit, position"),
    ("places", "which ones: locations, slots, entries, a capacity"),
    ("pulse", "latency probe"),
    ("put_off", "deferred close, or defer"),
    ("reign", "term"),
    ("rooms", "spare capacity"),
    ("seat", "worker context"),
    ("served", "server connection, or active request"),
    ("spread", "sharded map, or replicated op"),
    ("standing", "role"),
    ("take_office", "begin recovery"),
    ("take_words", "apply overrides"),
    ("taking", "recovering, or what is taken: note_lock"),
    ("tend", "reconcile"),
    ("together", "batch"),
    ("told", "acknowledged, or commit notice"),
    ("trouble", "diagnosis"),
    ("turns", "range locks"),
    ("unsaid", "implicit open"),
    ("untold", "unacknowledged"),
    ("wish", "operation, or request"),
    ("wishes", "requests, or options"),
    ("withdraws", "begin invalidation"),
    ("withdrew", "end invalidation"),
    ("words", "overrides, or what the text is: describe, command_line"),
    ("wrote", "end of a direct write, or note_write"),
];
/// What makes the next word the name of an item.
const ITEMS: &[&str] = &["struct", "enum", "union", "trait", "type", "fn", "mod", "const", "static"];

/// None of the names is an item's.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        for at in ITEMS.iter().flat_map(|item| whole_words(&source.code, item).map(|at| at + item.len())) {
            let name = name_after(&source.code[at..]);
            if let Some((_, better)) = NAMES.iter().find(|(given_up, _)| *given_up == snake(name)) {
                let line = source.line_of(at + source.code[at..].find(name).unwrap_or(0));
                findings.push(Finding::at(&source.path, line, format!("`{name}`: the field's word is {better}")));
            }
        }
    }
    findings
}

/// The name that follows; empty if something else does.
fn name_after(code: &str) -> &str {
    let rest = code.trim_start();
    let rest = rest.strip_prefix("mut ").map_or(rest, str::trim_start);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    &rest[..end]
}

/// A name as a function would have it: `PutOff` and `PUT_OFF` are `put_off`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && out.ends_with(|last: char| last.is_lowercase()) && name.contains(char::is_lowercase) {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Repo::of(&[("crates/x/src/a.rs", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn items_are_found() {
        let text = "pub struct Standing;\nasync fn tend() {}\nmod\nfloor;\nconst PATIENCE: u8 = 1;\nstatic mut PUT_OFF: u8 = 1;\n\
                    struct PutOff;\nconst fn words() {}\n";
        let mut found = lines(text);
        found.sort_unstable();
        assert_eq!(found, [1, 2, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_finding_has_the_better_word() {
        let findings = check(&Repo::of(&[("crates/x/src/a.rs", "enum Place {}")]));
        assert!(findings[0].message.contains("`Place`") && findings[0].message.contains("location"), "{findings:?}");
    }

    #[test]
    fn names_are_given_once_and_in_order() {
        assert!(NAMES.is_sorted_by(|(one, _), (next, _)| one < next), "{NAMES:?}");
    }

    #[test]
    fn prose_values_and_longer_names_pass() {
        let text = "// struct Standing\nlet floor = x.floor();\nfn tend_to() {}\nstruct Standings;\ntype F = fn(u8);\n\
                    fn what_is_left_is_told() {}\nfn lookup() {}\nenum Lookup {}\n";
        assert_eq!(lines(text), []);
    }
}
