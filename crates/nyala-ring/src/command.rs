// SPDX-License-Identifier: Apache-2.0

//! What a ring carries.
#![expect(clippy::host_endian_bytes, reason = "the kernel's structures are host-endian")]

use io_uring::squeue::Entry128;
use io_uring::{opcode, types};
use std::os::fd::RawFd;

/// A command for a file's driver (`IORING_OP_URING_CMD`).
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// The file.
    pub fd: RawFd,
    /// What the driver calls the command.
    pub op: u32,
    /// The command's own arguments.
    pub args: [u8; 80],
    /// Address and length that go with it, as the driver understands them.
    pub memory: (u64, u32),
    /// By which its completion is known; not `u64::MAX`.
    pub tag: u64,
}

/// Where an entry's `len` is (`struct io_uring_sqe`).
const LEN_AT: usize = 24;

impl Command {
    pub(crate) fn entry(&self) -> Entry128 {
        let entry = opcode::UringCmd80::new(types::Fd(self.fd), self.op).cmd(self.args);
        let entry = entry.addr(Some(self.memory.0)).build().user_data(self.tag);
        with_len(entry, self.memory.1)
    }
}

/// The library has no way to set the length of such a command.
fn with_len(entry: Entry128, len: u32) -> Entry128 {
    // SAFETY: an entry is 128 bytes of plain data without padding, laid out as the kernel's structure (repr(C)).
    let mut bytes: [u8; 128] = unsafe { std::mem::transmute(entry) };
    bytes[LEN_AT..LEN_AT + 4].copy_from_slice(&len.to_ne_bytes());
    // SAFETY: as above; every pattern of bytes is an entry.
    unsafe { std::mem::transmute(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_finds_everything_in_its_place() {
        let mut args = [0; 80];
        (args[0], args[15], args[16], args[79]) = (1, 2, 3, 4);
        let command = Command { fd: 7, op: 0x0102_0304, args, memory: (0x1122_3344_5566_7788, 9), tag: 0xabcd };
        // SAFETY: as in `with_len`.
        let bytes: [u8; 128] = unsafe { std::mem::transmute(command.entry()) };
        assert_eq!(bytes[0], 46, "IORING_OP_URING_CMD");
        assert_eq!(bytes[4..8], 7i32.to_ne_bytes());
        assert_eq!(bytes[8..12], 0x0102_0304u32.to_ne_bytes());
        assert_eq!(bytes[16..24], 0x1122_3344_5566_7788u64.to_ne_bytes());
        assert_eq!(bytes[24..28], 9u32.to_ne_bytes());
        assert_eq!(bytes[32..40], 0xabcdu64.to_ne_bytes());
        assert_eq!((bytes[48], bytes[63], bytes[64], bytes[127]), (1, 2, 3, 4));
    }
}
