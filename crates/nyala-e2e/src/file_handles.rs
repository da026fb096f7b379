// SPDX-License-Identifier: Apache-2.0

//! File handles: what an NFS server, or a backup program, keeps of a file instead of its path.

use crate::sys::c;
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

/// The kernel's limit, `MAX_HANDLE_SZ`.
const MAX_BYTES: usize = 128;

/// A handle, as `name_to_handle_at` gives it.
#[derive(Clone)]
#[repr(C)]
pub struct Handle {
    len: u32,
    kind: i32,
    bytes: [u8; MAX_BYTES],
}

impl Handle {
    /// The handle of what has a name.
    pub fn of(path: &Path) -> Result<Handle> {
        let mut handle = Handle { len: MAX_BYTES as u32, kind: 0, bytes: [0; MAX_BYTES] };
        let (raw, mut mount) = (&raw mut handle, 0);
        // SAFETY: the structure is laid out as the kernel's, with room for as many bytes as it says.
        let result = unsafe { libc::name_to_handle_at(libc::AT_FDCWD, c(path).as_ptr(), raw.cast(), &mut mount, 0) };
        if result == 0 { Ok(handle) } else { Err(Error::last_os_error()) }
    }

    /// Opens it; `mount` is anything on the mount that it is of.
    pub fn open(&self, mount: &File, flags: i32) -> Result<File> {
        let mut copy = self.clone();
        let raw = &raw mut copy;
        // SAFETY: as above; the kernel only reads it.
        let fd = unsafe { libc::open_by_handle_at(mount.as_raw_fd(), raw.cast(), flags | libc::O_CLOEXEC) };
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: the kernel just gave this descriptor to nobody else.
        Ok(unsafe { File::from_raw_fd(fd) })
    }

    /// The same with one bit of its bytes changed: a handle that nobody was given.
    pub fn with_flipped_bit(&self, byte: usize, bit: u8) -> Handle {
        let mut other = self.clone();
        other.bytes[byte] ^= 1 << bit;
        other
    }
}

/// Makes the kernel forget names and inodes that nobody uses.
pub fn forget_unused() -> Result<()> {
    std::fs::write("/proc/sys/vm/drop_caches", "2")
}
