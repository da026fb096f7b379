// SPDX-License-Identifier: Apache-2.0

//! What mdBook would warn of or make something else of, found without building the book: tags of HTML, directives, blocks of code without an end, and
//! lines of the contents that are no entry.

use crate::Finding;
use crate::repo::Repo;

const CONTENTS: &str = "docs/SUMMARY.md";

/// Every page below `docs/` is text that mdBook takes as hosts of Markdown do.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in repo.pages.iter().filter(|(path, _)| path.starts_with("docs/")) {
        let mut fence = None;
        for (index, line) in text.lines().enumerate() {
            if line.contains("{{#") {
                findings.push(Finding::at(
                    path,
                    index + 1,
                    "`{{#` is a directive of mdBook, in code too: write it otherwise",
                ));
            }
            if line.trim_start().starts_with("```") {
                fence = if fence.is_none() { Some(index + 1) } else { None };
            } else if fence.is_none() && tag(line) {
                findings.push(Finding::at(path, index + 1, "begins a tag of HTML: put it in backquotes"));
            }
        }
        if let Some(line) = fence {
            findings.push(Finding::at(path, line, "begins a block of code that has no end"));
        }
    }
    for (index, line) in repo.pages.get(CONTENTS).into_iter().flat_map(|text| text.lines().enumerate()) {
        if !entry(line) {
            findings.push(Finding::at(
                CONTENTS,
                index + 1,
                "is no entry of the contents: `- [Title](page.md)`, or a title `# …`",
            ));
        }
    }
    findings
}

/// Whether a line has a tag outside of code; addresses in angle brackets and comments are none.
fn tag(line: &str) -> bool {
    let outside = line.split('`').step_by(2);
    outside.flat_map(|part| part.split('<').skip(1)).any(|rest| {
        let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '-')).collect();
        let begins = name.trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic());
        begins && rest.contains('>') && matches!(rest.chars().nth(name.len()), Some('>' | ' ' | '/'))
    })
}

/// Whether a line of the contents is one that mdBook reads.
fn entry(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches("- ");
    let link = text.starts_with('[') && text.ends_with(')') && text.contains("](");
    line.trim().is_empty() || line.starts_with("# ") || line.starts_with("<!--") || line.starts_with("---") || link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(contents: &str, page: &str) -> usize {
        check(&Repo::of(&[(CONTENTS, contents), ("docs/a.md", page), ("README.md", "<b>")])).len()
    }

    #[test]
    fn what_a_book_takes_passes() {
        let contents = "<!-- x -->\n# Nyala\n\n[A](a.md)\n- [B](b.md)\n  - [C](c.md)\n";
        let page = "<!-- x -->\n`<name>` 1 < 2, a<b <https://a.b>\n```\n<tag> <b>\n```\n";
        assert_eq!(findings(contents, page), 0);
    }

    #[test]
    fn what_a_book_would_spoil_is_found() {
        assert_eq!(findings("", "for each <name> one\n"), 1);
        assert_eq!(findings("", "a line<br/>break, </b>\n"), 1);
        assert_eq!(findings("", "```\n{{#include a.rs}}\n```\n"), 1);
        assert_eq!(findings("", "```sh\nls\n"), 1);
        assert_eq!(findings("A page without a link\n", ""), 1);
        assert_eq!(findings("- A [B](b.md)\n", ""), 1);
    }
}
