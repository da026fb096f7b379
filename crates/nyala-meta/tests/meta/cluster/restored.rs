// SPDX-License-Identifier: Apache-2.0

//! Metadata directories that are put back to what they were earlier.

use crate::cluster::OWNER;
use crate::cluster::harness::Cluster;
use nyala_client::Client;
use nyala_wire::InodeId;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

/// Not by another program: as it starts, it has what listens here open for a moment, and a service that listens once more finds
/// its port in use.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Makes directories, which are on both servers, and in each a file that holds one byte far behind its beginning. Their
/// numbers, and what the files show before that byte.
async fn files(client: &Client, prefix: &str) -> Vec<(InodeId, Vec<u8>)> {
    let mut made = Vec::new();
    for n in 0..20 {
        let name = format!("{prefix}{n}");
        let dir = client.mkdir(InodeId::ROOT, name.as_bytes(), 0o755, OWNER).await.unwrap().inode;
        let (attr, handle) = client.create(dir, b"file", 0o644, OWNER, true).await.unwrap();
        handle.write(99_999, b"x").await.unwrap();
        handle.fsync(false).await.unwrap();
        let begin = handle.read(0, 99_999).await.unwrap().concat();
        handle.write(0, &[7; 99_999]).await.unwrap();
        handle.release().await.unwrap();
        made.extend([(dir, Vec::new()), (attr.inode, begin)]);
    }
    made
}

#[test]
fn a_directory_that_was_put_back_gives_no_inode_number_again() {
    let mut cluster = Cluster::start();
    let made = RefCell::new(BTreeSet::new());
    let part = async |client: Client, prefix: &str| {
        for (inode, begin) in files(&client, prefix).await {
            assert!(made.borrow_mut().insert(inode), "{inode} is given out again");
            assert!(begin.iter().all(|byte| *byte == 0), "{inode} shows what another file had");
        }
    };
    cluster.run_part(1, |clients| part(clients[0].clone(), "a"));
    let saved = |dir: &Path| dir.with_extension("saved");
    cluster.without_metas(|dir| copy(dir, &saved(dir)));
    cluster.run_part(1, |clients| part(clients[0].clone(), "b"));
    for again in ["c", "d"] {
        cluster.without_metas(|dir| {
            std::fs::remove_dir_all(dir).unwrap();
            copy(&saved(dir), dir);
        });
        cluster.run_part(1, |clients| part(clients[0].clone(), again));
    }
    cluster.run(async |_| {});
    assert_eq!(made.borrow().len(), 160);
}
