// SPDX-License-Identifier: Apache-2.0

//! Why an operation did not run to its end.

use nyala_wire::{ErrorCode, WireError};

/// Why an operation did not run to its end.
#[derive(Debug)]
pub enum Fault {
    /// It is refused; this is the answer.
    Refused(WireError),
    /// A transaction holds something that it needs: wait for a release and run it again.
    Blocked,
    /// It touches other servers: do it as this transaction.
    Elsewhere(Box<crate::tx::Plan>),
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Self {
        Fault::Refused(error)
    }
}

impl From<ErrorCode> for Fault {
    fn from(code: ErrorCode) -> Self {
        Fault::Refused(code.into())
    }
}

impl Fault {
    /// What a server answers that never waits for locks.
    pub fn refusal(self) -> WireError {
        match self {
            Fault::Refused(error) => error,
            Fault::Blocked | Fault::Elsewhere(_) => ErrorCode::BUSY.into(),
        }
    }
}

/// Result of a step of an operation.
pub type Step<T> = Result<T, Fault>;
