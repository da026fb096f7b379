// SPDX-License-Identifier: Apache-2.0

//! Which way the kernel talks to a mount, as files, flags and mount options name it.

use clap::ValueEnum;
use nyala_fuse::Transport;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What carries a mount's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FuseTransport {
    /// The better of the two that can be had
    #[default]
    Auto,
    /// The device, /dev/fuse
    Dev,
    /// io_uring; the mount fails where that cannot be
    Uring,
}

impl FromStr for FuseTransport {
    type Err = String;

    fn from_str(name: &str) -> Result<FuseTransport, String> {
        <FuseTransport as ValueEnum>::from_str(name, false)
            .map_err(|_| format!("{name:?} is no transport; known are auto, dev and uring"))
    }
}

impl From<FuseTransport> for Transport {
    fn from(wanted: FuseTransport) -> Transport {
        match wanted {
            FuseTransport::Auto => Transport::Auto,
            FuseTransport::Dev => Transport::Dev,
            FuseTransport::Uring => Transport::Uring,
        }
    }
}
