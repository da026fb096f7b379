// SPDX-License-Identifier: Apache-2.0

//! What an error of the client says.

use nyala_client::Error;
use nyala_wire::ErrorCode;

/// Whether it has this code.
pub fn is(error: &Error, code: ErrorCode) -> bool {
    error.code() == code
}

/// Whether it says that what a disk has is not what was written.
pub fn tells_damage(error: &Error) -> bool {
    match error {
        Error::Checksum { .. } => true,
        Error::WriteBack { source, .. } => tells_damage(source),
        other => is(other, ErrorCode::CHECKSUM) || is(other, ErrorCode::BAD_BLOCK),
    }
}
