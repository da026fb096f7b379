// SPDX-License-Identifier: Apache-2.0

//! Nothing unfinished, switched off or left behind, in tests neither.

use crate::Finding;
use crate::repo::Repo;

/// In code; written in two halves so that this file does not hold them.
const IN_CODE: &[&str] =
    &[concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!("), concat!("#[ig", "nore")];

/// Anywhere, also in prose.
const ANYWHERE: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];

/// None of the marks of unfinished work is in any Rust file.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        let in_code = IN_CODE.iter().map(|mark| (mark, &source.code));
        for (mark, text) in in_code.chain(ANYWHERE.iter().map(|mark| (mark, &source.text))) {
            for (at, _) in text.match_indices(mark) {
                let message = format!("`{mark}`: finish it or take it out");
                findings.push(Finding::at(&source.path, source.line_of(at), message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        check(&Repo::of(&[("crates/x/tests/a.rs", text)])).len()
    }

    #[test]
    fn finished_files_pass() {
        assert_eq!(findings("fn f() { g(\"what to do\") }"), 0);
    }

    #[test]
    fn every_mark_is_found() {
        for mark in IN_CODE {
            assert_eq!(findings(mark), 1, "{mark}");
        }
        for mark in ANYWHERE {
            assert_eq!(findings(&format!("// {mark} later")), 1, "{mark}");
        }
    }
}
