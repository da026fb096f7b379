// SPDX-License-Identifier: Apache-2.0

//! One big file, written block by block, now and then over again, with an fsync after every few blocks.

use super::{Journal, step};
use crate::posix::pattern;
use std::fs::OpenOptions;
use std::io::Error;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Length of a block that is written at once, bytes.
pub const BLOCK_BYTES: usize = 192 << 10;
/// Length of the pieces that a break-off may leave old or new, bytes.
pub const PAGE_BYTES: usize = 4096;

/// The file grows to this many blocks, then all writes go over old ones. A member of a mirror that was away gets most of the file copied, at
/// the pace that a busy machine leaves for that: in the short form it is a small one.
fn most_blocks() -> u64 {
    if crate::long() { 600 } else { 150 }
}

/// The file.
pub fn path(dir: &Path) -> PathBuf {
    dir.join("big")
}

/// Content of a block in a generation; every write of any block is a generation of its own.
pub fn content(block: u64, generation: u64) -> Vec<u8> {
    pattern(generation << 20 | block, BLOCK_BYTES)
}

/// Runs until told to stop or something fails.
pub fn run(dir: &Path, journal: &Journal, going: &dyn Fn() -> bool) -> std::io::Result<()> {
    let path = path(dir);
    let mut options = OpenOptions::new();
    let file = step("create", &path, || options.read(true).write(true).create_new(true).open(&path))?;
    let mut latest = std::collections::HashMap::new();
    let (mut blocks, most_blocks) = (0, most_blocks());
    for generation in 1_u64.. {
        if !going() {
            break;
        }
        let over = generation % 3 == 0 && blocks > 0 || blocks == most_blocks;
        let block = if over { generation * 7919 % blocks } else { blocks };
        journal.line(&format!("try {block} {generation}"))?;
        let at = block * BLOCK_BYTES as u64;
        step("write", &path, || file.write_all_at(&content(block, generation), at))?;
        journal.line(&format!("write {block} {generation}"))?;
        latest.insert(block, generation);
        blocks = blocks.max(block + 1);
        if generation % 4 == 0 {
            step("fsync", &path, || file.sync_data())?;
            journal.line("sync")?;
        }
        if generation % 5 == 0 {
            let block = generation * 104_729 % blocks;
            let mut got = vec![0; BLOCK_BYTES];
            step("read", &path, || file.read_exact_at(&mut got, block * BLOCK_BYTES as u64))?;
            if got != content(block, latest[&block]) {
                return Err(Error::other(format!("{}: wrong block {block} while the load ran", path.display())));
            }
        }
    }
    step("fsync", &path, || file.sync_all())?;
    journal.line("sync")
}
