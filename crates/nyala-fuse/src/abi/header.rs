// SPDX-License-Identifier: Apache-2.0

//! What every request and every reply begins with.

abi_struct! {
    /// Begins every request.
    InHeader {
        len: u32,
        opcode: u32,
        unique: u64,
        nodeid: u64,
        uid: u32,
        gid: u32,
        pid: u32,
        /// Length of the extensions at the end, in units of 8 bytes (7.38).
        total_extlen: u16,
        padding: u16,
    }
    /// Begins every reply and every notification.
    OutHeader {
        len: u32,
        /// Zero, or a negative errno above -512; in a notification the (positive) notify code.
        error: i32,
        /// The request's, or zero for a notification.
        unique: u64,
    }
    /// Begins every extension that follows a request's arguments.
    ExtHeader {
        size: u32,
        kind: u32,
    }
}

/// Set in the `unique` of an INTERRUPT: the rest is the request that it interrupts.
pub const UNIQUE_INTERRUPT: u64 = 1;
