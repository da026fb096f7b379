// SPDX-License-Identifier: Apache-2.0

//! A run of bytes in pieces, so that what arrived in several buffers is handed on without a copy.

use bytes::Bytes;

static ZEROS: [u8; 65_536] = [0; 65_536];

/// Consecutive bytes from an offset on, in pieces.
#[derive(Clone, Debug, Default)]
pub struct Segments {
    offset: u64,
    len: u64,
    pieces: Vec<Bytes>,
}

impl Segments {
    /// Nothing yet, starting at `offset`.
    pub fn new(offset: u64) -> Segments {
        Segments { offset, ..Segments::default() }
    }

    /// Bytes in all.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.offset + self.len
    }

    /// The first byte.
    pub fn first(&self) -> Option<u8> {
        self.pieces.first().and_then(|piece| piece.first().copied())
    }

    /// Adds bytes at the end.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.len += piece.len() as u64;
            self.pieces.push(piece);
        }
    }

    /// Adds zeros at the end.
    pub fn push_zeros(&mut self, mut len: u64) {
        while len > 0 {
            let now = len.min(ZEROS.len() as u64);
            self.push(Bytes::from_static(&ZEROS[..now as usize]));
            len -= now;
        }
    }

    /// Adds the part of `other` that lies in `from..to` at the end; parts of it that `other` does not have are left out.
    pub fn push_part(&mut self, other: &Segments, from: u64, to: u64) {
        let mut at = other.offset;
        for piece in &other.pieces {
            let end = at + piece.len() as u64;
            let (a, b) = (from.clamp(at, end), to.clamp(at, end));
            if a < b {
                self.push(piece.slice((a - at) as usize..(b - at) as usize));
            }
            at = end;
        }
    }

    /// Replaces what lies under `data` at `offset`; what sticks out is ignored.
    pub fn overlay(&mut self, offset: u64, data: Bytes) {
        let (start, end) = (offset.max(self.offset), (offset + data.len() as u64).min(self.end()));
        if start >= end {
            return;
        }
        let mut out = Segments::new(self.offset);
        out.push_part(self, self.offset, start);
        out.push(data.slice((start - offset) as usize..(end - offset) as usize));
        out.push_part(self, end, self.end());
        *self = out;
    }

    /// All bytes, in one piece.
    pub fn concat(mut self) -> Bytes {
        match self.pieces.len() {
            1 => self.pieces.remove(0),
            _ => self.pieces.concat().into(),
        }
    }

    /// The pieces.
    pub fn into_pieces(self) -> Vec<Bytes> {
        self.pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn like_one_buffer(
            start in 0_u64..50,
            pushes in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 0..6),
            zeros in 0_u64..70_000,
            overlays in proptest::collection::vec((0_u64..150, proptest::collection::vec(any::<u8>(), 0..40)), 0..8),
        ) {
            let mut segments = Segments::new(start);
            let mut model: Vec<u8> = Vec::new();
            for piece in pushes {
                model.extend_from_slice(&piece);
                segments.push(piece.into());
            }
            segments.push_zeros(zeros);
            model.resize(model.len() + zeros as usize, 0);
            for (offset, data) in overlays {
                for (i, byte) in data.iter().enumerate() {
                    if let Some(at) = (offset + i as u64).checked_sub(start).filter(|at| *at < model.len() as u64) {
                        model[at as usize] = *byte;
                    }
                }
                segments.overlay(offset, data.into());
            }
            prop_assert_eq!(segments.len(), model.len() as u64);
            prop_assert_eq!(segments.into_pieces().concat(), model);
        }
    }
}
