// SPDX-License-Identifier: Apache-2.0

//! One buffer of a pool.

use super::spare::PoolSlot;
use crate::aligned::Aligned;
use crate::budget::Permit;
use bytes::Bytes;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Bytes of one payload or read; large memory goes back to its pool when they are dropped.
#[derive(Default)]
pub struct Buffer {
    pub(super) memory: Aligned,
    pub(super) len: usize,
    pub(super) slot: Option<PoolSlot>,
}

struct Shown {
    buffer: Buffer,
    _permit: Option<Permit>,
}

impl Buffer {
    /// The bytes from its start that may be written: for large buffers at least its length in whole blocks.
    pub fn writable(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// Whether it is large, and so was taken on a boundary of [`crate::aligned::ALIGNMENT`].
    pub fn is_large(&self) -> bool {
        self.slot.is_some()
    }

    /// Shows only the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes it longer or shorter; new bytes are zeros. What becomes longer than its memory may lose its alignment.
    pub fn resize(&mut self, len: usize) {
        if len > self.len {
            self.memory.grow(len);
            self.memory[self.len..len].fill(0);
        }
        self.len = len;
    }

    /// The filled buffer; memory and permit go back when the last clone or slice of it is dropped.
    pub(crate) fn into_bytes(mut self, permit: Option<Permit>) -> Bytes {
        if self.slot.is_none() && permit.is_none() {
            let mut memory = std::mem::take(&mut self.memory).into_vec();
            memory.truncate(self.len);
            return Bytes::from(memory);
        }
        Bytes::from_owner(Shown { buffer: self, _permit: permit })
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsRef<[u8]> for Shown {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.give(std::mem::take(&mut self.memory));
        }
    }
}
