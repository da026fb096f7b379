// SPDX-License-Identifier: Apache-2.0

//! An exerciser in the manner of fsx for a file that is used through several mounts at once: one stream of operations
//! whose every operation goes through another mount, and a model that says what each must find.
//!
//! Failure model: the file system may give old bytes, lose or misplace new ones, tell a wrong size or an error. The first
//! such thing ends the run with the seed, the step and the operations before it. Programs die of SIGBUS when a mapping is
//! shorter than it should be: so this runs in a process of its own (`nyala-e2e-multi-mount`).

mod act;
mod model;
mod plan;

pub use model::Model;
pub use plan::{Action, Random, Step};

use act::Mounted;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// How many operations before a failure are told.
const REMEMBERED: usize = 25;

/// What a run did: how often each operation.
pub type Counts = BTreeMap<&'static str, u64>;

/// Runs `operations` operations on the file of this name in all of these directories, which are one and the same.
pub fn run(dirs: &[&Path], name: &str, seed: u64, operations: u64, max_bytes: usize) -> Result<Counts, String> {
    let mut random = Random::new(seed);
    let mut model = Model::new(max_bytes);
    let mut counts = Counts::new();
    let mut last: VecDeque<String> = VecDeque::new();
    let opened: std::io::Result<Vec<Mounted>> =
        dirs.iter().map(|dir| Mounted::open(&dir.join(name), max_bytes)).collect();
    let mut mounts = opened.map_err(|error| format!("opening the file: {error}"))?;
    for number in 0..operations {
        let step = Step::next(&mut random, &model, mounts.len());
        *counts.entry(step.action.name()).or_default() += 1;
        last.push_back(format!("{number}: mount {} of size {}: {:?}", step.mount, model.bytes().len(), step.action));
        if last.len() > REMEMBERED {
            last.pop_front();
        }
        let told = |what: String| {
            let before: Vec<&str> = last.iter().map(String::as_str).collect();
            format!("seed {seed}, step {number}: {what}\n{}", before.join("\n"))
        };
        mounts[step.mount].act(&step.action, &mut model, number).map_err(told)?;
    }
    for (mount, mounted) in mounts.iter_mut().enumerate() {
        let whole = Action::Read { at: 0, len: max_bytes, direct: false };
        let checked = mounted.act(&Action::Stat, &mut model, 0).and_then(|()| mounted.act(&whole, &mut model, 0));
        checked.map_err(|what| format!("seed {seed}, at the end, mount {mount}: {what}"))?;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exerciser itself is right: a local file system passes it, seen through several descriptors.
    #[test]
    fn a_multi_mount_run_passes_on_the_local_file_system() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let counts = run(&[dir.path(), dir.path(), dir.path()], "f", 7, 4000, 200_000).unwrap();
        assert!(counts.len() == Action::KINDS && counts.values().sum::<u64>() == 4000, "{counts:?}");
    }

    /// And it finds what is wrong: somebody else changes one byte.
    #[test]
    fn a_multi_mount_run_finds_a_wrong_byte() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let other = tempfile::tempdir_in("/var/tmp").unwrap();
        let failed = run(&[dir.path(), other.path()], "f", 7, 4000, 200_000).unwrap_err();
        assert!(failed.contains("seed 7, step"), "{failed}");
    }
}
