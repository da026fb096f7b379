// SPDX-License-Identifier: Apache-2.0

//! `nyala version`.

use crate::exit::Outcome;
use crate::output::{Output, show};
use nyala_wire::frame::PROTOCOL_VERSION;
use serde::Serialize;

/// What this build is.
#[derive(Serialize)]
struct Version {
    version: &'static str,
    protocol: u16,
    debug: bool,
}

/// Prints the version.
pub fn run(output: Output) -> Outcome {
    let version =
        Version { version: env!("CARGO_PKG_VERSION"), protocol: PROTOCOL_VERSION, debug: cfg!(debug_assertions) };
    show(output, &version, |v| {
        let build = if v.debug { " (debug build)" } else { "" };
        format!("nyala {}{build}, protocol {}\n", v.version, v.protocol)
    })
}
