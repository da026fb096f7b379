// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala bench programs`.

use crate::exit::Failure;
use crate::units::Size;
use clap::{Args, ValueEnum};
use nyala_bench::programs::{Options, Program, Sizes};
use std::path::PathBuf;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgramArg {
    /// Content: streams, a shared file, random positions; of the package fio
    Fio,
    /// Content, by MPI tasks; built from its source
    Ior,
    /// Names and attributes, by MPI tasks; comes with ior
    Mdtest,
    /// Content and names, by threads; built from its source
    Elbencho,
}

/// Flags.
#[derive(Clone, Debug, Args)]
pub struct ProgramsArgs {
    /// A directory on a mount, or on any other file system [default: on a cluster of the benchmark's own]
    #[arg(long, value_name = "DIR")]
    pub on: Option<PathBuf>,
    /// How often all is done [default: 15, as in the papers; with --short 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=999))]
    pub runs: Option<u16>,
    /// Programs; those that are not installed are left out, and said
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [ProgramArg::Fio, ProgramArg::Ior, ProgramArg::Mdtest, ProgramArg::Elbencho], value_name = "NAME,…")]
    pub with: Vec<ProgramArg>,
    /// Content of each task, whole MiB [default: 64m; with --short 4m]
    #[arg(long)]
    pub size: Option<Size>,
    /// Random transfers of each task [default: 1000; with --short 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub random: Option<u64>,
    /// Files of each task, where names are measured [default: 500; with --short 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub files: Option<u64>,
    /// Tasks that work at once
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub tasks: u16,
    /// Longest time of one start of a program; it is killed then
    #[arg(long, default_value_t = 600, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
    /// Little of everything, for a look whether it works: the figures mean little
    #[arg(long)]
    pub short: bool,
    /// Have programs compare content with what was written, where they can; it costs them time that counts
    #[arg(long)]
    pub verify: bool,
    /// Do not empty the kernel's caches before reads
    #[arg(long)]
    pub keep_caches: bool,
    /// Write an HTML page with box plots there
    #[arg(long, value_name = "FILE|DIR")]
    pub out: Option<PathBuf>,
    /// Write the figures there, as `--output json` prints them; `nyala bench report` reads it
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Without --on, a directory on the file system that is used: the cluster is made in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// Without --on, the cluster's first port; it uses the forty after it as well
    #[arg(long, default_value_t = 10_850, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    pub base_port: u16,
}

impl ProgramArg {
    fn program(self) -> Program {
        match self {
            ProgramArg::Fio => Program::Fio,
            ProgramArg::Ior => Program::Ior,
            ProgramArg::Mdtest => Program::Mdtest,
            ProgramArg::Elbencho => Program::Elbencho,
        }
    }
}

impl ProgramsArgs {
    /// How much is to be done.
    pub fn sizes(&self) -> Result<Sizes, Failure> {
        let by_default = |size, short| if self.short { short } else { size };
        let size = self.size.unwrap_or(Size(by_default(64, 4) * MIB));
        if size < Size(MIB) || !size.0.is_multiple_of(MIB) {
            return Err(Failure::usage(format!("--size {size} is not a whole number of MiB; give 1m or more")));
        }
        Ok(Sizes {
            tasks: self.tasks,
            bytes: size.0,
            random: self.random.unwrap_or(by_default(1000, 50)),
            files: self.files.unwrap_or(by_default(500, 20)),
            verify: self.verify,
        })
    }

    /// What is to be done there.
    pub fn options(&self, on: PathBuf, sizes: Sizes) -> Options {
        let wanted = |program: &Program| self.with.iter().any(|arg| arg.program() == *program);
        Options {
            on,
            outputs: std::env::temp_dir(),
            programs: Program::ALL.into_iter().filter(wanted).collect(),
            sizes,
            runs: self.runs.unwrap_or(if self.short { 3 } else { 15 }),
            limit: Duration::from_secs(self.seconds),
            keep_caches: self.keep_caches,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::args::line;
    use crate::exit::Exit;

    #[test]
    fn sizes_are_small_on_request_and_what_is_given_counts() {
        let sizes = |words: &[&str]| line::<ProgramsArgs>(words).unwrap().sizes();
        let usual = sizes(&[]).unwrap();
        assert_eq!((usual.tasks, usual.bytes, usual.random, usual.files), (4, 64 * MIB, 1000, 500));
        let short = sizes(&["--short", "--files", "7"]).unwrap();
        assert_eq!((short.bytes, short.random, short.files), (4 * MIB, 50, 7));
        for wrong in ["0", "100k", "1025k"] {
            let error = sizes(&["--size", wrong]).unwrap_err();
            assert!(error.exit == Exit::Usage && error.message.contains("--size"), "{error}");
        }
    }

    #[test]
    fn programs_run_in_one_order_and_once() {
        let args: ProgramsArgs = line(&["--with", "mdtest,fio,mdtest", "--short"]).unwrap();
        let options = args.options("/d".into(), args.sizes().unwrap());
        assert_eq!((options.programs, options.runs), (vec![Program::Fio, Program::Mdtest], 3));
        let all: ProgramsArgs = line(&[]).unwrap();
        assert_eq!(all.options("/d".into(), all.sizes().unwrap()).programs, Program::ALL);
    }
}
