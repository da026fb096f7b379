// SPDX-License-Identifier: Apache-2.0

//! What is said over a ring entry: the kernel's structures.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Gives an entry to the kernel, which fills it when there is a request.
pub(super) const REGISTER: u32 = 1;
/// Gives an entry back with the reply; the kernel fills it with the next request.
pub(super) const COMMIT_AND_FETCH: u32 = 2;

/// Room for either header, and for the fixed part of a request's arguments.
pub(super) const HEADER_ROOM_BYTES: usize = 128;

/// How much else there is in an entry.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct EntInOut {
    pub(super) flags: u64,
    /// By which the reply names its request.
    pub(super) commit_id: u64,
    /// Bytes in the payload, of the request or of the reply.
    pub(super) payload_bytes: u32,
    pub(super) padding: u32,
    pub(super) reserved: u64,
}

/// The headers of an entry.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Headers {
    /// The request's header; then the reply's.
    pub(super) in_out: [u8; HEADER_ROOM_BYTES],
    /// The first of the request's arguments; its length is what the other lengths leave.
    pub(super) op_in: [u8; HEADER_ROOM_BYTES],
    pub(super) ent: EntInOut,
}

/// Arguments of both commands.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct CmdReq {
    pub(super) flags: u64,
    pub(super) commit_id: u64,
    pub(super) qid: u16,
    pub(super) padding: [u8; 6],
}

impl CmdReq {
    /// As it stands in the submission.
    pub(super) fn args(&self) -> [u8; 80] {
        let mut args = [0; 80];
        args[..size_of::<CmdReq>()].copy_from_slice(self.as_bytes());
        args
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn sizes_and_offsets_are_the_kernels() {
        assert_eq!((size_of::<Headers>(), size_of::<EntInOut>(), size_of::<CmdReq>()), (288, 32, 24));
        assert_eq!((offset_of!(Headers, op_in), offset_of!(Headers, ent)), (128, 256));
        assert_eq!((offset_of!(EntInOut, commit_id), offset_of!(EntInOut, payload_bytes)), (8, 16));
        let args = CmdReq { flags: 0, commit_id: 0x0102_0304_0506_0708, qid: 9, padding: [0; 6] }.args();
        assert_eq!((args[8], args[15], args[16], args[24]), (8, 1, 9, 0));
    }
}
