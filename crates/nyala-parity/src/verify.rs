// SPDX-License-Identifier: Apache-2.0

//! Does the parity fit the data?

use crate::code::Code;
use crate::kernel::dot;

/// Bytes of each parity strip that are computed and compared at a time: what fits beside the data in a core's cache.
const PIECE_BYTES: usize = 4096;

/// Where parity does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The first parity strip that does not, from 0 ...
    pub parity: usize,
    /// ... at this offset, bytes. An earlier strip may be wrong further on, within the same 4096 bytes.
    pub offset: usize,
}

/// Compares parity with what follows from the data.
pub fn verify(code: &Code, data: &[&[u8]], parity: &[&[u8]]) -> Result<(), Mismatch> {
    assert_eq!((data.len(), parity.len()), (code.data(), code.parity()), "strips of another code");
    let len = data.first().map_or(0, |strip| strip.len());
    assert!(data.iter().chain(parity).all(|strip| strip.len() == len), "strips of different lengths");
    let mut memory = vec![0; code.parity() * PIECE_BYTES];
    for start in (0..len).step_by(PIECE_BYTES) {
        let end = len.min(start + PIECE_BYTES);
        let pieces: Vec<&[u8]> = data.iter().map(|strip| &strip[start..end]).collect();
        let mut right: Vec<&mut [u8]> =
            memory.chunks_exact_mut(PIECE_BYTES).map(|piece| &mut piece[..end - start]).collect();
        dot(code.isa, &code.prepared, 0, &pieces, &mut right, false);
        for (number, (right, strip)) in right.iter().zip(parity).enumerate() {
            if let Some(at) = right.iter().zip(&strip[start..end]).position(|(right, there)| right != there) {
                return Err(Mismatch { parity: number, offset: start + at });
            }
        }
    }
    Ok(())
}
