// SPDX-License-Identifier: Apache-2.0

//! The table of crates in ARCHITECTURE.md is what the manifests say: a row for each crate, with the crates of ours that it uses.

use crate::Finding;
use crate::manifest;
use crate::repo::Repo;
use std::collections::BTreeSet;

const PAGE: &str = "ARCHITECTURE.md";
/// What stands in the last column where a crate uses everything in the rows below its own.
const ALL_BELOW: &str = "all below";

/// A row: the crate, and the text of its last column.
struct Row<'a> {
    line: usize,
    name: &'a str,
    uses: &'a str,
}

/// Every crate has one row, and each row names what the crate's manifest names.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let rows: Vec<Row> = repo.pages.get(PAGE).into_iter().flat_map(|page| rows(page)).collect();
    if rows.is_empty() {
        return vec![Finding::file(PAGE, "the table of crates was not found")];
    }
    let mut findings = Vec::new();
    for (name, manifest) in repo.crates() {
        let Some(at) = rows.iter().position(|row| row.name == name) else {
            findings.push(Finding::file(PAGE, format!("the table of crates has no row for {name}")));
            continue;
        };
        let (row, below) = (&rows[at], &rows[at + 1..]);
        let used = used(manifest);
        let said: BTreeSet<String> = match row.uses {
            ALL_BELOW => used.iter().filter(|used| below.iter().any(|row| row.name == **used)).cloned().collect(),
            uses => uses.split(", ").filter(|word| *word != "–").map(|word| format!("nyala-{word}")).collect(),
        };
        for missing in used.difference(&said) {
            findings.push(Finding::at(PAGE, row.line, format!("{name} uses {missing}, which its row does not say")));
        }
        for wrong in said.difference(&used) {
            findings.push(Finding::at(PAGE, row.line, format!("{name} does not use {wrong}, which its row says")));
        }
    }
    for row in rows.iter().filter(|row| repo.crates().all(|(name, _)| name != row.name)) {
        findings.push(Finding::at(PAGE, row.line, format!("there is no crate {}", row.name)));
    }
    findings
}

/// The crates of ours that a manifest names for what is built, not for tests.
fn used(manifest: &str) -> BTreeSet<String> {
    let manifest = toml::from_str::<toml::Table>(manifest).unwrap_or_default();
    let mut used = manifest::dependencies(&manifest, &["dependencies", "build-dependencies"]);
    used.retain(|name| name.starts_with("nyala"));
    used
}

/// Rows that begin with a link to a crate.
fn rows(page: &str) -> impl Iterator<Item = Row<'_>> {
    page.lines().enumerate().filter_map(|(index, line)| {
        let (name, rest) = line.strip_prefix("| [`")?.split_once("`](crates/")?;
        let uses = rest.strip_suffix('|')?.rsplit('|').next()?.trim();
        Some(Row { line: index + 1, name, uses })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: (&str, &str) = ("crates/nyala-wire/Cargo.toml", "[dependencies]\nbytes.workspace = true");
    const STORE: (&str, &str) = ("crates/nyala-store/Cargo.toml", "[dependencies]\nnyala-wire.workspace = true");
    const ROW: &str = "| [`nyala-wire`](crates/nyala-wire) | ids | – |\n";

    fn findings(above: &str) -> usize {
        check(&Repo::of(&[WIRE, STORE, ("ARCHITECTURE.md", &format!("{above}{ROW}"))])).len()
    }

    #[test]
    fn rows_that_say_what_the_manifests_say_pass() {
        assert_eq!(findings("| [`nyala-store`](crates/nyala-store) | tables | wire |\n"), 0);
        assert_eq!(findings("| [`nyala-store`](crates/nyala-store) | tables | all below |\n"), 0);
    }

    #[test]
    fn missing_wrong_and_foreign_rows_are_found() {
        assert_eq!(findings(""), 1, "no row");
        assert_eq!(findings("| [`nyala-store`](crates/nyala-store) | tables | – |\n"), 1, "an arrow that is not said");
        assert_eq!(
            findings("| [`nyala-store`](crates/nyala-store) | tables | wire, kv |\n"),
            1,
            "one that is not there"
        );
        let gone = "| [`nyala-store`](crates/nyala-store) | x | wire |\n| [`nyala-old`](crates/nyala-old) | x | – |\n";
        assert_eq!(findings(gone), 1, "a crate that is gone");
        let turned = format!("{ROW}| [`nyala-store`](crates/nyala-store) | x | all below |\n");
        assert_eq!(check(&Repo::of(&[WIRE, STORE, ("ARCHITECTURE.md", &turned)])).len(), 1, "what it uses is above");
        assert_eq!(check(&Repo::of(&[WIRE, STORE])).len(), 1, "no page");
    }
}
