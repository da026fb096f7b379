// SPDX-License-Identifier: Apache-2.0

//! Sources are ASCII, but for the few signs that drawings and formulas need: what looks like one letter is one.

use crate::Finding;
use crate::repo::Repo;

/// Signs besides the box-drawing block (U+2500 to U+257F).
const ALLOWED: &str = "►▼▲◄…–—×÷·±≤≥≠≈∞µ²³½§°→←↑↓↔⇒";

/// Only allowed signs are outside ASCII. Tests may use any letter in strings: names of files are not ASCII.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        let strange = |c: char| !c.is_ascii() && !('\u{2500}'..='\u{257f}').contains(&c) && !ALLOWED.contains(c);
        for (at, c) in source.text.char_indices().filter(|(_, c)| strange(*c)) {
            let in_literal = source.code.as_bytes()[at] == b' ';
            if !(in_literal && source.is_test_at(at)) {
                let message = format!("{c:?} (U+{:04X}) is not ASCII: write it as an escape", u32::from(c));
                findings.push(Finding::at(&source.path, source.line_of(at), message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Repo::of(&[(path, text)])).len()
    }

    #[test]
    fn drawings_pass() {
        assert_eq!(findings("crates/x/src/a.rs", "//! a \u{2500}\u{25ba} b \u{2264} 3 \u{b5}s\n"), 0);
        assert_eq!(findings("crates/x/tests/a.rs", "f(\"\u{e4}\");\n"), 0);
    }

    #[test]
    fn other_letters_are_found() {
        assert_eq!(findings("crates/x/src/a.rs", "let \u{430} = 1;\n"), 1);
        assert_eq!(findings("crates/x/src/a.rs", "f(\"\u{200b}\");\n"), 1);
        assert_eq!(findings("crates/x/tests/a.rs", "let \u{430} = 1;\n"), 1);
    }
}
