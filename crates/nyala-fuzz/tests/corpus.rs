// SPDX-License-Identifier: Apache-2.0

//! Every target on its corpus and on mutations of it. What `make fuzz` found once is found again here, by any compiler.
//!
//! A corpus without an input that is accepted has gone stale, most likely because the format has changed: then a run of
//! `make fuzz TARGETS=NAME` on its inputs finds new ones.

use nyala_fuzz::{Mutator, TARGETS, Target};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{read, read_dir};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Mutations of each target.
const MUTATIONS: u32 = 5000;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz"))
}

/// The inputs of a target, in the order of their names.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let dir = root().join("corpus").join(target.name);
    let listed = read_dir(&dir).unwrap_or_else(|error| panic!("no corpus {}: {error}", dir.display()));
    let files: BTreeSet<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "the corpus {} is empty", dir.display());
    files.iter().map(|file| read(file).unwrap()).collect()
}

/// Whether the input was accepted. Tells what it was if the target panics.
fn run(target: &Target, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).unwrap_or_else(|_| {
        let mut hex = String::new();
        input.iter().for_each(|byte| write!(hex, "{byte:02x}").unwrap());
        panic!("{}: a wrong result. Keep the input with the fix: printf %s {hex} | xxd -r -p", target.name)
    })
}

#[test]
fn every_corpus_and_mutations_of_it() {
    for (seed, target) in (1..).zip(TARGETS) {
        let inputs = corpus(target);
        let accepted = inputs.iter().filter(|input| run(target, input)).count();
        assert!(accepted > 0, "{}: no input of its corpus is accepted any more", target.name);
        let mut mutator = Mutator::new(seed);
        for _ in 0..MUTATIONS {
            run(target, &mutator.next(&inputs));
        }
    }
}

#[test]
fn targets_corpora_and_programs_of_cargo_fuzz_are_the_same() {
    let names = |dir: &str, end: &str| -> BTreeSet<String> {
        let listed = read_dir(root().join(dir)).unwrap();
        let names = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.map(|name| name.strip_suffix(end).expect(&name).to_owned()).collect()
    };
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len(), "two have one name");
    assert_eq!(names("corpus", ""), targets);
    assert_eq!(names("fuzz_targets", ".rs"), targets);
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    for name in &targets {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "fuzz/Cargo.toml has no program {name}");
    }
}
