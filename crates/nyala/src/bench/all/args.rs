// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala bench all`.

use std::path::PathBuf;

/// Flags.
#[derive(Clone, Debug, clap::Args)]
pub struct AllArgs {
    /// Longest time of a phase; with 3, a run takes about ten minutes
    #[arg(long, default_value_t = 3, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
    /// A directory on the file system that is measured: the cluster is made in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// The cluster's first port; the ninety after it are used as well
    #[arg(long, default_value_t = 10_700, value_name = "PORT")]
    pub base_port: u16,
    /// Idle client sessions; 0: none
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub idle: usize,
    /// A few seconds in all, to see that everything runs: the figures mean little
    #[arg(long)]
    pub short: bool,
    /// Where results of commits are kept; the last one is compared with
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Write the result (JSON) and a chart (SVG) there, under the commit's name
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What is measured, as results are named: a date and a commit, so that names sort by age
    #[arg(long, default_value = "unnamed", value_name = "NAME")]
    pub name: String,
    /// As `--output json`
    #[arg(long)]
    pub json: bool,
}
