// SPDX-License-Identifier: Apache-2.0

//! What is to be done, as data: phases made of operations. Pure and seeded, so that every driver does the same.

pub mod data;
pub mod fill;
pub mod meta;
pub mod ops;

use serde::Serialize;

/// What one timed operation of a phase is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Make an empty file.
    Create,
    /// Look up a name's attributes.
    Stat,
    /// Remove a file.
    Unlink,
    /// Make a file, write it whole, close it.
    WriteFile,
    /// Open a file, read it whole, close it.
    ReadFile,
    /// Make a directory.
    Mkdir,
    /// Remove a directory.
    Rmdir,
    /// Remove one of the workload's own directories.
    RemoveDir,
    /// List a directory's names.
    List,
    /// List a directory with all attributes.
    ListPlus,
    /// One transfer of a sequence of writes; the phase ends with fsync.
    Write,
    /// One transfer of a sequence of reads.
    Read,
    /// A write at a random place.
    RandomWrite,
    /// A read at a random place.
    RandomRead,
}

impl Step {
    /// Whether it goes through a file that is open during the whole phase.
    pub fn is_transfer(self) -> bool {
        matches!(self, Step::Write | Step::Read | Step::RandomWrite | Step::RandomRead)
    }

    /// Whether it changes a file's content through an open file.
    pub fn is_write(self) -> bool {
        matches!(self, Step::Write | Step::RandomWrite)
    }

    /// Whether caches are to be emptied before it, so that it measures more than memory.
    pub fn wants_cold_caches(self) -> bool {
        matches!(self, Step::Read | Step::RandomRead)
    }

    /// Whether it makes what the phases after it use.
    pub fn makes(self) -> bool {
        matches!(self, Step::Create | Step::WriteFile | Step::Mkdir | Step::Write)
    }

    /// Whether a random place is chosen.
    pub fn is_random(self) -> bool {
        matches!(self, Step::RandomWrite | Step::RandomRead)
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Step::Create => "create",
            Step::Stat => "stat",
            Step::Unlink => "unlink",
            Step::WriteFile => "create+write+close",
            Step::ReadFile => "open+read+close",
            Step::Mkdir => "mkdir",
            Step::Rmdir => "rmdir",
            Step::RemoveDir => "rmdir of the whole",
            Step::List => "readdir",
            Step::ListPlus => "readdirplus",
            Step::Write => "write",
            Step::Read => "read",
            Step::RandomWrite => "random write",
            Step::RandomRead => "random read",
        }
    }
}

/// Operations of one kind, done by all tasks at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The workload that it belongs to: `easy`, `hard`, …
    pub workload: &'static str,
    /// What is done.
    pub step: Step,
    /// How many tasks do it.
    pub tasks: usize,
    /// How many operations each task does at most.
    pub count: u64,
    /// Names are numbered from here on.
    pub first_name: u64,
    /// Size of a file (`WriteFile`, `ReadFile`) or of a transfer, bytes.
    pub bytes: usize,
    /// Directories: one for all tasks, or some for each, starting at this index of [`Workload::dirs`].
    pub first_dir: usize,
    /// Directories of each task, which it works through one after the other.
    pub dirs_each: usize,
    /// All tasks work in the same directory or file.
    pub shared: bool,
    /// Task `t` works on what task `t + shift` made, so that no task finds what it has just made in a cache.
    pub shift: usize,
    /// Distance of a task's transfers in a shared file are `tasks` transfers; bytes of the file for random places.
    pub file_bytes: u64,
    /// Bypass the page cache where that is possible.
    pub direct: bool,
    /// Where caches are emptied before it, it is done once before that, without a clock: a virtual machine gets a page of memory from
    /// its host at the first touch, which takes longer than what is to be measured.
    pub warm: bool,
    /// Later phases need all of it: no time limit ends it.
    pub whole: bool,
    /// Start of all random choices.
    pub seed: u64,
}

/// Phases that build on each other, and the directories that they need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// Directories, by the names they get in the benchmark's own directory.
    pub dirs: Vec<String>,
    /// In this order.
    pub phases: Vec<Phase>,
}

/// A name in one of a workload's directories.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Index into the workload's directories.
    pub dir: usize,
    /// The name.
    pub name: String,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// On a name.
    Name {
        /// What to do with it.
        step: Step,
        /// The name.
        entry: Entry,
        /// Content's size where there is content, bytes.
        bytes: usize,
        /// Which content; see [`fill::Fill`].
        key: u64,
    },
    /// On a directory.
    Dir {
        /// Which.
        dir: usize,
        /// With attributes.
        plus: bool,
    },
    /// Remove a directory of the workload's.
    RemoveDir {
        /// Which.
        dir: usize,
    },
    /// On the phase's open file.
    Transfer {
        /// Write, not read.
        write: bool,
        /// First byte.
        offset: u64,
        /// How many.
        bytes: usize,
        /// Which content.
        key: u64,
    },
}
