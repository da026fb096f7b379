// SPDX-License-Identifier: Apache-2.0

//! Why a drive of another host cannot be had.

use crate::place::DrivePlace;
use std::io;

/// Why a drive cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// It is a directory.
    #[error("{place} is a directory of this host, not a drive of a drive service")]
    Directory {
        /// Where it is.
        place: DrivePlace,
    },
    /// The service does not answer, or refuses.
    #[error("the drive {place}: {why}")]
    Drive {
        /// Where it is.
        place: DrivePlace,
        /// Why.
        why: String,
        /// Another service has it.
        taken: bool,
    },
    /// No threads, or no random numbers.
    #[error("drives of other hosts cannot be reached: {0}")]
    System(#[from] io::Error),
}
