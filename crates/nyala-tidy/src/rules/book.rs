// SPDX-License-Identifier: Apache-2.0

//! The pages of `docs/` are a book: its contents name each of them once, and links to a heading lead to one.

use crate::Finding;
use crate::repo::Repo;
use std::collections::BTreeSet;

const CONTENTS: &str = "docs/SUMMARY.md";

/// The contents name every page of `docs/` once, and every link to a heading of a page leads to one.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    let contents = repo.pages.get(CONTENTS).map_or("", String::as_str);
    for path in repo.pages.keys().filter(|path| *path != CONTENTS) {
        let Some(page) = path.strip_prefix("docs/") else { continue };
        // Decisions are in the list that the contents name: the other rule.
        let listed = !page.starts_with("decisions/") || page == "decisions/README.md";
        let times = contents.matches(&format!("]({page})")).count();
        if listed && times != 1 {
            findings.push(Finding::file(path, format!("is in {CONTENTS} {times} times: name it there once")));
        }
    }
    for (path, text) in &repo.pages {
        for (line, target) in links(text) {
            let Some((file, heading)) = target.split_once('#') else { continue };
            let page = if file.is_empty() { Some(path.clone()) } else { joined(path, file) };
            let Some(there) = page.and_then(|page| repo.pages.get(&page)) else { continue };
            if !headings(there).contains(heading) {
                findings.push(Finding::at(path, line, format!("the link to `{target}` leads to no heading")));
            }
        }
    }
    findings
}

/// Lines outside of code blocks, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence && !fenced).then_some((index + 1, line))
    })
}

/// Targets of links outside of code, with their lines.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    prose(text).flat_map(|(number, line)| {
        let words = line.split('`').step_by(2).flat_map(|part| part.split("](").skip(1));
        words.filter_map(move |rest| Some((number, rest.split(')').next()?)))
    })
}

/// The path of a page that another one names.
fn joined(from: &str, file: &str) -> Option<String> {
    if file.contains("://") || !file.ends_with(".md") {
        return None;
    }
    let mut at: Vec<&str> = from.split('/').collect();
    at.pop();
    for part in file.split('/') {
        match part {
            "." => {}
            ".." => at.truncate(at.len().checked_sub(1)?),
            name => at.push(name),
        }
    }
    Some(at.join("/"))
}

/// What links call the headings of a page, as hosts of Markdown make it.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = prose(text).filter(|(_, line)| line.starts_with('#'));
    let slug = |(_, line): (usize, &str)| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    titles.map(slug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(contents: &str, text: &str) -> usize {
        check(&Repo::of(&[(CONTENTS, contents), ("docs/a.md", text), ("README.md", "# Top\n")])).len()
    }

    #[test]
    fn a_page_is_named_once() {
        assert_eq!(findings("[A](a.md)", ""), 0);
        assert_eq!(findings("", ""), 1);
        assert_eq!(findings("[A](a.md) [B](a.md)", ""), 1);
    }

    #[test]
    fn links_to_headings_are_followed() {
        let good =
            "# One two\n## What's `new`?\n[x](#one-two) [y](#whats-new) [z](../README.md#top) [w](https://a/b.md#c)\n";
        assert_eq!(findings("[A](a.md)", good), 0);
        assert_eq!(findings("[A](a.md)", "# One\n[x](#two) [y](../README.md#bottom)"), 2);
        assert_eq!(findings("[A](a.md)", "```\n# one\n```\n[x](#one) `[y](#z)`"), 1);
    }
}
