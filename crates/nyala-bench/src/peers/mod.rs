// SPDX-License-Identifier: Apache-2.0

//! The same workloads through the mounts of this file system and of others that are installed, in turn, on one machine: rates, and the
//! CPU of all their processes. All run during all of it, with their defaults, in directories of one file system; who is not working
//! waits.

pub mod compare;
mod document;
mod gluster;
mod kind;
mod moosefs;
mod mounts;
mod processes;
mod round;
mod sizes;
mod system;
mod trees;

pub use compare::Comparison;
pub use document::document;
pub use kind::Kind;
pub(crate) use processes::{cpu_us, installed};
pub use sizes::{Sizes, phases};
pub use system::Setup;

use crate::ended::Ended;
use crate::error::{BenchError, io};
use crate::report::Setting;
use crate::stop::Stop;
use compare::{Rounds, compare};
use round::Round;
use std::path::{Path, PathBuf};
use system::System;

/// The archive of the tree, in a directory of its own.
struct Archive(PathBuf);

impl Archive {
    fn make(work: &Path, files: u64) -> Result<Archive, BenchError> {
        let dir = work.join(format!("nyala-peers.{}.tree", std::process::id()));
        std::fs::create_dir_all(&dir).map_err(io(format!("cannot make {}", dir.display())))?;
        let archive = Archive(dir);
        trees::archive(&archive.0, files)?;
        Ok(archive)
    }

    fn file(&self) -> PathBuf {
        self.0.join("tree.tar")
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("nyala bench: cannot remove {}: {error}", self.0.display());
        }
    }
}

/// The systems that run, and what is done on them.
pub struct Peers {
    systems: Vec<System>,
    sizes: Sizes,
    archive: Archive,
    copies: u8,
    remarks: Vec<String>,
}

impl Peers {
    /// Starts this one and `others`; those that are not installed are left out, and said.
    pub fn start(others: &[Kind], setup: &Setup, sizes: Sizes) -> Result<Peers, BenchError> {
        let remarks: Vec<String> = others.iter().filter_map(|kind| kind.missing()).collect();
        let there = others.iter().copied().filter(|kind| kind.missing().is_none());
        let kinds: Vec<Kind> = std::iter::once(Kind::Nyala).chain(there).collect();
        if kinds.len() == 1 {
            let why =
                if remarks.is_empty() { "give at least one to compare with".to_owned() } else { remarks.join("; ") };
            return Err(BenchError::failed(why));
        }
        let archive = Archive::make(&setup.work, sizes.tree)?;
        let systems = (0..).zip(kinds).map(|(number, kind)| System::start(kind, number, setup));
        let systems = systems.collect::<Result<_, _>>()?;
        Ok(Peers { systems, sizes, archive, copies: setup.copies, remarks })
    }

    /// How many run.
    pub fn count(&self) -> usize {
        self.systems.len()
    }

    /// All rounds; the first meets memory that nobody has touched, and does not count.
    pub async fn run(&self, rounds: u16, stop: &Stop, ended: &Ended) -> Result<Comparison, BenchError> {
        let mut all: Vec<Rounds> = self.systems.iter().map(|system| (system.kind, Vec::new())).collect();
        for number in 0..=rounds {
            for (system, (_, figures)) in self.systems.iter().zip(&mut all) {
                let archive = self.archive.file();
                let round = Round { system, sizes: &self.sizes, archive: &archive, counts: number > 0, stop, ended };
                let found = round.run().await?;
                figures.extend(Some(found).filter(|_| number > 0));
            }
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        let setting = Setting { cpus, kernel, ..Setting::default() };
        Ok(compare(&all, setting, self.copies, self.remarks.clone()))
    }
}
