// SPDX-License-Identifier: Apache-2.0

//! Random operations against a `BTreeMap`, with the tree below, reopened now and then.

use std::ops::{Bound, ControlFlow};

use proptest::prelude::*;

use super::{Content, content};
use crate::{Batch, Options, Store};

#[derive(Debug, Clone)]
enum Op {
    Batch(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    Get(Vec<u8>),
    Scan(Bound<Vec<u8>>, Bound<Vec<u8>>, usize),
    Checkpoint,
    Reopen { close: bool },
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::collection::vec(0u8..3, 1..4),
        1 => prop::collection::vec(any::<u8>(), 1..60),
        1 => Just(vec![1; 480]),
    ]
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
}

fn op() -> impl Strategy<Value = Op> {
    let value = prop_oneof![9 => prop::collection::vec(any::<u8>(), 0..50), 1 => Just(vec![7; 5000])];
    let change = (key(), prop::option::weighted(0.7, value));
    prop_oneof![
        8 => prop::collection::vec(change, 0..5).prop_map(Op::Batch),
        4 => key().prop_map(Op::Get),
        4 => (bound(), bound(), 1usize..10).prop_map(|(from, to, limit)| Op::Scan(from, to, limit)),
        1 => Just(Op::Checkpoint),
        1 => any::<bool>().prop_map(|close| Op::Reopen { close }),
    ]
}

fn scan_model(model: &Content, from: &Bound<Vec<u8>>, to: &Bound<Vec<u8>>, limit: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let inside = |key: &Vec<u8>| {
        (match from {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        }) && match to {
            Bound::Included(to) => key <= to,
            Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        }
    };
    model.iter().filter(|(key, _)| inside(key)).take(limit).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn run(store: &Store, model: &mut Content, op: &Op) {
    match op {
        Op::Batch(changes) => {
            let mut batch = Batch::new();
            for (key, value) in changes {
                match value {
                    Some(value) => {
                        batch.put(key, value);
                        model.insert(key.clone(), value.clone());
                    }
                    None => {
                        batch.delete(key);
                        model.remove(key);
                    }
                }
            }
            store.apply(batch).unwrap();
        }
        Op::Get(key) => assert_eq!(store.get(key).unwrap().as_deref(), model.get(key).map(Vec::as_slice)),
        Op::Scan(from, to, limit) => {
            let mut found = Vec::new();
            let mut visit = |key: &[u8], value: &[u8]| {
                found.push((key.to_vec(), value.to_vec()));
                if found.len() == *limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            store.scan(from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice), &mut visit).unwrap();
            assert_eq!(found, scan_model(model, from, to, *limit));
        }
        Op::Checkpoint => store.checkpoint_blocking().unwrap(),
        Op::Reopen { .. } => unreachable!("the caller does it"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_a_map(ops in prop::collection::vec(op(), 1..60), manual in any::<bool>()) {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { segment_bytes: 8192, table_bytes: 64 << 20, manual, ..Options::default() };
        let mut model = Content::new();
        let mut store = Store::open(dir.path(), options.clone()).unwrap().0;
        for op in &ops {
            if let Op::Reopen { close } = op {
                if *close { store.close().unwrap() } else { drop(store) }
                store = Store::open(dir.path(), options.clone()).unwrap().0;
            } else {
                run(&store, &mut model, op);
            }
        }
        prop_assert_eq!(content(&store), model);
    }
}
