// SPDX-License-Identifier: Apache-2.0

//! Errors as they cross the wire: the body of a frame with the ERROR flag.

use minicbor::{Decode, Encode};
use std::fmt;

/// What went wrong. 1 to 4095 are Linux errno values, passed to the application as they are; from 4096 on they are
/// Nyala's own, dealt with by the client or the peer server and never shown to an application.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct ErrorCode(#[n(0)] pub u16);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        impl ErrorCode {
            $($(#[$doc])* pub const $name: ErrorCode = ErrorCode($value);)*

            fn name(self) -> Option<&'static str> {
                match self {
                    $(ErrorCode::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// EPERM
    NOT_PERMITTED = 1;
    /// ENOENT
    NOT_FOUND = 2;
    /// EINTR
    INTERRUPTED = 4;
    /// EIO
    IO = 5;
    /// E2BIG
    TOO_BIG = 7;
    /// EBADF
    BAD_HANDLE = 9;
    /// EAGAIN
    AGAIN = 11;
    /// EACCES
    ACCESS = 13;
    /// EBUSY
    DEVICE_BUSY = 16;
    /// EEXIST
    EXISTS = 17;
    /// EXDEV
    CROSS_DEVICE = 18;
    /// ENOTDIR
    NOT_A_DIRECTORY = 20;
    /// EISDIR
    IS_A_DIRECTORY = 21;
    /// EINVAL
    INVALID = 22;
    /// EFBIG
    FILE_TOO_BIG = 27;
    /// ENOSPC
    NO_SPACE = 28;
    /// EROFS
    READ_ONLY = 30;
    /// EMLINK
    TOO_MANY_LINKS = 31;
    /// ERANGE
    RANGE = 34;
    /// EDEADLK
    DEADLOCK = 35;
    /// ENAMETOOLONG
    NAME_TOO_LONG = 36;
    /// ENOLCK
    NO_LOCKS = 37;
    /// ENOTEMPTY
    NOT_EMPTY = 39;
    /// ELOOP
    LOOP = 40;
    /// ENODATA: no such extended attribute
    NO_DATA = 61;
    /// EOPNOTSUPP
    NOT_SUPPORTED = 95;
    /// ETIMEDOUT
    TIMED_OUT = 110;
    /// ESTALE
    STALE = 116;

    /// The message type or operation is not known to this service.
    UNKNOWN_MESSAGE = 4096;
    /// The body cannot be decoded or breaks a bound.
    BAD_MESSAGE = 4097;
    /// The sender's cluster map is too old for this request; fetch the newer one and send again.
    MAP_BEHIND = 4098;
    /// This server does not serve that slot or target (any more); fetch the map and send again.
    WRONG_SERVER = 4099;
    /// The session is not known here (it expired); open a new one.
    STALE_SESSION = 4100;
    /// A conflicting transaction is under way; try again shortly.
    BUSY = 4101;
    /// The service is starting, stopping or without its lease; try again.
    NOT_READY = 4102;
    /// Stored data does not match its checksum.
    CHECKSUM = 4103;
    /// Data arrived damaged; send again.
    DAMAGED = 4104;
    /// The file's content is no longer inline, or not in the version named.
    INLINE_CONFLICT = 4105;
    /// The group epoch is old.
    WRONG_EPOCH = 4106;
    /// The transaction is not known (presumed aborted).
    NO_TRANSACTION = 4107;
    /// Another cluster's member, target or client.
    FOREIGN = 4108;
    /// The sender of an administrative request has no right to it.
    UNAUTHORIZED = 4109;
    /// The session was ended because its client was silent, or kept a delegation, for too long; what it still writes is refused.
    FENCED = 4110;
    /// This member of a mirror group cannot tell whether the newest change there counts: ask the primary.
    ASK_PRIMARY = 4111;
    /// The directory is split, and this fragment does not hold that name: ask the directory for its fragments.
    OTHER_FRAGMENT = 4112;
    /// The directory is split, and has to be whole again before it is removed: ask for that first.
    IS_SPLIT = 4113;
    /// An access rule keeps the client below a directory, and this storage service was not shown that the file is: show a proof, and send again.
    PROOF_NEEDED = 4114;
    /// The client's rule is about users, and this storage service was not shown that one of them may do that with the file: show a grant, and send
    /// again.
    GRANT_NEEDED = 4115;
    /// Every copy of a block is damaged: it can be overwritten whole only.
    BAD_BLOCK = 4116;
    /// The sender was removed from the cluster by an operator; it must stop and not come back with this directory.
    REMOVED = 4120;
}

impl ErrorCode {
    /// With a sentence for people.
    pub fn with(self, message: impl Into<String>) -> WireError {
        WireError { code: self, message: message.into() }
    }

    /// Whether it is a Linux errno.
    pub fn is_errno(self) -> bool {
        self.0 > 0 && self.0 < 4096
    }

    /// Whether the same request, sent again later or to the right server, can succeed.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::MAP_BEHIND
                | Self::WRONG_SERVER
                | Self::BUSY
                | Self::NOT_READY
                | Self::DAMAGED
                | Self::WRONG_EPOCH
                | Self::ASK_PRIMARY
        )
    }

    /// The errno that an application sees when nothing better can be done.
    pub fn errno(self) -> i32 {
        if self.is_errno() { i32::from(self.0) } else { i32::from(Self::IO.0) }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "error {}", self.0),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An error reply: a code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, thiserror::Error)]
#[error("{code}: {message}")]
pub struct WireError {
    /// What went wrong.
    #[n(0)]
    pub code: ErrorCode,
    /// A sentence for people; may be empty.
    #[n(1)]
    pub message: String,
}

impl From<ErrorCode> for WireError {
    fn from(code: ErrorCode) -> Self {
        code.with("")
    }
}
