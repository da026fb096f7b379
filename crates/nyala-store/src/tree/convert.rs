// SPDX-License-Identifier: Apache-2.0

//! Opening the directory of a checkpoint store, and making a tree of what older builds kept in LMDB.
//!
//! # Failure model
//! The tree is made beside LMDB's file under a temporary name and gets its own when it is complete and durable; only then
//! LMDB's files are removed. A crash before that starts over, one after it finishes the removal. Nothing in LMDB says
//! what its inner pages should be, so damage there may have hidden rows before; it is refused where it shows: a value
//! that does not match its checksum, or another number of rows than LMDB counts.

use std::ops::Bound;
use std::path::Path;

use super::{FILE_NAME, Tree};
use crate::StoreError;
use crate::lmdb::{self, Lmdb};
use crate::log::disk::LogDisk;
use crate::log::files::LogDirectory;
use crate::memtable::Memtable;
use crate::ordered::{CheckpointMeta, OrderedStore};

/// Memory of the rows that are carried over in one commit.
const STEP_BYTES: usize = 64 << 20;

/// Opens the tree in `dir`, making it if needed, out of an LMDB environment if there is one.
pub(crate) fn open_directory(dir: &Path, max_bytes: u64, cache_bytes: usize) -> Result<Tree, StoreError> {
    let location = || dir.display().to_string();
    let disk = LogDirectory::open(dir).map_err(|e| StoreError::io("open", location(), e))?;
    if lmdb::is_in(dir) {
        if !dir.join(FILE_NAME).exists() {
            convert(&disk, dir, max_bytes, cache_bytes)?;
        }
        lmdb::remove(dir)
            .and_then(|()| disk.sync_dir())
            .map_err(|e| StoreError::io("remove LMDB's files in", location(), e))?;
    }
    Tree::open(&disk, max_bytes, cache_bytes)
}

fn convert(disk: &LogDirectory, dir: &Path, max_bytes: u64, cache_bytes: usize) -> Result<(), StoreError> {
    let old = Lmdb::open(dir)?;
    // Without a checkpoint entry there is nothing in it; a new tree says the same.
    let Some(meta) = old.meta()? else { return Ok(()) };
    tracing::warn!(dir = %dir.display(), rows = old.rows()?, "making a checked tree of an older build's LMDB table");
    let tree = Tree::make(disk, max_bytes, cache_bytes)?;
    let rows = carry_over(&old, &tree, meta)?;
    if rows != old.rows()? {
        let reason = format!(
            "LMDB counts {} rows but shows {rows}: its inner pages are damaged; restore this store from its mirror or a backup",
            old.rows()?
        );
        return Err(StoreError::Ordered { store: dir.display().to_string(), reason });
    }
    tree.publish(disk).map(drop)
}

fn carry_over(old: &Lmdb, tree: &Tree, meta: CheckpointMeta) -> Result<u64, StoreError> {
    let (mut rows, mut last): (u64, Option<Vec<u8>>) = (0, None);
    loop {
        let mut step = Memtable::default();
        let from = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut newest = None;
        old.scan(from, Bound::Unbounded, &mut |key, value| {
            step.insert(key, Some(value));
            rows += 1;
            newest = Some(key.to_vec());
            if step.bytes() < STEP_BYTES {
                std::ops::ControlFlow::Continue(())
            } else {
                std::ops::ControlFlow::Break(())
            }
        })?;
        tree.commit(&mut step.iter(), meta)?;
        if newest.is_none() {
            return Ok(rows);
        }
        last = newest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: CheckpointMeta = CheckpointMeta { store_id: 1 << 100 | 5, lsn: 7, sequence: 2, offset: 4096 };

    #[test]
    fn what_an_older_build_kept_in_lmdb_is_all_there() {
        let dir = tempfile::tempdir().unwrap();
        let rows: Vec<(Vec<u8>, Vec<u8>)> = (0..3000_u32)
            .map(|number| (number.to_be_bytes().to_vec(), vec![number as u8; (number as usize * 37) % 6000]))
            .collect();
        {
            let old = Lmdb::open(dir.path()).unwrap();
            let mut changes = rows.iter().map(|(key, value)| (&key[..], Some(&value[..])));
            old.commit(&mut changes, META).unwrap();
        }
        for attempt in ["converts", "is a tree now"] {
            let tree = open_directory(dir.path(), 1 << 30, 1 << 20).unwrap();
            assert_eq!(tree.meta().unwrap(), Some(META), "{attempt}");
            for (key, value) in &rows {
                assert_eq!(tree.get(key).unwrap().as_deref(), Some(&value[..]), "{attempt}");
            }
            assert!(!lmdb::is_in(dir.path()), "{attempt}");
        }
    }

    #[test]
    fn an_lmdb_without_a_checkpoint_becomes_an_empty_tree() {
        let dir = tempfile::tempdir().unwrap();
        drop(Lmdb::open(dir.path()).unwrap());
        let tree = open_directory(dir.path(), 1 << 30, 1 << 20).unwrap();
        assert_eq!(tree.meta().unwrap(), None);
        assert!(!lmdb::is_in(dir.path()));
    }
}
