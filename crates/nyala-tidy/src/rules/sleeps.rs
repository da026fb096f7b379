// SPDX-License-Identifier: Apache-2.0

//! Tests wait for conditions, not for times: a fixed time is too short on a busy machine and too long on every other one.

use crate::Finding;
use crate::items;
use crate::repo::Repo;

/// Of the simulator of services, whose clock is simulated, and of measurements, which measure over a time.
const NOT_REAL_OR_NO_TESTS: [&str; 3] = ["crates/nyala-sim-services/", "/examples/", "/benches/"];

/// Every call of a function `sleep` in tests that has no `// sleeps:` with its reason. A ratchet counts them.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_test = |path: &str| !NOT_REAL_OR_NO_TESTS.iter().any(|part| path.contains(part));
    for source in repo.sources.iter().filter(|source| is_test(&source.path)) {
        for at in items::whole_words(&source.code, "sleep") {
            let called = source.code[at + "sleep".len()..].starts_with('(');
            let declared = source.code[..at].trim_end().ends_with("fn");
            if called && !declared && source.is_test_at(at) && !source.says(at, "// sleeps:") {
                let message =
                    "a test sleeps: wait for what it waits for, or say why not (`// sleeps:` on its line or above)";
                findings.push(Finding::at(&source.path, source.line_of(at), message.to_owned()));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Repo::of(&[("crates/x/tests/a.rs", text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn bare_sleeps_are_found() {
        assert_eq!(lines("thread::sleep(a);\nx.sleep(b).await;\nlet pause = || sleep(c);\n"), [1, 2, 3]);
    }

    #[test]
    fn reasons_other_words_and_what_ships_pass() {
        let text = "// sleeps: the interval of a poll\nsleep(a);\nsleep(b); // sleeps: as above\nfn sleep(c: u8) {}\n\
                    oversleep(d);\nuse x::sleep;\nsleep_until(e);\nf(\"sleep(1)\");\n";
        assert_eq!(lines(text), []);
        for path in ["crates/x/src/a.rs", "crates/x/examples/a.rs", "crates/nyala-sim-services/src/a.rs"] {
            assert_eq!(check(&Repo::of(&[(path, "sleep(a);\n")])).len(), 0, "{path}");
        }
    }
}
