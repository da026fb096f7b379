// SPDX-License-Identifier: Apache-2.0

//! What came out. Pure.

use super::kind::Program;
use super::rows::Summary;
use crate::report::Setting;
use serde::Serialize;
use std::path::PathBuf;

/// A program that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Which.
    pub program: Program,
    /// Its file.
    pub file: PathBuf,
    /// Its version, where its output says so.
    pub version: Option<String>,
    /// Its tasks.
    pub tasks: u16,
}

/// A program that is not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Which.
    pub program: Program,
    /// Where it comes from.
    pub install: &'static str,
}

/// A command line, as it was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Started {
    /// Whose.
    pub program: Program,
    /// The workload.
    pub workload: &'static str,
    /// Which start of it.
    pub step: &'static str,
    /// The kernel's caches were emptied before.
    pub cold: bool,
    /// The line, in the first run.
    pub command: String,
}

/// A start without a result; its workload is not run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedStart {
    /// Whose.
    pub program: Program,
    /// The workload.
    pub workload: &'static str,
    /// Which start of it.
    pub step: &'static str,
    /// In which run, from 1.
    pub run: u16,
    /// Why.
    pub why: String,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// `programs`.
    pub bench: &'static str,
    /// The machine, and where programs worked.
    pub setting: Setting,
    /// Runs that were wanted.
    pub runs: u16,
    /// Content was compared with what was written.
    pub verify: bool,
    /// Programs that were run.
    pub programs: Vec<Used>,
    /// Programs that are not here.
    pub missing: Vec<Missing>,
    /// Each figure.
    pub figures: Vec<Summary>,
    /// What was run.
    pub commands: Vec<Started>,
    /// What failed.
    pub failures: Vec<FailedStart>,
    /// Where outputs of what failed are.
    pub outputs: Option<PathBuf>,
    /// A signal ended it.
    pub interrupted: bool,
    /// What the reader must know.
    pub notes: Vec<String>,
}
