// SPDX-License-Identifier: Apache-2.0

//! Where a file's bytes are: what `entry info` says is what the targets hold.

use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, beside_others, shared};
use nyala_wire::ids::TargetId;
use nyala_wire::stripe::{Layout, Pattern};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

const CHUNK: u32 = 1 << 20;
const LEN: usize = (10 << 20) + 12_345;

/// `entry info` of a path in the mount.
pub fn info(cluster: &Cluster, path: &Path) -> Value {
    let said = cluster.nyala(["entry", "info", &text(path), "--output", "json"]).must();
    let value: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("no JSON: {error}\n{said}"));
    match value {
        Value::Array(mut all) if all.len() == 1 => all.remove(0),
        other => other,
    }
}

/// The target directories by id.
pub fn target_dirs(cluster: &Cluster) -> Vec<(u64, PathBuf)> {
    let mut found = Vec::new();
    for service in fs::read_dir(cluster.dir()).unwrap().flatten().map(|entry| entry.path()) {
        for target in fs::read_dir(&service).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if let Ok(text) = fs::read_to_string(target.join("target.toml"))
                && text.contains("\"storage\"")
            {
                let line = text.lines().find_map(|line| line.strip_prefix("target = ")).unwrap();
                found.push((line.trim().parse().unwrap(), target));
            }
        }
    }
    found.sort();
    found
}

/// Chunk files of an inode in a target's directory: (stripe index, path).
pub fn chunk_files(target: &Path, inode: &str) -> Vec<(u16, PathBuf)> {
    let mut found = Vec::new();
    let mut dirs = vec![target.join("chunks")];
    while let Some(dir) = dirs.pop() {
        for path in fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                dirs.push(path);
            } else if let Some(index) = name.strip_prefix(inode).and_then(|rest| rest.strip_prefix('.')) {
                found.push((index.parse().unwrap(), path));
            }
        }
    }
    found
}

#[test]
fn e2e_stripe_layout_on_disk() {
    let _one = beside_others();
    let cluster = shared();
    let dir = cluster.test_dir("layout");
    let set = ["entry", "set", "--num-targets", "4", "--chunk-size", "1m", "--pattern", "raid0", &text(&dir)];
    cluster.nyala(set).must();
    let path = dir.join("file");
    let content = pattern(99, LEN);
    let mut file = File::create(&path).unwrap();
    file.write_all(&content).unwrap();
    file.sync_all().unwrap();
    drop(file);

    let entry = info(&cluster, &path);
    assert_eq!(entry["stripe"]["pattern"], "raid0", "{entry}");
    assert_eq!(entry["stripe"]["chunk_size"], CHUNK, "{entry}");
    let targets: Vec<u64> =
        entry["stripe"]["targets"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    assert_eq!(targets.len(), 4, "{entry}");
    let mut distinct = targets.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "{entry}");

    let inode = entry["inode"].as_str().unwrap_or_else(|| panic!("the inode is text: {entry}")).to_owned();
    let dirs = target_dirs(&cluster);
    let ids = targets.iter().map(|id| TargetId(u16::try_from(*id).unwrap())).collect();
    let layout = Layout { pattern: Pattern::Raid0, chunk_bytes: CHUNK, targets: ids, moves: 0, code: None };
    let mut rebuilt = vec![0_u8; LEN];
    for (index, target) in targets.iter().enumerate() {
        let index = index as u16;
        let (_, target_dir) = dirs
            .iter()
            .find(|(id, _)| id == target)
            .unwrap_or_else(|| panic!("no directory of target {target}: {dirs:?}"));
        let chunks = chunk_files(target_dir, &inode);
        assert_eq!(chunks.len(), 1, "target {target} holds one chunk file of {inode}: {chunks:?}");
        assert_eq!(chunks[0].0, index);
        let bytes = fs::read(&chunks[0].1).unwrap();
        assert_eq!(bytes.len() as u64, layout.chunk_file_len(index, LEN as u64), "length of {}", chunks[0].1.display());
        for (number, chunk) in bytes.chunks(CHUNK as usize).enumerate() {
            let at = layout.file_offset(index, number as u64 * u64::from(CHUNK)) as usize;
            rebuilt[at..at + chunk.len()].copy_from_slice(chunk);
        }
    }
    assert!(rebuilt == content, "the chunk files on disk, put together, are the file");
    fs::remove_file(&path).unwrap();
    gone(&dirs, &inode);
}

/// Chunk files of a removed file go within a few seconds.
fn gone(dirs: &[(u64, PathBuf)], inode: &str) {
    for _ in 0..100 {
        if dirs.iter().all(|(_, dir)| chunk_files(dir, inode).is_empty()) {
            return;
        }
        // sleeps: between two looks
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("chunk files of {inode} are there 10 s after the file was removed");
}
