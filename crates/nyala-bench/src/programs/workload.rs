// SPDX-License-Identifier: Apache-2.0

//! What a program is told to do. Pure.
//!
//! Programs work in a directory of their own and name it as `.`: so no part of its path has a meaning to them (`@` and `:` do, to some).

use super::figure::{Metric, Wanted};
use super::kind::Program;

/// Stands in a command line for the file that the program writes its figures to.
pub const OUTPUT: &str = "@output@";
/// Transfers of a random workload, bytes.
pub const RANDOM_BYTES: u64 = 4096;

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Tasks that work at once.
    pub tasks: u16,
    /// Content of each, bytes: whole MiB.
    pub bytes: u64,
    /// Random transfers of each.
    pub random: u64,
    /// Files of each, where names are measured.
    pub files: u64,
    /// Content is compared with what was written, where the program can.
    pub verify: bool,
}

/// One start of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its name within the workload.
    pub step: &'static str,
    /// Behind the program's name; [`OUTPUT`] stands for a file.
    pub args: Vec<String>,
    /// The kernel's caches are emptied before.
    pub cold: bool,
    /// What its output has to say; nothing of one that only prepares.
    pub wanted: Option<Wanted>,
}

/// Starts that work on the same files, in a directory of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Which program.
    pub program: Program,
    /// Its name for people; unlike any other of the program.
    pub name: &'static str,
    /// In this order.
    pub starts: Vec<Start>,
    /// Room that its files need.
    pub bytes: u64,
}

impl Start {
    /// A start on warm caches whose operations are measured by one metric.
    pub fn new(step: &'static str, args: Vec<String>, operations: &'static [&'static str], metric: Metric) -> Start {
        Start { step, args, cold: false, wanted: Some(Wanted { operations, metric }) }
    }

    /// The same, with the kernel's caches emptied before.
    pub fn cold(self) -> Start {
        Start { cold: true, ..self }
    }
}

/// A command line of fixed parts and others.
pub fn line(fixed: &str, others: &[String]) -> Vec<String> {
    fixed.split_whitespace().map(str::to_owned).chain(others.iter().cloned()).collect()
}
