// SPDX-License-Identifier: Apache-2.0

//! The tree against a map, and its pages against a count of all of them.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use crate::ordered::{CheckpointMeta, OrderedStore};
use crate::testing::Machine;
use crate::tree::Tree;
use crate::{StoreError, prefix_end};
use nyala_wire::SplitMix64;

pub(super) type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

pub(super) const META: CheckpointMeta = CheckpointMeta { store_id: 5, lsn: 7, sequence: 2, offset: 4096 };

pub(super) fn open(machine: &Machine) -> Result<Tree, StoreError> {
    Tree::open(&*machine.disk(), 1 << 30, 0)
}

pub(super) fn commit(tree: &Tree, changes: &Changes) -> Result<(), StoreError> {
    tree.commit(&mut changes.iter().map(|(key, value)| (&key[..], value.as_deref())), META)
}

pub(super) fn rows(tree: &Tree, from: Bound<&[u8]>, to: Bound<&[u8]>) -> Result<Rows, StoreError> {
    let mut all = Rows::new();
    tree.scan(from, to, &mut |key, value| {
        assert!(all.last_key_value().is_none_or(|(last, _)| last[..] < *key), "scan out of order");
        all.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    })?;
    Ok(all)
}

/// Keys of a few directories, values of all sizes, and now and then a whole directory that goes.
fn random_changes(random: &mut SplitMix64, model: &Rows) -> Changes {
    let mut changes = Changes::new();
    let shrinks = random.below(3) == 0;
    for _ in 0..1 + random.below(60) {
        let mut key = vec![b'a' + random.below(3) as u8];
        key.extend(random.below(700).to_be_bytes());
        key.resize(key.len() + random.below(8) as usize * 50, 7);
        let bytes = [0, 10, 100, 1500, 4096, 9000][random.below(6) as usize] + random.below(300);
        let value = (!shrinks && random.below(4) > 0).then(|| vec![random.bits() as u8; bytes as usize]);
        changes.insert(key, value);
    }
    if shrinks {
        let start = [b'a' + random.below(3) as u8];
        let end = prefix_end(&start);
        changes.extend(model.range(start.to_vec()..end).take(400).map(|(key, _)| (key.clone(), None)));
    }
    changes
}

#[test]
fn behaves_like_a_map_and_knows_all_its_pages() {
    let (mut random, machine) = (SplitMix64::new(1), Machine::new(1));
    let (mut model, mut tree) = (Rows::new(), open(&machine).unwrap());
    for round in 0..400 {
        let changes = random_changes(&mut random, &model);
        commit(&tree, &changes).unwrap();
        for (key, value) in changes {
            match value {
                Some(value) => model.insert(key, value),
                None => model.remove(&key),
            };
        }
        if random.below(20) == 0 {
            tree = open(&machine).unwrap();
        }
        tree.audit().unwrap();
        let (low, high) = (vec![b'a' + random.below(3) as u8, 0, 0], vec![b'a' + random.below(4) as u8, 0, 0, 5]);
        let bounds = (Bound::Excluded(&low[..]), Bound::Included(&high[..]));
        if low < high {
            let expected: Rows =
                model.range::<[u8], _>(bounds).map(|(key, value)| (key.clone(), value.clone())).collect();
            assert!(rows(&tree, bounds.0, bounds.1).unwrap() == expected, "round {round}");
        }
        if round % 20 == 0 {
            assert!(rows(&tree, Bound::Unbounded, Bound::Unbounded).unwrap() == model, "round {round}");
            for (key, value) in &model {
                assert_eq!(tree.get(key).unwrap().as_deref(), Some(&value[..]), "round {round}");
                let missing = [&key[..], &[0]].concat();
                assert_eq!(tree.get(&missing).unwrap(), None, "round {round}");
            }
        }
    }
    let all: Changes = model.keys().map(|key| (key.clone(), None)).collect();
    commit(&tree, &all).unwrap();
    assert!(rows(&tree, Bound::Unbounded, Bound::Unbounded).unwrap().is_empty());
    tree.audit().unwrap();
    assert!(open(&machine).unwrap().get(b"a").unwrap().is_none());
}

#[test]
fn space_is_used_again() {
    let machine = Machine::new(1);
    let tree = open(&machine).unwrap();
    let size = || machine.files().iter().find(|(name, _)| name == "tree").unwrap().1;
    let changes = |round: u8| -> Changes {
        (0..2000_u32).map(|key| ((key * 7919 % 2000).to_be_bytes().to_vec(), Some(vec![round; 200]))).collect()
    };
    for round in 0..3 {
        commit(&tree, &changes(round)).unwrap();
    }
    let before = size();
    for round in 3..30 {
        commit(&tree, &changes(round)).unwrap();
    }
    assert_eq!(size(), before);
}

#[test]
fn a_reader_sees_its_state_to_the_end() {
    let machine = Machine::new(1);
    let tree = open(&machine).unwrap();
    let state = |round: u8| -> Changes {
        (0..500_u32).map(|key| (key.to_be_bytes().to_vec(), Some(vec![round; 90]))).collect()
    };
    commit(&tree, &state(0)).unwrap();
    let mut seen = 0;
    tree.scan(Bound::Unbounded, Bound::Unbounded, &mut |_, value| {
        if seen % 50 == 0 {
            commit(&tree, &state(1 + (seen / 50) as u8)).unwrap();
        }
        assert_eq!(value, [0; 90]);
        seen += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, 500);
    tree.audit().unwrap();
    assert_eq!(tree.get(&3_u32.to_be_bytes()).unwrap().as_deref(), Some(&[10; 90][..]));
}

#[test]
fn a_full_disk_changes_nothing_and_can_be_tried_again() {
    let machine = Machine::new(1);
    let tree = open(&machine).unwrap();
    let first: Changes = [(b"a".to_vec(), Some(b"1".to_vec()))].into();
    commit(&tree, &first).unwrap();
    machine.set_free_bytes(Some(100_000));
    let mut changes: Changes = (0..300_u32).map(|key| (key.to_be_bytes().to_vec(), Some(vec![7; 1000]))).collect();
    changes.insert(b"a".to_vec(), None);
    changes.insert(b"large".to_vec(), Some(vec![1; 900_000]));
    for _ in 0..3 {
        let refused = commit(&tree, &changes).unwrap_err();
        assert!(matches!(refused, StoreError::OrderedFull { .. }), "{refused}");
        assert_eq!(rows(&tree, Bound::Unbounded, Bound::Unbounded).unwrap().len(), 1);
        tree.audit().unwrap();
    }
    commit(&tree, &first).unwrap();
    machine.set_free_bytes(None);
    commit(&tree, &changes).unwrap();
    tree.audit().unwrap();
    assert_eq!(rows(&tree, Bound::Unbounded, Bound::Unbounded).unwrap().len(), 301);
}

/// What a name space does to its tables: directories full of rows that follow each other come and go as a whole, so that
/// branches lose their first children, get rows in the gap before the next, and are joined with the branch before them.
#[test]
fn branches_whose_first_children_went_are_joined_without_loss() {
    for seed in 0..8 {
        let (mut random, machine) = (SplitMix64::new(seed), Machine::new(seed));
        let (tree, mut model) = (open(&machine).unwrap(), Rows::new());
        for round in 0..60 {
            let mut changes = Changes::new();
            for _ in 0..1 + random.below(3) {
                let (first, most) = (random.below(12_000), [30, 300, 3000][random.below(3) as usize]);
                let lives = random.coin();
                for number in first..first + 1 + random.below(most) {
                    let key = [&[7; 120], &number.to_be_bytes()[..]].concat();
                    if lives || model.contains_key(&key) {
                        changes.insert(key, lives.then(|| vec![round as u8; 30]));
                    }
                }
            }
            commit(&tree, &changes).unwrap();
            for (key, value) in changes {
                match value {
                    Some(value) => model.insert(key, value),
                    None => model.remove(&key),
                };
            }
            tree.audit().unwrap();
            let lost = model.iter().filter(|(key, value)| tree.get(key).unwrap().as_deref() != Some(&value[..]));
            assert_eq!(lost.count(), 0, "seed {seed}, round {round}: rows of {} cannot be found", model.len());
            assert!(rows(&tree, Bound::Unbounded, Bound::Unbounded).unwrap() == model, "seed {seed}, round {round}");
        }
    }
}
