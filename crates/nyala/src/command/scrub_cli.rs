// SPDX-License-Identifier: Apache-2.0

//! `nyala scrub` and its subcommands.

use super::scrub::{self, ScrubArgs};
use super::scrub_status::{self, ScrubStatusArgs};
use crate::exit::Outcome;
use crate::output::Output;

/// `nyala scrub`, and `nyala scrub …`
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ScrubCli {
    #[command(subcommand)]
    command: Option<ScrubCommand>,
    #[command(flatten)]
    args: ScrubArgs,
}

/// `nyala scrub …`
#[derive(Debug, clap::Subcommand)]
pub enum ScrubCommand {
    /// Show how far the services' own scrubs are, and what they could not repair
    Status(ScrubStatusArgs),
}

/// Scrubs, or says what the services' own scrubs came to.
pub fn run(cli: ScrubCli, output: Output) -> Outcome {
    match cli.command {
        Some(ScrubCommand::Status(args)) => scrub_status::run(args, output),
        None => scrub::run(cli.args, output),
    }
}
