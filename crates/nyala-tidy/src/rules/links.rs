// SPDX-License-Identifier: Apache-2.0

//! Relative links in Markdown pages lead somewhere.

use crate::Finding;
use crate::repo::Repo;

/// The target of every relative link exists.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (page, text) in &repo.pages {
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if !fenced {
                for target in targets(line).filter(|target| !leads_somewhere(repo, page, target)) {
                    findings.push(Finding::at(page, index + 1, format!("the link to `{target}` leads nowhere")));
                }
            }
        }
    }
    findings
}

/// What stands between `](` and `)`, outside of inline code.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let prose = line.split('`').step_by(2);
    prose.flat_map(|prose| prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
}

fn leads_somewhere(repo: &Repo, page: &str, target: &str) -> bool {
    let path = target.split(['#', ' ']).next().unwrap_or("");
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return true;
    }
    let from = page.rsplit_once('/').map_or("", |(dir, _)| dir);
    let mut at: Vec<&str> = Vec::new();
    for part in from.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if at.pop().is_none() => return false,
            ".." => {}
            name => at.push(name),
        }
    }
    let path = at.join("/");
    path.is_empty()
        || repo.paths.contains(&path)
        || repo.paths.iter().any(|known| known.starts_with(&format!("{path}/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        check(&Repo::of(&[("docs/a.md", text), ("docs/b.md", ""), ("crates/x/src/lib.rs", "")])).len()
    }

    #[test]
    fn good_links_pass() {
        let text = "[b](b.md) [b](b.md#part) [x](../crates/x/src/lib.rs) [d](../crates/x) [w](https://a.b/c) [h](#h)";
        assert_eq!(findings(text), 0);
        assert_eq!(findings("`[b](c.md)`\n```\n[b](c.md)\n```\n"), 0);
    }

    #[test]
    fn broken_links_are_found() {
        assert_eq!(findings("[c](c.md)"), 1);
        assert_eq!(findings("[b](b.md) and [c](../docs/c.md#x)\n[e](../../etc/passwd)"), 2);
    }
}
