// SPDX-License-Identifier: Apache-2.0

//! What the file must hold.

use crate::posix::pattern;

/// The file as it should be.
#[derive(Debug)]
pub struct Model {
    bytes: Vec<u8>,
    max: usize,
}

impl Model {
    /// An empty file that never gets longer than `max`.
    pub fn new(max: usize) -> Model {
        Model { bytes: Vec::new(), max }
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The largest size.
    pub fn max(&self) -> usize {
        self.max
    }

    /// What is there between two places, as a read gives it: what is behind the end is not.
    pub fn slice(&self, at: usize, len: usize) -> &[u8] {
        let size = self.bytes.len();
        &self.bytes[at.min(size)..(at + len).min(size)]
    }

    /// Writes the piece of this number, and gives it.
    pub fn write(&mut self, number: u64, at: usize, len: usize) -> Vec<u8> {
        let piece = pattern(number + 1, len);
        self.grow(at + len);
        self.bytes[at..at + len].copy_from_slice(&piece);
        piece
    }

    /// Zeros where there is something.
    pub fn zero(&mut self, at: usize, len: usize) {
        let size = self.bytes.len();
        self.bytes[at.min(size)..(at + len).min(size)].fill(0);
    }

    /// At least so long.
    pub fn grow(&mut self, size: usize) {
        self.bytes.resize(self.bytes.len().max(size), 0);
    }

    /// Exactly so long.
    pub fn truncate(&mut self, size: usize) {
        self.bytes.resize(size, 0);
    }

    /// Copies within the file; how much was there to copy.
    pub fn copy(&mut self, from: usize, to: usize, len: usize) -> usize {
        let piece = self.slice(from, len).to_vec();
        if !piece.is_empty() {
            self.grow(to + piece.len());
            self.bytes[to..to + piece.len()].copy_from_slice(&piece);
        }
        piece.len()
    }
}
