// SPDX-License-Identifier: Apache-2.0

//! Rows that cannot be read: they hold up what is done row by row, and hide what is wrong elsewhere, until they are set aside.

use super::damage::number;
use super::tables::{Tables, entry};
use super::{classes, clean, fsck, set, small};
use crate::layout::{chunk_files, target_dirs};
use nyala_e2e::beside_others;
use nyala_e2e::posix::pattern;
use nyala_e2e::wait_until;
use nyala_namespace::keys;
use nyala_wire::InodeId;
use std::fs;
use std::time::Duration;

#[test]
fn e2e_fsck_sets_aside_what_cannot_be_read() {
    let _one = beside_others();
    let cluster = small();
    let root = cluster.test_dir("unreadable");
    fs::write(root.join("small"), pattern(1, 700)).unwrap();
    fs::write(root.join("large"), pattern(2, 1 << 20)).unwrap();
    let [dir, small, large] = [root.clone(), root.join("small"), root.join("large")].map(|path| number(&path));
    cluster.down().must();
    let tables = Tables::open(&cluster);
    let (home, gone) = (keys::inode(dir), InodeId::new(dir.slot(), 0xdead_beef).unwrap());
    tables.put(&home, &entry(dir, "small"), b"\xff");
    tables.put(&home, &keys::garbage(gone), b"\xff");
    tables.close();
    cluster.up().must();
    cluster.wait_healthy();

    let (code, report) = fsck(&cluster, &[]);
    assert_eq!((code, classes(&report, "findings")), (6, set(&["directory-count", "row-unreadable"])), "{report:#}");
    let (code, report) = fsck(&cluster, &["--repair"]);
    assert_eq!((code, classes(&report, "findings")), (0, set(&[])), "{report:#}");
    let repaired = classes(&report, "repaired");
    assert!(repaired.is_superset(&set(&["row-unreadable", "inode-orphan", "directory-count"])), "{report:#}");
    clean(&cluster, "after");
    let found = cluster.mount().join("lost+found").join(small.to_string());
    assert_eq!(fs::read(found).unwrap(), pattern(1, 700), "what only that row named");

    // Chunk files of removed files go again.
    fs::remove_file(root.join("large")).unwrap();
    let left = || target_dirs(&cluster).iter().any(|(_, dir)| !chunk_files(dir, &large.to_string()).is_empty());
    wait_until(Duration::from_secs(30), || !left(), || format!("removals are held up\n{}", cluster.logs(20)));
}
