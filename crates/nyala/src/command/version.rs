// SPDX-License-Identifier: Apache-2.0

//! `nyala version`.

use crate::exit::Outcome;
use crate::output::{Output, show};
use nyala_wire::frame::PROTOCOL_VERSION;
use serde::Serialize;

/// What this build is. Of a build outside a git checkout the commit and its date are "unknown".
#[derive(Serialize)]
pub struct Version {
    version: &'static str,
    /// First ten digits of the commit it was built from; what was changed in the tree since is not seen here.
    commit: &'static str,
    /// Day of that commit.
    commit_date: &'static str,
    /// What it was built for, as the compiler says it.
    target: &'static str,
    protocol: u16,
    debug: bool,
}

/// Of this program.
pub const VERSION: Version = Version {
    version: env!("CARGO_PKG_VERSION"),
    commit: env!("NYALA_COMMIT"),
    commit_date: env!("NYALA_COMMIT_DATE"),
    target: env!("NYALA_TARGET"),
    protocol: PROTOCOL_VERSION,
    debug: cfg!(debug_assertions),
};

/// Prints the version.
pub fn run(output: Output) -> Outcome {
    show(output, &VERSION, |v| {
        let build = if v.debug { " (debug build)" } else { "" };
        format!(
            "nyala {}{build}, commit {} of {}, for {}, protocol {}\n",
            v.version, v.commit, v.commit_date, v.target, v.protocol
        )
    })
}
