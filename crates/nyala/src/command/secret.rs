// SPDX-License-Identifier: Apache-2.0

//! `nyala secret …`: a cluster's secret file, and the keys in it.
//!
//! **Failure model.** The file may be changed by somebody else meanwhile: nothing is written then, and the command says so. It appears whole
//! or not at all; services read it again by themselves, and a command never leaves a role without a key.

mod add;
mod export;
mod keys;
mod list;
mod retire;

use crate::config::DEFAULT_SECRET;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use clap::Subcommand;
use nyala_transport::Secret;
use std::path::{Path, PathBuf};

/// Flags of `nyala secret`.
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SecretArgs {
    #[command(subcommand)]
    command: Option<SecretCommand>,
    /// Where a new secret is made; an existing file is never replaced
    #[arg(default_value = DEFAULT_SECRET)]
    file: PathBuf,
}

/// `nyala secret …`
#[derive(Clone, Debug, Subcommand)]
pub enum SecretCommand {
    /// List the keys of a secret file, without what is secret in them
    List(list::ListArgs),
    /// Add a key, which is used for new connections from then on
    Add(add::AddArgs),
    /// Remove a key: whoever has no other one is out at once
    Retire(retire::RetireArgs),
    /// Write a secret file for other hosts, with keys of some roles only
    Export(export::ExportArgs),
}

/// Runs the command; without one, makes a file.
pub fn run(args: SecretArgs, output: Output) -> Outcome {
    match args.command {
        None => make(&args.file, output),
        Some(SecretCommand::List(args)) => list::run(&args, output),
        Some(SecretCommand::Add(args)) => add::run(&args, output),
        Some(SecretCommand::Retire(args)) => retire::run(&args, output),
        Some(SecretCommand::Export(args)) => export::run(&args, output),
    }
}

fn make(path: &Path, output: Output) -> Outcome {
    // Not a wrong configuration, but a file that could not be made.
    Secret::generate(path).map_err(|error| Failure::failed(error.to_string()))?;
    let made = serde_json::json!({ "file": path.to_string_lossy() });
    show(output, &made, |_| format!("{} made (mode 0600); copy it to every host of the cluster\n", path.display()))
}

#[cfg(test)]
mod tests;
