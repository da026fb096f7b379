// SPDX-License-Identifier: Apache-2.0

//! Memory from the kernel, in whole pages, for requests and their data.
//!
//! **Failure model.** There may be none: an error for whoever asked. Of memory that stands at two addresses either side can be
//! given up, or given other pages, while the other one goes on: what lies at one address never changes because of it.

use std::io;
use std::ptr::NonNull;

/// Size of a page here and now on x86-64 and on most arm64; a larger real one only costs alignment.
pub(crate) const PAGE_BYTES: usize = 4096;

const ACCESS: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;
const OWN: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
const SHARED: libc::c_int = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Anonymous memory that is only backed where it was touched.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is plain memory; who may touch it at a second address is the matter of whoever made that.
unsafe impl Send for Mapping {}
// SAFETY: shared access only reads it.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Memory at one address.
    pub(crate) fn new(len: usize) -> io::Result<Mapping> {
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing of ours.
        Mapping::of(unsafe { libc::mmap(std::ptr::null_mut(), len, ACCESS, OWN, -1, 0) }, len)
    }

    /// Memory that can have [`Mapping::twin`]s.
    pub(crate) fn shared(len: usize) -> io::Result<Mapping> {
        // SAFETY: as in `new`.
        Mapping::of(unsafe { libc::mmap(std::ptr::null_mut(), len, ACCESS, SHARED, -1, 0) }, len)
    }

    fn of(address: *mut libc::c_void, len: usize) -> io::Result<Mapping> {
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(address.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Mapping { base, len })
    }

    /// The pages of this shared memory at a second address.
    pub(crate) fn twin(&self) -> io::Result<Mapping> {
        // SAFETY: with an old length of zero nothing is moved, and the new address is the kernel's choice. Private memory, of
        // which the kernel makes no twin, is refused (mremap(2)).
        let address = unsafe { libc::mremap(self.at(0).cast(), 0, self.len, libc::MREMAP_MAYMOVE) };
        Mapping::of(address, self.len)
    }

    /// Other pages, all zeros and shared, at the same address. A twin keeps the ones that it has. No reference to the bytes
    /// here may live, which is why none is ever made to shared memory that is not a twin.
    pub(crate) fn renew(&mut self) -> io::Result<()> {
        // SAFETY: replaces exactly this mapping, in one step; that nobody refers to its bytes is this function's condition.
        let address = unsafe { libc::mmap(self.at(0).cast(), self.len, ACCESS, SHARED | libc::MAP_FIXED, -1, 0) };
        if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Address of a byte inside, or of the end.
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset <= self.len, "beyond the mapping");
        // SAFETY: inside the mapping, or just behind it.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// All of it. For shared memory: only while nobody writes at the other address.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is `len` bytes, zero-filled by the kernel, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }

    /// All of it. Not for shared memory.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and len are what mmap gave, and nobody borrows from a value that is being dropped.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twin_has_the_same_pages_until_one_side_gets_others() {
        let mut memory = Mapping::shared(3 * PAGE_BYTES).unwrap();
        let put = |memory: &Mapping, at: usize, byte: u8| {
            // SAFETY: inside the mapping, and no reference to its bytes lives here.
            unsafe { memory.at(at).write(byte) }
        };
        put(&memory, 5000, 1);
        let first = memory.twin().unwrap();
        put(&memory, 5001, 2);
        assert_eq!(first.bytes()[4999..5003], [0, 1, 2, 0]);
        memory.renew().unwrap();
        put(&memory, 5000, 9);
        assert_eq!(first.bytes()[5000..5002], [1, 2], "a twin keeps its pages");
        let second = memory.twin().unwrap();
        drop(memory);
        assert_eq!((second.bytes()[5000], second.bytes()[5001], first.bytes()[5000]), (9, 0, 1));
        assert!(Mapping::new(PAGE_BYTES).unwrap().twin().is_err(), "of private memory there is none");
    }
}
