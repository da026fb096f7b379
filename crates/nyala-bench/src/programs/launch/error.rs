// SPDX-License-Identifier: Apache-2.0

//! Why a program has no result. Pure.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use thiserror::Error;

/// Why a program has no result.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// It, or a file for what it says, could not be made.
    #[error("cannot start {}: {error}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It failed.
    #[error("it ended with {status}{said}")]
    Failed {
        /// How.
        status: ExitStatus,
        /// Its last lines, with what stands before them.
        said: String,
    },
    /// It took too long.
    #[error("it did not end within {} s and was killed{said}", limit.as_secs())]
    TimedOut {
        /// The limit.
        limit: Duration,
        /// Its last lines, with what stands before them.
        said: String,
    },
    /// The user wants an end.
    #[error("a signal ended it")]
    Stopped,
}
