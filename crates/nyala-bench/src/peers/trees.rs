// SPDX-License-Identifier: Apache-2.0

//! A tree of small files, handled by the programs that everybody uses: unpacked, looked through, copied, removed.
//!
//! **Failure model.** A program that fails, or that is not there, ends the benchmark with its own words.

use crate::error::{BenchError, io};
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handling {
    /// `tar -xpf`.
    Unpack,
    /// `ls -lR`, with nothing in the kernel's caches.
    Look,
    /// `cp -a`.
    Copy,
    /// `rm -rf` of both.
    Remove,
}

impl Handling {
    /// All of them.
    pub const ALL: [Handling; 4] = [Handling::Unpack, Handling::Look, Handling::Copy, Handling::Remove];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Handling::Unpack => "tar -xp",
            Handling::Look => "ls -lR",
            Handling::Copy => "cp -a",
            Handling::Remove => "rm -rf",
        }
    }

    /// The command line, in a directory beside which the archive lies.
    fn command_line(self, archive: &Path) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        match self {
            Handling::Unpack => [words(&["tar", "-xpf"]), vec![archive.display().to_string()]].concat(),
            Handling::Look => words(&["ls", "-lR", "tree"]),
            Handling::Copy => words(&["cp", "-a", "tree", "copy"]),
            Handling::Remove => words(&["rm", "-rf", "tree", "copy"]),
        }
    }

    /// Does it in `dir`; how long it took.
    pub fn run(self, dir: &Path, archive: &Path) -> Result<Duration, BenchError> {
        let words = self.command_line(archive);
        let began = Instant::now();
        command(&words, dir)?;
        Ok(began.elapsed())
    }

    /// How many files it handles, of a tree with so many.
    pub fn items(self, files: u64) -> u64 {
        if self == Handling::Remove { 2 * files } else { files }
    }
}

fn command(words: &[String], dir: &Path) -> Result<(), BenchError> {
    let (program, args) = words.split_first().ok_or_else(|| BenchError::failed("there is no program to run"))?;
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
    let output = command.output().map_err(io(format!("cannot run {program}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(BenchError::failed(format!("{} in {}: {}", words.join(" "), dir.display(), said.trim())))
}

/// Files of a directory of the tree.
const EACH: u64 = 50;
/// Sizes of the files in turn: as small as sources are.
const SIZES: [usize; 5] = [200, 1_500, 3_000, 7_000, 20_000];

/// Makes the archive of a tree of so many files in `dir`, and takes the tree away again.
pub fn archive(dir: &Path, files: u64) -> Result<(), BenchError> {
    let tree = dir.join("tree");
    for number in 0..files {
        let within = tree.join(format!("d{}", number / EACH));
        if number % EACH == 0 {
            fs::create_dir_all(&within).map_err(io(format!("cannot make {}", within.display())))?;
        }
        let size = SIZES[number as usize % SIZES.len()];
        let path = within.join(format!("file{number}"));
        fs::write(&path, vec![number as u8; size]).map_err(io(format!("cannot write {}", path.display())))?;
    }
    let words = ["tar", "-cf", "tree.tar", "tree"].map(str::to_owned);
    command(&words, dir)?;
    fs::remove_dir_all(&tree).map_err(io(format!("cannot remove {}", tree.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_unpacked_copied_and_removed() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        archive(from.path(), 120).unwrap();
        let packed = from.path().join("tree.tar");
        assert!(packed.is_file() && !from.path().join("tree").exists());
        for handling in [Handling::Unpack, Handling::Look, Handling::Copy] {
            handling.run(to.path(), &packed).unwrap();
        }
        assert_eq!(fs::read(to.path().join("copy/d2/file119")).unwrap(), vec![119; SIZES[4]]);
        assert_eq!(fs::read_dir(to.path().join("copy/d2")).unwrap().count(), 20);
        Handling::Remove.run(to.path(), &packed).unwrap();
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
        let error = Handling::Copy.run(to.path(), &packed).unwrap_err().to_string();
        assert!(error.starts_with("cp -a tree copy in "), "{error}");
    }
}
