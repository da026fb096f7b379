// SPDX-License-Identifier: Apache-2.0

//! A program that makes, moves and removes names in a directory, and knows what has to be there.

use super::STABLE;
use nyala_wire::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// A program with names of its own in a directory that all share, which knows what is there.
pub struct Program {
    mine: String,
    dir: PathBuf,
    random: SplitMix64,
    /// Names, and what is in the files.
    there: BTreeMap<String, String>,
    pub steps: usize,
}

impl Program {
    pub fn new(mine: String, dir: PathBuf, random: SplitMix64, steps: usize) -> Program {
        Program { mine, dir, random, there: BTreeMap::new(), steps }
    }

    fn name(&mut self) -> String {
        format!("{}-{}", self.mine, self.random.index(150))
    }

    pub fn step(&mut self) {
        // It has many names for a while, and then few.
        let grows = (self.steps / 600).is_multiple_of(2);
        self.steps += 1;
        let name = self.name();
        let path = self.dir.join(&name);
        match self.random.index(100) {
            0..20 => assert_eq!(path.exists(), self.there.contains_key(&name), "{name}"),
            n if n < if grows { 70 } else { 30 } => {
                let made = OpenOptions::new().write(true).create_new(true).open(&path);
                assert_eq!(made.is_ok(), !self.there.contains_key(&name), "{name}: {made:?}");
                if let Ok(mut file) = made {
                    file.write_all(name.as_bytes()).unwrap();
                    self.there.insert(name.clone(), name);
                }
            }
            n if n < 80 => match fs::remove_file(&path) {
                Ok(()) => assert!(self.there.remove(&name).is_some(), "{name} was not there"),
                Err(error) => {
                    assert!(error.kind() == ErrorKind::NotFound && !self.there.contains_key(&name), "{name}: {error}")
                }
            },
            n if n < 97 => {
                let to = self.name();
                let moved = fs::rename(&path, self.dir.join(&to));
                assert_eq!(moved.is_ok(), self.there.contains_key(&name), "{name} to {to}: {moved:?}");
                if let Some(content) = self.there.remove(&name) {
                    self.there.insert(to, content);
                }
            }
            _ => self.list(),
        }
    }

    /// What is its own is there, and what stays is there exactly once.
    fn list(&self) {
        let names: Vec<String> =
            fs::read_dir(&self.dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let mine: BTreeSet<&String> =
            names.iter().filter(|name| name.starts_with(&format!("{}-", self.mine))).collect();
        assert!(mine.into_iter().eq(self.there.keys()), "names of {}", self.mine);
        let stable: Vec<&String> = names.iter().filter(|name| name.starts_with("stable")).collect();
        assert_eq!((stable.len(), stable.iter().collect::<BTreeSet<_>>().len()), (STABLE, STABLE));
    }

    pub fn end(mut self) {
        self.list();
        for (name, content) in std::mem::take(&mut self.there) {
            assert_eq!(fs::read_to_string(self.dir.join(&name)).unwrap(), content, "{name}");
            fs::remove_file(self.dir.join(&name)).unwrap();
        }
    }
}
