// SPDX-License-Identifier: Apache-2.0

//! `docs/SEMANTICS.md` promises nothing that no test checks.

use crate::Finding;
use crate::items;
use crate::repo::Repo;
use std::collections::BTreeSet;

const PAGE: &str = "docs/SEMANTICS.md";

/// From this heading on the page says what it does not promise: tables there need no tests.
const NOT_PROMISED: &str = "## Where it differs";
/// The checks of one end-to-end test, which rows name as `posix::x`.
const CHECKS: &str = "crates/nyala-e2e/src/posix/";

/// Every table of promises has a last column headed `test`, and each of its rows names there, in backticks, tests that
/// exist. Promises are in tables: a list among them is one that no row checks.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let Some(text) = repo.pages.get(PAGE) else { return vec![Finding::file(PAGE, "is missing")] };
    let tests: BTreeSet<String> = tests(repo).into_iter().chain(posix_checks(repo)).collect();
    let mut findings = Vec::new();
    let (mut in_table, mut rows) = (false, 0);
    let promises = text.lines().take_while(|line| !line.starts_with(NOT_PROMISED));
    for (index, line) in promises.enumerate() {
        let Some(cells) = cells(line) else {
            in_table = false;
            if line.starts_with("- ") {
                findings.push(Finding::at(PAGE, index + 1, "a promise outside the tables names no test"));
            }
            continue;
        };
        let last = cells.last().copied().unwrap_or("");
        if !in_table {
            in_table = true;
            if !last.eq_ignore_ascii_case("test") {
                findings.push(Finding::at(PAGE, index + 1, "the last column of this table is not `test`"));
            }
        } else if !last.chars().all(|c| matches!(c, '-' | ':')) || last.is_empty() {
            rows += 1;
            let names: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
            if names.is_empty() {
                findings.push(Finding::at(PAGE, index + 1, "this promise names no test"));
            }
            for name in names.iter().filter(|name| !tests.contains(**name)) {
                findings.push(Finding::at(PAGE, index + 1, format!("there is no test `{name}`")));
            }
        }
    }
    if rows == 0 {
        findings.push(Finding::file(PAGE, "has no table with a column `test`"));
    }
    findings
}

/// The cells of a table's line; `\|` is not a border.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let borders = inner.match_indices('|').map(|(at, _)| at).filter(|at| !inner[..*at].ends_with('\\'));
    let mut cells = Vec::new();
    let mut from = 0;
    for border in borders.chain([inner.len()]) {
        cells.push(inner[from..border].trim());
        from = border + 1;
    }
    Some(cells)
}

/// What `posix::x` can name: the first words of the rows of the lists of checks.
fn posix_checks(repo: &Repo) -> Vec<String> {
    let mut names = Vec::new();
    for source in repo.sources.iter().filter(|source| source.path.starts_with(CHECKS)) {
        let Some((_, lists)) = source.text.split_once("CHECKS: &[Check]") else { continue };
        let list = lists.split_once("];").map_or(lists, |(list, _)| list);
        let quoted = list.split("(\"").skip(1).filter_map(|row| row.split_once('"'));
        names.extend(quoted.map(|(name, _)| format!("posix::{name}")));
    }
    names
}

/// Names of functions that the test runner runs: those right after a test attribute, also inside `proptest!`.
fn tests(repo: &Repo) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for source in &repo.sources {
        let items = items::test_items(&source.text, &source.code);
        for function in source.functions() {
            let head = |item: &std::ops::Range<usize>| {
                let before = source.code.get(item.start..function.start).unwrap_or("}");
                before.contains("test") && !before.contains("cfg") && !before.contains('{')
            };
            if items.iter().any(head) {
                names.insert(function.name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "#[test]\nfn a() {}\n#[tokio::test(x)]\nasync fn b() {}\n\
                         proptest! {\n #[test]\n fn c(x in 0..1) { }\n}\n#[cfg(test)]\nfn helper() {}\n#[cfg(test)]\nmod t { fn inner() {} }\n";

    fn findings(rows: &str) -> usize {
        let page = format!(
            "# S\n\n| what | test |\n|---|:---|\n{rows}\ntext\n\n{NOT_PROMISED}\n\n- x\n\n| other | column |\n|---|---|\n| x | y |\n"
        );
        let checks = ("crates/nyala-e2e/src/posix/x.rs", LIST);
        check(&Repo::of(&[(PAGE, &page), ("crates/x/tests/t.rs", TESTS), checks])).len()
    }

    const LIST: &str =
        "pub const CHECKS: &[Check] =\n    &[(\"one\", one), (\"two\", two)];\nfn x() { y((\"three\", 3)) }\n";

    #[test]
    fn promises_outside_tables_with_tests_are_found() {
        assert_eq!(findings("\n- we promise everything\n"), 2, "and there is no row");
        assert_eq!(findings("| a | `a` |\n\n| more | promises |\n|---|---|\n| b | `b` |\n"), 1);
        assert_eq!(findings("| a | `a` |\n\n- more\n"), 1);
    }

    #[test]
    fn checks_of_the_posix_test_count_by_their_names() {
        assert_eq!(findings("| a | `posix::one` |\n| b | `a`, `posix::two` |\n"), 0);
        assert_eq!(findings("| a | `posix::three` |\n| b | `one` |\n"), 2);
    }

    #[test]
    fn promises_with_tests_pass() {
        assert_eq!(findings("| a \\| b | `a` |\n| b | `b`, `c` |\n"), 0);
    }

    #[test]
    fn promises_without_tests_are_found() {
        assert_eq!(findings("| a | later |\n"), 1);
        assert_eq!(findings("| a |  |\n"), 1);
        assert_eq!(findings("| a | `a`, `d` |\n"), 1);
        assert_eq!(findings("| a | `helper` |\n| b | `inner` |\n"), 2);
        assert_eq!(findings(""), 1);
        assert_eq!(check(&Repo::default()).len(), 1);
    }
}
