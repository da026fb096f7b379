// SPDX-License-Identifier: Apache-2.0

//! Why a benchmark has no result.

use std::fmt;
use thiserror::Error;

/// Why a benchmark has no result.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The native client could not connect.
    #[error(transparent)]
    Client(#[from] nyala_client::Error),
    /// Anything else, in a sentence for people.
    #[error("{0}")]
    Failed(String),
}

impl BenchError {
    /// Something failed, in a sentence for people.
    pub fn failed(message: impl Into<String>) -> BenchError {
        BenchError::Failed(message.into())
    }

    /// A signal ended it.
    pub fn stopped() -> BenchError {
        BenchError::failed("the benchmark was ended by a signal")
    }
}

/// Names what an input or output error was about.
pub(crate) fn io(what: impl fmt::Display) -> impl FnOnce(std::io::Error) -> BenchError {
    move |error| BenchError::Failed(format!("{what}: {error}"))
}
