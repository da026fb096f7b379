// SPDX-License-Identifier: Apache-2.0

//! Every page in use is compared.

use super::*;
use crate::ordered::{CheckpointMeta, OrderedStore};
use crate::testing::Machine;
use crate::tree::{FILE_NAME, PAGE_BYTES, Tree};
use std::collections::BTreeSet;

const META: CheckpointMeta = CheckpointMeta { store_id: 1, lsn: 1, sequence: 1, offset: 0 };

/// Three levels, with large values among others.
fn tree(machine: &Machine) -> Tree {
    let tree = Tree::open(&*machine.disk(), 1 << 30, 1 << 20).unwrap();
    let rows = (0..30_000_u32).map(|at| (at.to_be_bytes(), vec![at as u8; if at % 1000 == 7 { 9000 } else { 50 }]));
    let rows: Vec<_> = rows.collect();
    tree.commit(&mut rows.iter().map(|(key, value)| (&key[..], Some(&value[..]))), META).unwrap();
    // And a list of free pages that says something.
    tree.commit(&mut rows.iter().take(3000).map(|(key, _)| (&key[..], None)), META).unwrap();
    tree
}

fn pass(tree: &Tree, pages: u64) -> (u64, Vec<StoreError>, u64) {
    let (mut from, mut compared, mut damage, mut slices) = (Vec::new(), 0, Vec::new(), 0);
    loop {
        let slice = tree.verify(&from, pages);
        compared += slice.pages;
        damage.extend(slice.damage);
        slices += 1;
        match slice.next {
            Some(next) => {
                assert!(next > from, "it gets on");
                from = next;
            }
            None => return (compared, damage, slices),
        }
    }
}

#[test]
fn every_page_in_use_is_compared_and_a_flip_in_any_is_found() {
    let machine = Machine::new(3);
    let (tree, file) = (tree(&machine), machine.disk().open(FILE_NAME).unwrap());
    let kinds = tree.kinds();
    let used: Vec<u64> = (4..kinds.len() as u64).filter(|page| kinds[*page as usize] != "free").collect();
    assert_eq!(
        BTreeSet::from_iter(&kinds),
        BTreeSet::from_iter(&["header", "branch", "leaf", "large", "list", "free"])
    );
    let whole = pass(&tree, u64::MAX);
    assert_eq!((whole.0, whole.1.len(), whole.2), (used.len() as u64, 0, 1));
    let (compared, damage, slices) = pass(&tree, 20);
    assert!(damage.is_empty() && slices > 10 && compared >= whole.0, "branches are read again: {slices} slices");
    for page in used {
        // The last page of a large value may have room behind it.
        let at = page * PAGE_BYTES as u64 + page * 37 % (9000 % PAGE_BYTES as u64);
        let mut byte = [0];
        file.read_at(at, &mut byte).unwrap();
        file.write_at(at, &[byte[0] ^ 16]).unwrap();
        // Kept in memory or not: reads are right as long as they are, and the disk is not.
        let damage = pass(&tree, 20).1;
        assert!(!damage.is_empty(), "page {page}, a {}", kinds[page as usize]);
        assert!(damage.iter().all(|error| matches!(error, StoreError::TableDamaged { .. })), "{damage:?}");
        file.write_at(at, &byte).unwrap();
    }
    assert_eq!(pass(&tree, 20).1.len(), 0);
}

#[test]
fn damage_in_several_pages_is_several_findings() {
    let machine = Machine::new(4);
    let (tree, file) = (tree(&machine), machine.disk().open(FILE_NAME).unwrap());
    let kinds = tree.kinds();
    let leaves: Vec<u64> = (4..kinds.len() as u64).filter(|page| kinds[*page as usize] == "leaf").step_by(9).collect();
    leaves.iter().for_each(|page| file.write_at(page * PAGE_BYTES as u64 + 99, &[0xa5; 3]).unwrap());
    assert_eq!(pass(&tree, 7).1.len(), leaves.len());
    assert!(leaves.len() > 20);
}
