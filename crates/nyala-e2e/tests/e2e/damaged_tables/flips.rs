// SPDX-License-Identifier: Apache-2.0

//! Flips a byte in everything of a kind that closed tables are made of.

use nyala_e2e::posix::pattern;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const PAGE: usize = 4096;
/// Pages of the header's copies.
const HEADER_PAGES: usize = 4;

/// What tables are made of. One page of leaves or branches, or a large value, is found by who reads it; the others at the next start.
pub const KINDS: [&str; 6] = ["leaf", "branch", "large", "list", "header", "log"];

/// Flips a byte in each place of a kind; returns how many there were.
pub fn flip(tables: &Path, kind: &str) -> usize {
    let file = if kind == "log" { newest(&tables.join("log")) } else { tables.join("table").join("tree") };
    let bytes = fs::read(&file).unwrap();
    let places = if kind == "log" { vec![20] } else { flip_offsets(&bytes, kind) };
    let file = OpenOptions::new().write(true).open(file).unwrap();
    for place in &places {
        file.write_all_at(&[bytes[*place] ^ 0x10], *place as u64).unwrap();
    }
    file.sync_all().unwrap();
    places.len()
}

fn newest(log: &Path) -> PathBuf {
    let mut segments: Vec<PathBuf> = fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect();
    segments.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
    segments.into_iter().max().expect("a log has a segment")
}

/// A byte of each place.
fn flip_offsets(tree: &[u8], kind: &str) -> Vec<usize> {
    if kind == "large" {
        // Content of a file that fills a page.
        let part = &pattern(5, 4000)[1000..1100];
        return tree.windows(part.len()).enumerate().filter(|(_, window)| *window == part).map(|(at, _)| at).collect();
    }
    let pages = tree.chunks_exact(PAGE).enumerate();
    pages.filter(|(number, page)| kind_of(*number, page) == kind).map(|(number, _)| number * PAGE + 40).collect()
}

/// By what pages look like; free ones look like what they were.
fn kind_of(number: usize, page: &[u8]) -> &'static str {
    let part = &pattern(5, 4000)[1000..1100];
    match page {
        _ if number < HEADER_PAGES => "header",
        [1, 0, low, high, 0, 0, 0, 0, ..] if [*low, *high] != [0, 0] => "leaf",
        [1, 1..=8, low, high, 0, 0, 0, 0, ..] if [*low, *high] != [0, 0] => "branch",
        _ if page.iter().all(|byte| *byte == 0) || page.windows(part.len()).any(|window| window == part) => "none",
        _ => "list",
    }
}
