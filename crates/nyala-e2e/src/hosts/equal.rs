// SPDX-License-Identifier: Apache-2.0

//! Compares what two targets hold, byte for byte, with nothing but a file system's view of them.
//!
//! Failure model: a service may write meanwhile, so ask only when nothing is under way. A chunk file may be shorter by zeros
//! at its end, or lack holes that the other has: both read the same, and are the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What was compared.
#[derive(Debug, Default)]
pub struct Compared {
    /// Chunk files that at least one of both has.
    pub files: usize,
    /// Bytes of the first one.
    pub bytes: u64,
    /// What differs.
    pub different: Vec<String>,
}

/// Chunk files of a target by their names below `chunks`.
fn chunk_files(target: &Path) -> BTreeMap<PathBuf, PathBuf> {
    let root = target.join("chunks");
    let mut found = BTreeMap::new();
    let mut open = vec![root.clone()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if let Ok(name) = path.strip_prefix(&root) {
                found.insert(name.to_path_buf(), path.clone());
            }
        }
    }
    found
}

/// Content without the zeros at its end; nothing for a file that is not there.
fn content(path: Option<&PathBuf>) -> Vec<u8> {
    let mut bytes = path.map(|path| fs::read(path).unwrap_or_default()).unwrap_or_default();
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(end);
    bytes
}

/// Compares the chunk files of two target directories.
pub fn compare(a: &Path, b: &Path) -> Compared {
    let (in_a, in_b) = (chunk_files(a), chunk_files(b));
    let mut compared = Compared::default();
    let mut names: Vec<&PathBuf> = in_a.keys().chain(in_b.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (of_a, of_b) = (content(in_a.get(name)), content(in_b.get(name)));
        compared.files += 1;
        compared.bytes += of_a.len() as u64;
        if of_a != of_b {
            let at = of_a.iter().zip(&of_b).position(|(a, b)| a != b).unwrap_or(of_a.len().min(of_b.len()));
            let (a, b) = (of_a.len(), of_b.len());
            let differ = of_a.chunks(4096).zip(of_b.chunks(4096)).enumerate().filter(|(_, (a, b))| a != b);
            let blocks: Vec<usize> = differ.map(|(block, _)| block).take(40).collect();
            let shown = |bytes: &[u8]| format!("{:02x?}", bytes.get(at / 4096 * 4096..).map(|b| &b[..b.len().min(48)]));
            compared.different.push(format!(
                "{}: {a} and {b} bytes, different from byte {at} on, blocks {blocks:?}: {} and {}",
                name.display(),
                shown(&of_a),
                shown(&of_b)
            ));
        }
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_is_found_and_zeros_at_the_end_are_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        for target in [&a, &b] {
            fs::create_dir_all(target.join("chunks/00/01")).unwrap();
            fs::write(target.join("chunks/00/01/5.0"), b"same").unwrap();
        }
        fs::write(b.join("chunks/00/01/5.0"), b"same\0\0").unwrap();
        fs::write(b.join("chunks/00/01/6.0"), b"\0").unwrap();
        let compared = compare(&a, &b);
        assert!(compared.files == 2 && compared.bytes == 4 && compared.different.is_empty(), "{compared:?}");
        fs::write(b.join("chunks/00/01/5.0"), b"sane").unwrap();
        assert!(compare(&a, &b).different[0].contains("from byte 2 on"));
        fs::remove_file(b.join("chunks/00/01/5.0")).unwrap();
        assert_eq!(compare(&a, &b).different.len(), 1);
    }
}
