// SPDX-License-Identifier: Apache-2.0

//! `nyala setup mgmtd|meta|storage|mon|client`: settings, directories, secret and unit of a service on this host; and `nyala setup check`.

use crate::exit::Outcome;
use crate::output::Output;
use crate::setup::args::SetupCommand;
use crate::setup::{carry_out, client, meta, mgmtd, mon, storage};

/// Plans, shows and does it.
pub fn run(command: SetupCommand, output: Output) -> Outcome {
    let (plan, yes) = match &command {
        SetupCommand::Mgmtd(args) => (mgmtd(args), args.service.common.yes),
        SetupCommand::Meta(args) => (meta(args), args.service.common.yes),
        SetupCommand::Storage(args) => (storage(args), args.service.common.yes),
        SetupCommand::Mon(args) => (mon(args), args.common.yes),
        SetupCommand::Client(args) => (client(args), args.common.yes),
        SetupCommand::Check(args) => return super::setup_check::run(args, output),
    };
    carry_out(&plan?, yes, output)
}
