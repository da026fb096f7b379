// SPDX-License-Identifier: Apache-2.0

//! Tests that hold what is packaged around the program (the container image, the Ansible role) and its pages to the command line and the
//! settings that there are. Nothing is installed for them: `make test-container` and `make test-ansible` run the whole.

mod ansible_role;
mod container_page;
mod expressions;

use crate::cli::Cli;
use clap::Parser;

/// A command line of the program, read as the program reads it.
fn parse<W: AsRef<str>>(words: &[W]) -> Cli {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => panic!("{}: {error}", words.join(" ")),
    }
}
