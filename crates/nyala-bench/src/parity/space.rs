// SPDX-License-Identifier: Apache-2.0

//! Bytes that files take on disk below directories of targets and drives.
//!
//! **Failure model.** Files come and go while they are looked at: what has gone takes nothing. Logs and tables are left out: they grow in steps of
//! 16 MiB, whatever is written. Rows take some thousandths of the data (decision 0029).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Of the kernel's `st_blocks`.
const BLOCK_BYTES: u64 = 512;
/// Longest wait for the removal of what was removed, and for what is written in the background.
const REST: Duration = Duration::from_secs(20);
const GLANCE: Duration = Duration::from_millis(700);

/// Of a store: a segment of its log, its table, and what a target on a drive set keeps there of both (objects whose numbers have a bit set far up).
fn is_store(name: &str) -> bool {
    let is_object = name.len() == 32 && name.bytes().all(|digit| digit.is_ascii_hexdigit());
    name.ends_with(".seg") || name == "tree" || (is_object && !name.starts_with("00"))
}

/// Bytes of all files below a directory.
fn below(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => below(&entry.path()),
        Ok(metadata) if !is_store(&entry.file_name().to_string_lossy()) => metadata.blocks() * BLOCK_BYTES,
        _ => 0,
    };
    entries.map(bytes).sum()
}

/// The same of several, once it changes no more.
pub(super) fn at_rest(dirs: &[impl AsRef<Path>]) -> u64 {
    let began = Instant::now();
    let all = || dirs.iter().map(|dir| below(dir.as_ref())).sum();
    let mut last = all();
    loop {
        std::thread::sleep(GLANCE);
        let now = all();
        if now == last || began.elapsed() > REST {
            return now;
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_files_take_is_counted_and_stores_are_not() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("below/file"), vec![1; 100_000]).unwrap();
        for store in ["1.seg", "tree", "80000000000000000000000000000001"] {
            fs::write(dir.path().join(store), vec![1; 500_000]).unwrap();
        }
        rustix::fs::sync();
        let found = at_rest(&[dir.path()]);
        assert!((100_000..200_000).contains(&found), "{found}");
    }
}
