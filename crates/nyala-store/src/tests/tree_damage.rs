// SPDX-License-Identifier: Apache-2.0

//! Bits that flip in the table's file, page by page: an error or the right answer, never anything else.

use std::ops::Bound;

use super::tree::{Rows, commit, open, rows};
use crate::StoreError;
use crate::ordered::OrderedStore;
use crate::testing::Machine;
use crate::tree::{PAGE_BYTES, Tree};
use nyala_wire::SplitMix64;

/// A tree with pages of every kind, some of them left over from older states.
fn machine() -> (Machine, Rows) {
    let (machine, mut model) = (Machine::new(1), Rows::new());
    let tree = open(&machine).unwrap();
    for round in 0..6_u8 {
        let changes = (0..300_u32).filter(|key| round == 0 || key % 7 == u32::from(round)).map(|key| {
            // Alike but for their ends, so that separators are long and the tree is high.
            let mut name = vec![b'n'; 200];
            name.extend(key.to_be_bytes());
            let value = vec![round ^ key as u8; if key % 61 == 0 { 6000 } else { 300 }];
            (name, Some(value))
        });
        let changes = changes.collect();
        commit(&tree, &changes).unwrap();
        model.extend(changes.into_iter().filter_map(|(key, value)| Some((key, value?))));
    }
    (machine, model)
}

/// Reads everything in both ways. Returns whether anything was refused; panics if anything is wrong.
fn check(tree: &Tree, model: &Rows, what: &str) -> bool {
    let mut refused = false;
    let is_damage = |error: &StoreError| matches!(error, StoreError::TableDamaged { .. });
    match rows(tree, Bound::Unbounded, Bound::Unbounded) {
        Ok(found) => assert!(found == *model, "{what}: silently wrong"),
        Err(error) => {
            assert!(is_damage(&error), "{what}: {error}");
            refused = true;
        }
    }
    for (key, value) in model.iter().step_by(if refused { 1 } else { 40 }) {
        match tree.get(key) {
            Ok(found) => assert_eq!(found.as_deref(), Some(&value[..]), "{what}: silently wrong"),
            Err(error) => {
                assert!(is_damage(&error), "{what}: {error}");
                refused = true;
            }
        }
    }
    refused
}

/// Some bytes of a page changed for as long as `run` takes.
fn with_flips<T>(machine: &Machine, good: &[u8], page: usize, flips: &[(usize, u8)], run: impl FnOnce() -> T) -> T {
    let start = page * PAGE_BYTES;
    let mut bytes = good[start..start + PAGE_BYTES].to_vec();
    flips.iter().for_each(|(at, mask)| bytes[*at] ^= mask);
    machine.patch("tree", start, &bytes);
    let result = run();
    machine.patch("tree", start, &good[start..start + PAGE_BYTES]);
    result
}

/// Opens and reads a damaged copy. Returns whether anything was refused.
fn closed(machine: &Machine, model: &Rows, what: &str) -> bool {
    match open(machine) {
        Ok(tree) => check(&tree, model, what),
        Err(error) => {
            assert!(matches!(error, StoreError::TableDamaged { .. }), "{what}: {error}");
            true
        }
    }
}

#[test]
fn a_page_of_any_kind_that_is_flipped_is_refused_or_not_needed() {
    let (machine, model) = machine();
    let (good, kinds) = (machine.read("tree").unwrap(), open(&machine).unwrap().kinds());
    let mut refused = std::collections::BTreeMap::new();
    let flips: Vec<(usize, u8)> = (0..PAGE_BYTES).map(|at| (at, 0xff)).collect();
    for (page, kind) in kinds.iter().enumerate() {
        let what = format!("page {page} ({kind})");
        let is_refused = with_flips(&machine, &good, page, &flips, || closed(&machine, &model, &what));
        assert_eq!(is_refused, !["header", "free"].contains(kind), "{what}: one copy of a header is enough");
        *refused.entry(*kind).or_insert(0) += usize::from(is_refused);
    }
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), ["branch", "free", "header", "large", "leaf", "list"]);
    assert!(refused["branch"] >= 3, "{refused:?}");
}

#[test]
fn every_byte_of_one_page_of_every_kind() {
    let (machine, model) = machine();
    let (good, kinds) = (machine.read("tree").unwrap(), open(&machine).unwrap().kinds());
    for kind in ["branch", "free", "header", "large", "leaf", "list"] {
        let page = kinds.iter().rposition(|other| *other == kind).unwrap();
        for at in 0..PAGE_BYTES {
            let what = format!("byte {at} of page {page} ({kind})");
            let flip = [(at, 1 << (at % 8))];
            let is_refused = with_flips(&machine, &good, page, &flip, || closed(&machine, &model, &what));
            assert!(is_refused || ["free", "header", "large"].contains(&kind), "{what}");
        }
    }
}

#[test]
fn flips_under_an_open_store() {
    let (machine, model) = machine();
    let tree = open(&machine).unwrap();
    let (good, kinds) = (machine.read("tree").unwrap(), tree.kinds());
    let mut random = SplitMix64::new(9);
    for round in 0..3000 {
        let page = round % kinds.len();
        let flips: Vec<(usize, u8)> = (0..1 + random.below(4))
            .map(|_| (random.below(PAGE_BYTES as u64) as usize, 1 << random.below(8)))
            .collect();
        let what = format!("round {round}, page {page}");
        with_flips(&machine, &good, page, &flips, || check(&tree, &model, &what));
    }
    assert!(!check(&tree, &model, "all is well again"));
}

#[test]
fn an_older_version_of_a_page_is_refused() {
    let (machine, model) = machine();
    let old = machine.read("tree").unwrap();
    let tree = open(&machine).unwrap();
    for round in 0..4 {
        // The same rows again: only other places, and other headers.
        let again = model.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
        commit(&tree, &again).unwrap();
        let (new, kinds) = (machine.read("tree").unwrap(), tree.kinds());
        for page in (0..kinds.len().min(old.len() / PAGE_BYTES)).filter(|page| kinds[*page] != "header") {
            let fork = machine.fork();
            let (mut data, bytes) = (new.clone(), page * PAGE_BYTES..(page + 1) * PAGE_BYTES);
            data[bytes.clone()].copy_from_slice(&old[bytes]);
            fork.overwrite("tree", data);
            closed(&fork, &model, &format!("round {round}, page {page} as it was before"));
        }
    }
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let (machine, model) = machine();
    let whole = machine.read("tree").unwrap();
    for pages in 0..whole.len() / PAGE_BYTES {
        let fork = machine.fork();
        fork.overwrite("tree", whole[..pages * PAGE_BYTES + 100].to_vec());
        closed(&fork, &model, &format!("cut after {pages} pages"));
    }
    // The counts that a commit keeps are those of the tree that it read.
    let tree = open(&machine).unwrap();
    assert_eq!(tree.meta().unwrap(), Some(super::tree::META));
}
