// SPDX-License-Identifier: Apache-2.0

//! Memory for direct I/O.

use std::ops::{Deref, DerefMut};

/// Where aligned memory starts, bytes.
pub const ALIGNMENT: usize = 4096;

/// Memory that starts on a boundary of [`ALIGNMENT`], for direct I/O.
#[derive(Default)]
pub struct Aligned {
    memory: Vec<u8>,
    start: usize,
}

impl Aligned {
    /// So many zeros, or a few more.
    pub fn new(bytes: usize) -> Aligned {
        Aligned::of(vec![0; bytes + ALIGNMENT])
    }

    /// From the first boundary in this memory on.
    pub(crate) fn of(memory: Vec<u8>) -> Aligned {
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        assert!(start < ALIGNMENT, "a byte pointer can always be aligned within one step");
        Aligned { memory, start }
    }

    /// So many zeros anywhere, where no alignment is needed.
    pub(crate) fn plain(bytes: usize) -> Aligned {
        Aligned { memory: vec![0; bytes], start: 0 }
    }

    /// Makes it at least so long; it may lose its alignment by that.
    pub(crate) fn grow(&mut self, bytes: usize) {
        if self.len() < bytes {
            self.memory.resize(self.start + bytes, 0);
        }
    }

    /// The memory, with what is before the boundary.
    pub(crate) fn into_vec(self) -> Vec<u8> {
        self.memory
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_memory_is() {
        for bytes in [1, 4096, 1 << 20] {
            let mut memory = Aligned::new(bytes);
            assert!(memory.len() >= bytes && memory.as_ptr().align_offset(ALIGNMENT) == 0);
            memory[bytes - 1] = 1;
        }
    }
}
