// SPDX-License-Identifier: Apache-2.0

//! Reads of files through a ring.
//!
//! **Failure model.** A read's own failure is its result, as a command's is. A ring that goes leaves reads behind that the
//! kernel still works on: their memory must then never be used again.

use crate::ring::Ring;
use io_uring::{opcode, types};
use std::io;
use std::os::fd::RawFd;

impl Ring {
    /// Takes a read of up to `len` bytes from `offset` on; its result is the number of bytes, or a negative errno. It is handed
    /// to the kernel when events are next waited for.
    ///
    /// # Safety
    ///
    /// The `len` bytes at `memory` must be there for the kernel to write to, untouched by anybody else, and the
    /// descriptor open, until the read is done; if the ring goes before that, the memory for ever.
    pub unsafe fn push_read(&self, tag: u64, fd: RawFd, memory: *mut u8, len: u32, offset: u64) -> io::Result<()> {
        let entry = opcode::Read::new(types::Fd(fd), memory, len).offset(offset).build();
        self.push_entry(&entry.user_data(tag).into())?;
        if self.readable.is_some() {
            self.waker.wake_waiter();
        }
        Ok(())
    }
}
