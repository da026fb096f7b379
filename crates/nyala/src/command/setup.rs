// SPDX-License-Identifier: Apache-2.0

//! `nyala setup mgmtd|meta|storage|client`: settings, directories, secret and unit of a service on this host.

use crate::exit::Outcome;
use crate::output::Output;
use crate::setup::args::SetupCommand;
use crate::setup::{carry_out, client, meta, mgmtd, storage};

/// Plans, shows and does it.
pub fn run(command: SetupCommand, output: Output) -> Outcome {
    let plan = match &command {
        SetupCommand::Mgmtd(args) => mgmtd(args),
        SetupCommand::Meta(args) => meta(args),
        SetupCommand::Storage(args) => storage(args),
        SetupCommand::Client(args) => client(args),
    }?;
    carry_out(&plan, command.yes(), output)
}
