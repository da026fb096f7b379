// SPDX-License-Identifier: Apache-2.0

//! Random bytes from the seed.

use super::{real, runs, with};
use libc::{c_int, c_uint, c_void, size_t, ssize_t};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(into: *mut c_void, len: size_t, flags: c_uint) -> ssize_t {
    if !runs() {
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_getrandom, [into as usize, len, flags as usize, 0, 0, 0]) };
    }
    if len == 0 {
        return 0;
    }
    // SAFETY: the caller gives so much room.
    let room = unsafe { std::slice::from_raw_parts_mut(into.cast::<u8>(), len) };
    with(|kernel| {
        for chunk in room.chunks_mut(8) {
            let bits = kernel.entropy.bits().to_le_bytes();
            chunk.copy_from_slice(&bits[..chunk.len()]);
        }
        kernel.trace.event("random", &[len as u64]);
    });
    len as ssize_t
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(into: *mut c_void, len: size_t) -> c_int {
    // SAFETY: the caller's.
    let got = unsafe { getrandom(into, len, 0) };
    if got == len as ssize_t { 0 } else { -1 }
}
