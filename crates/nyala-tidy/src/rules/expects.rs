// SPDX-License-Identifier: Apache-2.0

//! No `unwrap` in what ships, and an `expect` says why it cannot fail.

use crate::Finding;
use crate::repo::Repo;
use crate::source::Source;

/// Fewest characters that a reason has.
const REASON_CHARS: usize = 15;

/// Unwraps are absent and expects have reasons.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in &repo.sources {
        for unwrap in [".unwrap()", ".unwrap_err()"] {
            for at in source.product_hits(unwrap) {
                let message = format!("`{unwrap}` outside tests: return an error, or `expect` with the reason");
                findings.push(Finding::at(&source.path, source.line_of(at), message));
            }
        }
        for at in source.product_hits(".expect(") {
            if !has_reason(source, at + ".expect(".len()) && !source.says_why(at) {
                let message =
                    format!("`expect` needs a message of {REASON_CHARS} characters that says why, or `// why:`");
                findings.push(Finding::at(&source.path, source.line_of(at), message));
            }
        }
    }
    findings
}

/// Whether a string literal of enough characters follows.
fn has_reason(source: &Source, argument: usize) -> bool {
    let rest = &source.code[argument..];
    let start = argument + (rest.len() - rest.trim_start().len()) + 1;
    if !rest.trim_start().starts_with('"') {
        return false;
    }
    let Some(len) = source.code[start..].find('"') else { return false };
    source.text[start..start + len].trim().chars().count() >= REASON_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Repo::of(&[("crates/x/src/a.rs", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn reasons_pass() {
        let text = "a.expect(\"the lock is never poisoned\");\na\n .expect(\n  \"the lock is never poisoned\");\n\
                    // why: checked above\nb.expect(MESSAGE);\nc.unwrap_or(0);\n";
        assert_eq!(lines(text), []);
    }

    #[test]
    fn what_gives_no_reason_is_found() {
        assert_eq!(
            lines("a.unwrap();\nb.expect(\"ok\");\nc.expect(MESSAGE);\nd.expect(\"             \");\n"),
            [1, 2, 3, 4]
        );
    }

    #[test]
    fn tests_and_prose_may() {
        assert_eq!(lines("// .unwrap()\nf(\".unwrap()\");\n#[cfg(test)]\nmod tests { fn f() { a.unwrap(); } }\n"), []);
    }
}
