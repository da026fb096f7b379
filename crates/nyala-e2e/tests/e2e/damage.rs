// SPDX-License-Identifier: Apache-2.0

//! A flipped byte in a chunk file is an error with a place, never wrong data.

use crate::layout::{chunk_files, info, target_dirs};
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, Options, alone};
use nyala_wire::ids::TargetId;
use nyala_wire::stripe::{Layout, Pattern};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

const LEN: usize = (6 << 20) + 777;
const BLOCK: usize = 4096;

/// What a reader finds: every block is either right or EIO; gives the numbers of those with EIO.
fn bad_blocks(path: &Path, content: &[u8]) -> Vec<usize> {
    let file = File::open(path).unwrap();
    let mut bad = Vec::new();
    for (number, want) in content.chunks(BLOCK).enumerate() {
        let mut got = vec![0; want.len()];
        match file.read_exact_at(&mut got, (number * BLOCK) as u64) {
            Ok(()) => assert!(got == want, "block {number}: wrong data was returned"),
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EIO), "block {number}: {error}");
                bad.push(number);
            }
        }
    }
    bad
}

#[test]
fn e2e_flipped_byte_is_eio() {
    let _one = alone();
    let cluster = Cluster::start(Options::default());
    let dir = cluster.test_dir("damage");
    cluster
        .nyala(["entry", "set", "--num-targets", "4", "--chunk-size", "512k", "--pattern", "raid0", &text(&dir)])
        .must();
    let path = dir.join("file-with-damage");
    let content = pattern(5, LEN);
    let mut file = File::create(&path).unwrap();
    file.write_all(&content).unwrap();
    file.sync_all().unwrap();
    drop(file);
    assert_eq!(bad_blocks(&path, &content), [] as [usize; 0]);

    let entry = info(&cluster, &path);
    let inode = entry["inode"].as_str().unwrap().to_owned();
    let targets: Vec<u64> =
        entry["stripe"]["targets"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    let ids = targets.iter().map(|id| TargetId(*id as u16)).collect();
    let layout = Layout { pattern: Pattern::Raid0, chunk_bytes: 512 << 10, targets: ids, moves: 0, code: None };
    cluster.stop_service("mount");

    // In the first block, in the middle of a chunk, and in the short block at the end of the file.
    let mut damaged = Vec::new();
    for file_offset in [17_usize, (3 << 20) + 70_001, LEN - 5] {
        let extent = layout.extents(file_offset as u64, 1).next().unwrap();
        let target = targets[usize::from(extent.index)];
        let (_, target_dir) = target_dirs(&cluster).into_iter().find(|(id, _)| *id == target).unwrap();
        let (_, chunk) = chunk_files(&target_dir, &inode).remove(0);
        let chunk = OpenOptions::new().read(true).write(true).open(chunk).unwrap();
        let mut byte = [0];
        chunk.read_exact_at(&mut byte, extent.chunk_offset).unwrap();
        chunk.write_all_at(&[byte[0] ^ 0x10], extent.chunk_offset).unwrap();
        damaged.push((file_offset / BLOCK, target, extent.chunk_offset / BLOCK as u64 * BLOCK as u64));
    }
    fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
    cluster.start_service("mount");
    cluster.wait_healthy();

    let want: Vec<usize> = damaged.iter().map(|(block, ..)| *block).collect();
    assert_eq!(bad_blocks(&path, &content), want, "exactly the damaged blocks fail, everything else is readable");
    let error = fs::read(&path).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EIO), "reading it all: {error}");

    let logs = cluster.logs(100_000);
    for (block, target, offset) in &damaged {
        let about = |line: &&str| {
            line.contains("checksum")
                && line.contains(&inode)
                && has_number(line, "target", *target)
                && has_number(line, "offset", *offset)
        };
        let line = logs.lines().find(about);
        assert!(
            line.is_some(),
            "no log line names {inode}, target {target}, offset {offset} (block {block})\n{}",
            cluster.logs(40)
        );
    }
    mended(&path, &content);
}

/// Whether a log line has `key` with this number, as text (`key=7`) or JSON (`"key":"7"`).
fn has_number(line: &str, key: &str, number: u64) -> bool {
    let mut words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let number = number.to_string();
    while let Some(word) = words.next() {
        if word == key && words.clone().next() == Some(&number) {
            return true;
        }
    }
    false
}

/// Writing over damaged blocks makes the file whole again.
fn mended(path: &Path, content: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    for (number, block) in content.chunks(BLOCK).enumerate() {
        file.write_all_at(block, (number * BLOCK) as u64).unwrap();
    }
    file.sync_all().unwrap();
    drop(file);
    assert_eq!(bad_blocks(path, content), [] as [usize; 0], "written again, the blocks are good");
}
