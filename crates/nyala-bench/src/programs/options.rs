// SPDX-License-Identifier: Apache-2.0

//! What the user wants of the programs. Pure.

use super::kind::Program;
use super::workload::Sizes;
use std::path::PathBuf;
use std::time::Duration;

/// What the user wants.
#[derive(Clone, Debug)]
pub struct Options {
    /// A directory on the file system that is measured.
    pub on: PathBuf,
    /// A directory for outputs, on another file system.
    pub outputs: PathBuf,
    /// Programs.
    pub programs: Vec<Program>,
    /// How much is done.
    pub sizes: Sizes,
    /// How often all is done.
    pub runs: u16,
    /// How long a start of a program may take.
    pub limit: Duration,
    /// Caches are not emptied before reads.
    pub keep_caches: bool,
}
