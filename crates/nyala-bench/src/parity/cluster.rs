// SPDX-License-Identifier: Apache-2.0

//! The cluster that is measured: as many targets as a stripe with parity has, and beside them two targets on drive sets, with and without parity. Each
//! placement has a directory of its own.
//!
//! **Failure model.** What does not start, or is not there in time, is an error; what runs is stopped then. This process may be killed: see
//! [`crate::all::OwnCluster`], below whose directory everything lies.

use super::placement::{DATA, PARITY, Placement};
use crate::all::OwnCluster;
use crate::error::{BenchError, io};
use crate::host::Host;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a target may take to be known.
const READY: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(200);
/// Drive sets: the placement, its target's number, the level, drives with data or parity.
const SETS: [(Placement, u16, &str, usize); 2] =
    [(Placement::PlainSet, 901, "0", DATA), (Placement::ParitySet, 902, "6", DATA + PARITY)];

/// A running cluster; stopped and removed when dropped.
pub struct ParityCluster {
    own: OwnCluster,
    host: Host,
}

impl ParityCluster {
    /// Makes and mounts it below a directory, with fifty ports from one on.
    pub fn start(host: &Host, work: &Path, base_port: u16) -> Result<ParityCluster, BenchError> {
        let targets = (DATA + PARITY).to_string();
        let flags = ["--meta", "1", "--storage", &targets, "--storage-services", "2", "--mirror"];
        let own = OwnCluster::start(host, work, base_port, &flags)?;
        let cluster = ParityCluster { own, host: host.clone() };
        cluster.add_sets()?;
        for placement in Placement::ALL {
            cluster.prepare(placement)?;
        }
        Ok(cluster)
    }

    /// Where files of a placement are made.
    pub(super) fn dir(&self, placement: Placement) -> PathBuf {
        self.own.mount().join(match placement {
            Placement::Striped => "striped",
            Placement::Coded => "coded",
            Placement::PlainSet => "plain-set",
            Placement::ParitySet => "parity-set",
        })
    }

    /// All that belongs to it is below.
    pub(super) fn root(&self) -> PathBuf {
        self.own.local_dir()
    }

    /// Where everything that is written ends.
    pub(super) fn disks(&self) -> [PathBuf; 2] {
        [self.own.cluster_dir(), self.drives()]
    }

    fn drives(&self) -> PathBuf {
        self.own.local_dir().join("drives")
    }

    /// Has all files of a placement encoded that are to be.
    pub(super) fn encode(&self, placement: Placement) -> Result<(), BenchError> {
        let dir = self.dir(placement);
        within(|| self.host.run(["entry", "encode", &text(&dir)]).map(drop))
    }

    fn add_sets(&self) -> Result<(), BenchError> {
        let (home, drives) = (self.own.cluster_dir(), self.drives());
        let mut settings = String::new();
        for (_, target, level, count) in SETS {
            let names: Vec<String> = (0..count).map(|at| text(&drives.join(format!("{target}-{at}")))).collect();
            for name in &names {
                fs::create_dir_all(name).map_err(io(format!("cannot make {name}")))?;
            }
            let words = ["raid", "create", "--level", level].map(str::to_owned).into_iter();
            self.host.run(words.chain(names.iter().cloned()).chain(["--yes".to_owned()]))?;
            // Writing to a string cannot fail.
            let _ = writeln!(settings, "\n[[targets]]\nid = {target}\ndrives = {names:?}");
        }
        self.host.run(["down", "--dir", &text(&home)])?;
        let path = home.join("conf/storage1.toml");
        let before = fs::read_to_string(&path).map_err(io(format!("cannot read {}", path.display())))?;
        fs::write(&path, before + &settings).map_err(io(format!("cannot write {}", path.display())))?;
        self.host.run(["up", "--dir", &text(&home)]).map(drop)
    }

    fn prepare(&self, placement: Placement) -> Result<(), BenchError> {
        let (dir, home, data) = (text(&self.dir(placement)), text(&self.own.cluster_dir()), DATA.to_string());
        fs::create_dir(&dir).map_err(io(format!("cannot make {dir}")))?;
        let (name, parity) = (dir_name(&dir), PARITY.to_string());
        let striped = ["--pattern", "raid0", "--num-targets", &data];
        let coded = ["--pattern", "ec", "--data", &data, "--parity", &parity];
        let one = ["--pattern", "raid0", "--num-targets", "1", "--pool", &name];
        let how: &[&str] = match placement {
            Placement::Striped => &striped,
            Placement::Coded => &coded,
            Placement::PlainSet | Placement::ParitySet => &one,
        };
        if let Some((_, target, ..)) = SETS.iter().find(|set| set.0 == placement) {
            // It may not be known yet.
            let create = ["pool", "create", &name, "--targets", &target.to_string(), "--dir", &home].map(str::to_owned);
            within(|| self.host.run(create.clone()).map(drop))?;
        }
        let words = [&["entry", "set", "--inline-size", "0"], how, &[dir.as_str()]].concat();
        within(|| self.host.run(words.iter().copied()).map(drop))
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn dir_name(dir: &str) -> String {
    Path::new(dir).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Tries until it works, for a while.
fn within(attempt: impl Fn() -> Result<(), BenchError>) -> Result<(), BenchError> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(_) if began.elapsed() < READY => std::thread::sleep(GLANCE),
            done => return done,
        }
    }
}
