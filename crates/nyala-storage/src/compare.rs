// SPDX-License-Identifier: Apache-2.0

//! Compares the chunk files of two target directories byte for byte; holes are zeros, and so is what is behind an end.
//!
//! **Failure model.** Files may change or vanish while they are compared: compare when nobody writes, or again. What cannot be read is
//! an error with its name, never equal. Nothing is written.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes that are compared at once.
const STEP: usize = 1 << 20;

/// What two directories have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Chunk files in either.
    pub files: u64,
    /// Bytes that were compared, in the longer file of each pair.
    pub bytes: u64,
    /// Files that differ, and the first byte where they do.
    pub differ: Vec<(PathBuf, u64)>,
    /// Files of which one directory has data and the other has no such file.
    pub missing: Vec<PathBuf>,
}

impl Comparison {
    /// Whether both directories hold the same.
    pub fn is_equal(&self) -> bool {
        self.differ.is_empty() && self.missing.is_empty()
    }
}

/// Compares the chunk files of two targets. The directories are those that hold `chunks`.
pub fn compare(a: &Path, b: &Path) -> io::Result<Comparison> {
    let mut names = BTreeSet::new();
    for target in [a, b] {
        let chunks = target.join("chunks");
        list(&chunks, &chunks, &mut names)?;
    }
    let mut found = Comparison { files: names.len() as u64, ..Comparison::default() };
    for name in names {
        let open = |target: &Path| match File::open(target.join("chunks").join(&name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        };
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", name.display()));
        let (one, other) = (open(a).map_err(named)?, open(b).map_err(named)?);
        let both = one.is_some() && other.is_some();
        let (bytes, differ) = first_difference(one, other).map_err(named)?;
        found.bytes += bytes;
        match differ {
            Some(_) if !both => found.missing.push(name),
            Some(at) => found.differ.push((name, at)),
            None => {}
        }
    }
    Ok(found)
}

/// Names of chunk files below a directory, relative to the first one. A directory that vanishes has none.
fn list(root: &Path, dir: &Path, names: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            list(root, &path, names)?;
        } else if let Ok(name) = path.strip_prefix(root) {
            names.insert(name.to_owned());
        }
    }
    Ok(())
}

/// How long the longer one is, and the first byte that is not the same.
fn first_difference(one: Option<File>, other: Option<File>) -> io::Result<(u64, Option<u64>)> {
    let (mut a, mut b) = (vec![0; STEP], vec![0; STEP]);
    let (mut one, mut other, mut at) = (one, other, 0_u64);
    loop {
        let (n, m) = (fill(&mut one, &mut a)?, fill(&mut other, &mut b)?);
        let most = n.max(m);
        if most == 0 {
            return Ok((at, None));
        }
        a[n..most].fill(0);
        b[m..most].fill(0);
        if let Some(differ) = a[..most].iter().zip(&b[..most]).position(|(a, b)| a != b) {
            return Ok((at + most as u64, Some(at + differ as u64)));
        }
        at += most as u64;
    }
}

fn fill(file: &mut Option<File>, buffer: &mut [u8]) -> io::Result<usize> {
    let Some(file) = file else { return Ok(0) };
    let mut done = 0;
    while done < buffer.len() {
        match file.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(target: &Path, name: &str, content: &[u8]) {
        let path = target.join("chunks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn differences_are_found_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        put(&a, "00/11/1.0", b"same");
        put(&b, "00/11/1.0", b"same\0\0");
        put(&a, "00/12/2.0", &[]);
        fs::create_dir_all(b.join("chunks")).unwrap();
        let equal = compare(&a, &b).unwrap();
        assert!(equal.is_equal(), "zeros at the end and empty files are nothing: {equal:?}");
        assert_eq!((equal.files, equal.bytes), (2, 6));
        put(&b, "00/13/3.0", &[1]);
        let mut long = vec![7; STEP + 5];
        put(&a, "00/14/4.0", &long);
        long[STEP + 3] = 8;
        put(&b, "00/14/4.0", &long);
        let found = compare(&a, &b).unwrap();
        assert_eq!(found.missing, [PathBuf::from("00/13/3.0")]);
        assert_eq!(found.differ, [(PathBuf::from("00/14/4.0"), STEP as u64 + 3)]);
        assert!(compare(&a, &dir.path().join("none")).is_err());
    }
}
