// SPDX-License-Identifier: Apache-2.0

//! Why a drive of another host cannot be had.

use crate::location::DriveLocation;
use std::io;

/// Why a drive cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// It is a directory.
    #[error("{location} is a directory of this host, not a drive of a drive service")]
    Directory {
        /// Where it is.
        location: DriveLocation,
    },
    /// The service does not answer, or refuses.
    #[error("the drive {location}: {why}")]
    Drive {
        /// Where it is.
        location: DriveLocation,
        /// Why.
        why: String,
        /// Another service has it.
        taken: bool,
    },
    /// No threads, or no random numbers.
    #[error("drives of other hosts cannot be reached: {0}")]
    System(#[from] io::Error),
}
