// SPDX-License-Identifier: Apache-2.0

//! What ships panics only where a line says why that is right. Assertions are no panics: they stay on.

use crate::Finding;
use crate::items;
use crate::repo::Repo;

/// Every `panic!` and `unreachable!` outside tests has a `// why:`.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        for (word, mark) in [("panic", "!"), ("unreachable", "!"), ("unreachable_unchecked", "(")] {
            for at in items::whole_words(&source.code, word) {
                let called = source.code[at + word.len()..].starts_with(mark);
                if called && !source.is_test_at(at) && !source.says_why(at) {
                    let message = format!("`{word}` outside tests needs a `// why:` on its line or above");
                    findings.push(Finding::at(&source.path, source.line_of(at), message));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Repo::of(&[("crates/x/src/a.rs", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn reasons_tests_and_hooks_pass() {
        let text = "// why: a broken invariant\npanic!();\nstd::panic::set_hook(h);\n#[test]\nfn t() { panic!() }\nunreachable(1);\n";
        assert_eq!(lines(text), []);
    }

    #[test]
    fn bare_panics_are_found() {
        assert_eq!(lines("panic!(\"x\");\nlet x = 1;\nunreachable!();\n"), [1, 3]);
    }
}
