// SPDX-License-Identifier: Apache-2.0

//! Pure crates, and the `logic` folders of others, do no I/O, read no clock, start no thread and draw no random number: all
//! of that is handed to them.

use crate::Finding;
use crate::items;
use crate::repo::Repo;
use crate::source::Source;

/// Pure crates.
pub const PURE: &[&str] = &[
    "nyala-wire",
    "nyala-cluster",
    "nyala-replica",
    "nyala-replica-breakable",
    "nyala-kv",
    "nyala-metrics",
    "nyala-namespace",
    "nyala-parity",
    "nyala-raid",
    "nyala-fsck",
    "nyala-plan",
    "nyala-tune",
    "nyala-web",
];

const BANNED: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
    "std::net::Tcp",
    "std::net::Udp",
    "std::time::Instant",
    "Instant::now",
    "SystemTime",
    "RandomState",
    "File::open",
    "TcpStream",
    "println!",
];

/// Modules of `std` that may not be imported through a list either, as in `use std::{fs, thread};`.
const BANNED_MODULES: &[&str] = &["fs", "env", "process", "thread"];

/// Whether a source is of a pure crate, or of the deciding part of a room of another one.
fn is_pure(source: &Source) -> bool {
    source.crate_name().is_some_and(|name| PURE.contains(&name)) || source.path.contains("/logic/")
}

/// Pure code, other than its tests, names nothing impure.
pub fn check(repo: &Repo) -> Vec<Finding> {
    let pure = repo.sources.iter().filter(|source| is_pure(source));
    let mut findings = Vec::new();
    for source in pure {
        let mut found = |at: usize, what: &str| {
            let message = format!("{what} in pure code: take the value as an argument");
            findings.push(Finding::at(&source.path, source.line_of(at), message));
        };
        for banned in BANNED {
            source.product_hits(banned).for_each(|at| found(at, banned));
        }
        for word in ["rand", "getrandom"] {
            items::whole_words(&source.code, word).filter(|at| !source.is_test_at(*at)).for_each(|at| found(at, word));
        }
        for list in source.product_hits("std::{") {
            let imported = &source.code[list..items::item_end(&source.code, list)];
            for module in BANNED_MODULES {
                items::whole_words(imported, module).for_each(|at| found(list + at, module));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Repo::of(&[(path, text)])).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn types_and_prose_pass() {
        let text = "use std::net::SocketAddr;\n// std::fs\nfn f() { g(\"std::fs\") }\nfn operand() {}\n";
        assert!(lines("crates/nyala-wire/src/a.rs", text).is_empty());
    }

    #[test]
    fn impure_code_is_found() {
        let text = "use std::fs;\nuse std::{fmt, thread};\nfn f() { Instant::now(); }\nfn g() { rand::random() }\n";
        let mut got = lines("crates/nyala-cluster/src/a.rs", text);
        got.sort_unstable();
        assert_eq!(got, [1, 2, 3, 4]);
        assert_eq!(lines("crates/nyala-client/src/file/logic/a.rs", "use std::fs;\n"), [1]);
    }

    #[test]
    fn tests_and_shells_may() {
        let text = "#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert!(lines("crates/nyala-cluster/src/a.rs", text).is_empty());
        assert!(lines("crates/nyala-store/src/a.rs", "use std::fs;\n").is_empty());
        assert!(lines("crates/nyala-client/src/file/a.rs", "use std::fs;\n").is_empty());
    }
}
