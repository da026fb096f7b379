// SPDX-License-Identifier: Apache-2.0

//! Which programs are run, and where each comes from. Pure.

use serde::Serialize;
use std::fmt;

/// A program that the field measures file systems with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Program {
    /// fio: any pattern of I/O on one host.
    Fio,
    /// IOR: content, by the tasks of an MPI job.
    Ior,
    /// mdtest: names and attributes, by the tasks of an MPI job.
    Mdtest,
    /// elbencho: content and names, by threads.
    Elbencho,
}

impl Program {
    /// All of them, in the order in which they run.
    pub const ALL: [Program; 4] = [Program::Fio, Program::Ior, Program::Mdtest, Program::Elbencho];

    /// Its file on `PATH`.
    pub fn name(self) -> &'static str {
        match self {
            Program::Fio => "fio",
            Program::Ior => "ior",
            Program::Mdtest => "mdtest",
            Program::Elbencho => "elbencho",
        }
    }

    /// Where it comes from.
    pub fn install(self) -> &'static str {
        match self {
            Program::Fio => "the package fio has it",
            Program::Ior => "build github.com/hpc/ior, with the packages openmpi-bin and libopenmpi-dev",
            Program::Mdtest => {
                "it comes with ior: build github.com/hpc/ior, with the packages openmpi-bin and libopenmpi-dev"
            }
            Program::Elbencho => "build github.com/breuner/elbencho, or take a package from its releases",
        }
    }

    /// Whether its tasks are those of an MPI job.
    pub fn uses_mpi(self) -> bool {
        matches!(self, Program::Ior | Program::Mdtest)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
