// SPDX-License-Identifier: Apache-2.0

//! What can go wrong, told apart inside and turned into an errno once, at the edge.

use nyala_transport::TransportError;
use nyala_wire::{DataLocation, ErrorCode, InodeId, TargetId, WireError};
use std::time::Duration;

/// Result of client calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed call. Cheap enough to clone: a failed background write is reported once per handle.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A server refused; an errno is passed on as it is.
    #[error("{what}: {error}")]
    Server {
        /// What was asked.
        what: &'static str,
        /// Its words.
        error: WireError,
    },
    /// No server did it within `retry_timeout`.
    #[error("{what}: gave up after {after:?}; the last try said: {last}")]
    TimedOut {
        /// What was asked.
        what: &'static str,
        /// How long it was tried.
        after: Duration,
        /// Why the last try failed.
        last: String,
    },
    /// Talking to the cluster cannot work until somebody changes something (secret, version, encryption).
    #[error("{what}: {error}")]
    Transport {
        /// What was asked.
        what: &'static str,
        /// Why.
        error: TransportError,
    },
    /// Stored data does not match its checksum and there is no other copy.
    #[error("file {inode}: data on target {target} at byte {offset} does not match its checksum")]
    Checksum {
        /// The file.
        inode: InodeId,
        /// Where the data is.
        target: TargetId,
        /// Offset in the chunk file.
        offset: u64,
    },
    /// Buffered data of a file could not be written.
    #[error("file {inode}: bytes {offset} to {end} were not written: {source}")]
    WriteBack {
        /// The file.
        inode: InodeId,
        /// First byte.
        offset: u64,
        /// End.
        end: u64,
        /// Why.
        source: Box<Error>,
    },
    /// The client was cut off for so long that others were let at what it had delegated.
    #[error(
        "file {inode}: written data is lost: the client was cut off from the servers for longer than the session timeout"
    )]
    DelegationLost {
        /// The file.
        inode: InodeId,
    },
    /// A storage target lost power after it had acknowledged data and before that was synced.
    #[error("file {inode}: {location} has lost power since data was written there that was not synced: it may be lost")]
    Unsynced {
        /// The file.
        inode: InodeId,
        /// The target, or the mirror group.
        location: DataLocation,
    },
    /// The same of a metadata server, and a change.
    #[error("inode {inode}: metadata target {target} lost power before a change of it was on disk: it is lost")]
    TakenBack {
        /// The file or directory.
        inode: InodeId,
        /// The target.
        target: TargetId,
    },
    /// The call itself is wrong.
    #[error("{code}: {message}")]
    Refused {
        /// Linux errno.
        code: ErrorCode,
        /// Why.
        message: &'static str,
    },
    /// A server's answer does not fit the question.
    #[error("{what}: the server's answer makes no sense ({detail}); are all services of the same version?")]
    Protocol {
        /// What was asked.
        what: &'static str,
        /// What is wrong.
        detail: &'static str,
    },
    /// The client was shut down.
    #[error("the client was shut down")]
    ShutDown,
    /// The system refused something that the client needs at start.
    #[error("cannot start the client: {0}")]
    System(String),
}

impl Error {
    /// The Linux errno that an application sees.
    pub fn errno(&self) -> i32 {
        self.code().errno()
    }

    /// The code behind it; `IO` where there is none.
    pub fn code(&self) -> ErrorCode {
        match self {
            Error::Server { error, .. } => error.code,
            Error::TimedOut { .. } => ErrorCode::TIMED_OUT,
            Error::Refused { code, .. } => *code,
            Error::WriteBack { source, .. } => source.code(),
            Error::Transport { .. }
            | Error::Checksum { .. }
            | Error::DelegationLost { .. }
            | Error::Unsynced { .. }
            | Error::TakenBack { .. }
            | Error::Protocol { .. }
            | Error::ShutDown
            | Error::System(_) => ErrorCode::IO,
        }
    }

    /// Is it this code?
    pub fn is(&self, code: ErrorCode) -> bool {
        self.code() == code
    }

    pub(crate) fn refused(code: ErrorCode, message: &'static str) -> Error {
        Error::Refused { code, message }
    }

    pub(crate) fn server(what: &'static str) -> impl Fn(WireError) -> Error {
        move |error| Error::Server { what, error }
    }
}
