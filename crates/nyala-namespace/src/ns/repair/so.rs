// SPDX-License-Identifier: Apache-2.0

//! Whether what a repair says is so.

use crate::change::{Fault, Step};
use nyala_wire::ErrorCode;

/// What a repair says is not so.
pub fn not_so() -> Fault {
    ErrorCode::STALE.with("what was found is not so any more").into()
}

/// Goes on only if what a repair says is so.
pub fn check(so: bool) -> Step<()> {
    if so { Ok(()) } else { Err(not_so()) }
}
