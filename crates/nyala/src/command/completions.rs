// SPDX-License-Identifier: Apache-2.0

//! `nyala completions SHELL`.

use crate::cli::Cli;
use crate::completion::registration;
use crate::exit::Outcome;
use crate::output::print;
use clap::CommandFactory;
use clap_complete::Shell;

/// Flags of `nyala completions`.
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsArgs {
    /// For which shell; put the output where the shell looks, as /etc/bash_completion.d/nyala
    pub shell: Shell,
    /// Complete commands and flags only: the shell does not call nyala, which asks no cluster for its ids and aliases then
    #[arg(long = "static")]
    pub is_static: bool,
}

/// Prints the completions.
pub fn run(args: CompletionsArgs) -> Outcome {
    if !args.is_static {
        return print(&registration(args.shell)?);
    }
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "nyala", &mut text);
    print(&String::from_utf8_lossy(&text))
}
