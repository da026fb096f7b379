// SPDX-License-Identifier: Apache-2.0

//! `nyala health service ROLE`: does the service of this host answer? For health checks of containers and supervisors.
//!
//! **Failure model.** A service that hangs, is away, or waits for management does not answer; each step is bounded (2 s), and what failed is
//! said. Flags, variables and file are those of the service: where they are wrong, so is this command.

use crate::cluster::ask_node;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::{block_on, meta, mgmtd, storage};
use serde::Serialize;
use std::net::SocketAddr;

/// The service, with the flags that it was started with.
#[derive(Debug, clap::Subcommand)]
pub enum HealthServiceCommand {
    /// A management service
    Mgmtd(mgmtd::MgmtdArgs),
    /// A metadata service
    Meta(meta::MetaArgs),
    /// A storage service
    Storage(storage::StorageArgs),
}

/// That it answers.
#[derive(Serialize)]
struct Answers {
    address: SocketAddr,
    rtt_us: u64,
}

/// Asks it.
pub fn run(command: HealthServiceCommand, output: Output) -> Outcome {
    let asked = match command {
        HealthServiceCommand::Mgmtd(args) => mgmtd::asked(args),
        HealthServiceCommand::Meta(args) => meta::asked(args),
        HealthServiceCommand::Storage(args) => storage::asked(args),
    }?;
    let handshake = asked.handshake()?;
    let answer = block_on(async { Ok(ask_node(&[asked.at()], &handshake).await) })?;
    let Some((address, rtt_us)) = answer.reached else {
        let why = answer.failed.into_iter().next().map(|(_, error)| Failure::from(error));
        let failure = why.unwrap_or_else(|| Failure::unreachable("nothing was said"));
        return Err(failure.context(format!("the service does not answer at {}", asked.at())));
    };
    show(output, &Answers { address, rtt_us }, |answers| {
        format!("the service answers at {} after {} µs\n", answers.address, answers.rtt_us)
    })
}
