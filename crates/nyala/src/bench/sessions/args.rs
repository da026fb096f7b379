// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala bench sessions`.

use crate::cluster::ClusterArgs;

/// Flags.
#[derive(Clone, Debug, clap::Args)]
pub struct SessionsArgs {
    /// Client sessions that are connected to every server and do nothing
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub idle: usize,
    /// Clients that work
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=2000))]
    pub busy: u16,
    /// Time that idle sessions are watched, and longest time of a phase of work
    #[arg(long, default_value_t = 5, value_name = "S")]
    pub seconds: u64,
    /// Only hold so many idle sessions, until the input ends
    #[arg(long, hide = true, value_name = "N")]
    pub hold: Option<usize>,
    /// As `--output json`
    #[arg(long)]
    pub json: bool,
    /// The cluster
    #[command(flatten)]
    pub cluster: ClusterArgs,
}
