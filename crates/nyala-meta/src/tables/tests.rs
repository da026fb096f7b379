// SPDX-License-Identifier: Apache-2.0

//! What is kept in memory is what the store has, whatever became of a batch.

use super::*;
use nyala_wire::ErrorCode;
use nyala_wire::Slot;

#[test]
fn numbers_are_those_of_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Store::open(dir.path(), nyala_store::Options { manual: true, ..Default::default() }).unwrap().0;
    let (count, next, gone) = (keys::inode_count(), keys::next_sequence(Slot(3)), keys::next_sequence(Slot(4)));
    let same = |tables: &Tables, expected: [Option<u64>; 3]| {
        for (key, expected) in [&count, &next, &gone].into_iter().zip(expected) {
            assert_eq!(tables.number(key).unwrap(), expected);
            assert_eq!(StoreView(&tables.store).number(key).unwrap(), expected);
        }
    };
    let row = |number: u64| number.to_le_bytes();
    let tables = Tables::new(open()).unwrap();
    same(&tables, [None; 3]);
    tables.apply(Batch::new().put(&count, row(1)).put(&next, row(2)).put(&gone, row(3))).unwrap();
    tables.clone().apply(Batch::new().put(&count, row(5)).delete(&gone)).unwrap();
    same(&tables, [Some(5), Some(2), None]);
    tables.apply(Batch::new().put(&count, row(9)).put(b"", b"no key")).unwrap_err();
    same(&tables, [Some(5), Some(2), None]);
    tables.store.sync_blocking().unwrap();
    drop(tables);
    let tables = Tables::new(open()).unwrap();
    same(&tables, [Some(5), Some(2), None]);
    tables.apply(Batch::new().put(&count, b"no number")).unwrap();
    assert_eq!(tables.number(&count).unwrap_err().code, ErrorCode::IO);
}
