// SPDX-License-Identifier: Apache-2.0

//! Chunk files that no file needs are found, and those of files never are.

use crate::layout::{chunk_files, info, target_dirs};
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::sh;
use nyala_e2e::{Cluster, Options, serial};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

const LEN: usize = (1 << 20) + 777;

fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    fs::File::open(path).unwrap().sync_all().unwrap();
}

fn inode(cluster: &Cluster, path: &Path) -> String {
    info(cluster, path)["inode"].as_str().unwrap().to_owned()
}

/// Inode and reason of each leftover, in order of reasons.
fn leftovers(cluster: &Cluster) -> Vec<(Value, Value)> {
    let dir = text(&cluster.dir());
    let args = ["scrub", "--leftovers", "--grace", "5s", "--output", "json", "--dir", &dir];
    let done = cluster.nyala(args);
    assert_eq!(done.code(), Some(0), "{}", done.describe());
    let all: Value = serde_json::from_str(&done.out).unwrap();
    let found = all[0]["leftovers"].as_array().unwrap_or_else(|| panic!("{all}"));
    let mut found: Vec<_> = found.iter().map(|left| (left["inode"].clone(), left["reason"].clone())).collect();
    found.sort_by_key(|(_, reason)| reason.to_string());
    found
}

/// Metadata goes back to an older state, as after a power cut: a file was not created, another one's content not moved.
#[test]
fn e2e_scrub_lists_chunk_files_that_no_file_needs() {
    let _one = serial();
    let cluster = Cluster::start(Options { meta: 1, storage: 1, storage_services: 1, more: vec![] });
    let dir = cluster.test_dir("leftovers");
    let [kept, small, new, removed] = ["kept", "small", "new", "removed"].map(|name| dir.join(name));
    write(&kept, &pattern(1, LEN));
    write(&small, b"inline");
    assert!(leftovers(&cluster).is_empty());
    let (meta, copy) = (cluster.dir().join("meta1"), cluster.root().join("copy"));
    let limit = Duration::from_secs(30);
    cluster.down().must();
    sh(&format!("cp -a '{}' '{}'", meta.display(), copy.display()), limit).must();
    cluster.up().must();
    cluster.wait_healthy();
    write(&small, &pattern(2, LEN));
    write(&new, &pattern(3, LEN));
    write(&removed, &pattern(4, LEN));
    fs::remove_file(&removed).unwrap();
    assert!(leftovers(&cluster).is_empty(), "what is needed, and what a removal takes away");
    let (of_small, of_new) = (inode(&cluster, &small), inode(&cluster, &new));
    cluster.down().must();
    sh(&format!("rm -r '{0}' && mv '{1}' '{0}'", meta.display(), copy.display()), limit).must();
    cluster.up().must();
    cluster.wait_healthy();
    let found = leftovers(&cluster);
    assert_eq!(found, [(json!(of_small), json!("inline")), (json!(of_new), json!("no-file"))]);
    assert_eq!(leftovers(&cluster), found, "nothing was removed");
    let target = &target_dirs(&cluster)[0].1;
    assert!([of_small, of_new].iter().all(|inode| !chunk_files(target, inode).is_empty()));
    assert!(fs::read(&kept).unwrap() == pattern(1, LEN));
}
