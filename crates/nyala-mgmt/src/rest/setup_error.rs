// SPDX-License-Identifier: Apache-2.0

//! What is wrong with settings and orders of the REST API that are not asked over it.

use std::path::PathBuf;

/// Why the REST API is not served, or a token not made.
#[derive(Debug, thiserror::Error)]
pub enum RestError {
    /// A certificate without a key, or the other way around.
    #[error(
        "a certificate needs its key and a key its certificate: say both rest_certificate and rest_key, or none of them"
    )]
    Half,
    /// The certificate or the key cannot be used.
    #[error(
        "{path} cannot be used for the REST API: {reason}; it takes a certificate (with its chain) and its key in PEM form"
    )]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A token for somebody is not made.
    #[error("no token is made: {0}")]
    NotIssued(String),
}
