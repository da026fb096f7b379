// SPDX-License-Identifier: Apache-2.0

//! Failures of one try, sorted: another try may help, or somebody has to change something first. Pure.

use crate::error::{Error, Result};
use nyala_transport::TransportError;
use nyala_wire::{ErrorCode, WireError};

/// Why a try did not work, if another one may.
#[derive(Debug, Clone)]
pub(crate) enum Again {
    /// The network or the process on the other side.
    Connection(String),
    /// The server says: later, or elsewhere.
    Server(WireError),
    /// No other try can help.
    Never(Error),
    /// Somebody has to change something (secret, its keys, encryption, version, cluster), here or there; or somebody who is not asked
    /// answers. Nothing proves who said so.
    Refused(TransportError),
}

/// Sorts a transport failure: worth another try, or not without somebody changing something.
pub(crate) fn sort_transport(what: &'static str, error: TransportError) -> Result<Again> {
    use TransportError::{
        EncryptionMismatch, Handshake, NoAddress, RoleNotProven, Secret, VersionMismatch, WrongCluster, WrongSecret,
    };
    match error {
        WrongSecret { .. }
        | RoleNotProven { .. }
        | Secret(_)
        | WrongCluster { .. }
        | VersionMismatch { .. }
        | EncryptionMismatch { .. } => Ok(Again::Refused(error)),
        Handshake { .. } | NoAddress => Ok(Again::Connection(error.to_string())),
        error if error.is_transient() => Ok(Again::Connection(error.to_string())),
        error => Err(Error::Transport { what, error }),
    }
}

/// What a file lies on was removed from the cluster: no repetition brings it back.
pub(crate) fn removed(what: &'static str, location: &str) -> Error {
    let reason = format!("{location} was removed from the cluster, and with it what the file had there");
    tracing::error!(what, reason, "data is gone");
    Error::Server { what, error: ErrorCode::IO.with(reason) }
}

/// Sorts an error reply.
pub(crate) fn sort_reply(what: &'static str, error: WireError) -> Result<Again> {
    if error.code.is_transient() || error.code == ErrorCode::STALE_SESSION {
        Ok(Again::Server(error))
    } else {
        Err(Error::Server { what, error })
    }
}

/// The reply does not fit the request.
pub(crate) fn unexpected_reply(what: &'static str) -> Error {
    Error::Protocol { what, detail: "a reply of another kind" }
}
