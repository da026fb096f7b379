// SPDX-License-Identifier: Apache-2.0

//! Decisions are numbered pages with a title, and the index names each.

use crate::Finding;
use crate::repo::Repo;
use std::collections::BTreeMap;

const DIR: &str = "docs/decisions/";

/// `docs/decisions/NNNN-slug.md` begins with `# NNNN: Title`; numbers are unique; README.md links all of them.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut numbers: BTreeMap<&str, &str> = BTreeMap::new();
    let index = repo.pages.get("docs/decisions/README.md").map_or("", String::as_str);
    for (path, text) in repo.pages.range(DIR.to_owned()..) {
        let Some(name) = path.strip_prefix(DIR) else { break };
        if name == "README.md" {
            continue;
        }
        let number = name.split('-').next().unwrap_or("");
        if number.len() != 4 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            findings.push(Finding::file(path, "the name must be `NNNN-what.md`"));
            continue;
        }
        let title = text.lines().find(|line| line.starts_with('#')).unwrap_or("");
        if title.strip_prefix(&format!("# {number}: ")).is_none_or(|title| title.trim().is_empty()) {
            findings.push(Finding::file(path, format!("the first heading must be `# {number}: Title`")));
        }
        if let Some(other) = numbers.insert(number, name) {
            findings.push(Finding::file(path, format!("has the number of {other}")));
        }
        if !index.contains(&format!("]({name})")) {
            findings.push(Finding::file(path, "is not in docs/decisions/README.md"));
        }
    }
    if numbers.is_empty() && findings.is_empty() {
        findings.push(Finding::file(DIR, "no decision was found"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, text: &str, index: &str) -> usize {
        check(&Repo::of(&[(name, text), ("docs/decisions/README.md", index)])).len()
    }

    #[test]
    fn a_numbered_titled_listed_page_passes() {
        let licence = "<!-- SPDX -->\n# 0007: Seven\n";
        assert_eq!(findings("docs/decisions/0007-a.md", licence, "[a](0007-a.md)"), 0);
    }

    #[test]
    fn others_are_found() {
        assert_eq!(findings("docs/decisions/0007-a.md", "# 0007: Seven\n", ""), 1);
        assert_eq!(findings("docs/decisions/0007-a.md", "# Seven\n", "[a](0007-a.md)"), 1);
        assert_eq!(findings("docs/decisions/0007-a.md", "# 0007: \n", "[a](0007-a.md)"), 1);
        assert_eq!(findings("docs/decisions/seven.md", "# 0007: Seven\n", "[a](seven.md)"), 1);
        assert_eq!(findings("docs/other.md", "", ""), 1);
    }

    #[test]
    fn a_number_is_given_once() {
        let index = "[a](0007-a.md) [b](0007-b.md)";
        let pages = [("docs/decisions/0007-a.md", "# 0007: A"), ("docs/decisions/0007-b.md", "# 0007: B")];
        assert_eq!(check(&Repo::of(&[pages[0], pages[1], ("docs/decisions/README.md", index)])).len(), 1);
    }
}
