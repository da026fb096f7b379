// SPDX-License-Identifier: Apache-2.0

//! Every rule, applied to this repository: a test per rule, so that a failure names what was broken.

use nyala_tidy::repo::Repo;
use nyala_tidy::{Finding, ratchet, rules};
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const RATCHET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ratchet.toml");

fn repo() -> &'static Repo {
    static REPO: OnceLock<Repo> = OnceLock::new();
    REPO.get_or_init(|| Repo::read(Path::new(ROOT)).unwrap())
}

fn holds(rule: fn(&Repo) -> Vec<Finding>) {
    let mut findings = rule(repo());
    findings.sort();
    let list: String = findings.iter().map(|finding| format!("  {finding}\n")).collect();
    assert!(findings.is_empty(), "{} findings:\n{list}", findings.len());
}

macro_rules! rules {
    ($($rule:ident),*) => {
        $(#[test]
        fn $rule() {
            holds(rules::$rule::check);
        })*
    };
}

rules!(
    architecture,
    ascii,
    book,
    book_settings,
    book_text,
    circles,
    decisions,
    expects,
    failure_model,
    headers,
    layering,
    leftovers,
    links,
    lints_table,
    names,
    panics,
    purity,
    semantics,
    sizes
);

#[test]
fn this_repository_was_read() {
    assert!(repo().sources.len() > 100 && repo().crates().count() >= 12 && repo().book.is_some());
}

#[test]
fn ratchet() {
    let counts = ratchet::count(repo());
    if std::env::var_os("UPDATE_RATCHET").is_some() {
        std::fs::write(RATCHET, ratchet::render(&counts)).unwrap();
        return;
    }
    let verdict = ratchet::compare(&counts, &std::fs::read_to_string(RATCHET).unwrap()).unwrap();
    if !verdict.shrunk.is_empty() {
        // To the stream itself: what `eprintln!` writes is hidden when a test passes.
        let say = format!("{}: lower crates/nyala-tidy/ratchet.toml (UPDATE_RATCHET=1)\n", verdict.shrunk.join("; "));
        std::io::stderr().write_all(say.as_bytes()).unwrap();
    }
    let sleeps = rules::sleeps::check(repo()).iter().map(|finding| format!("  {finding}\n")).collect::<String>();
    let hint = if verdict.grown.iter().any(|grown| grown.starts_with("sleeps")) { sleeps } else { String::new() };
    assert!(
        verdict.grown.is_empty(),
        "{}: split what you added, and wait for conditions\n{hint}",
        verdict.grown.join("; ")
    );
}
