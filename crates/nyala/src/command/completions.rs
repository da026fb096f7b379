// SPDX-License-Identifier: Apache-2.0

//! `nyala completions SHELL`.

use crate::cli::Cli;
use crate::exit::Outcome;
use crate::output::print;
use clap::CommandFactory;
use clap_complete::Shell;

/// Flags of `nyala completions`.
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsArgs {
    /// For which shell; put the output where the shell looks, as /etc/bash_completion.d/nyala
    pub shell: Shell,
}

/// Prints the completions.
pub fn run(args: CompletionsArgs) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "nyala", &mut text);
    print(&String::from_utf8_lossy(&text))
}
