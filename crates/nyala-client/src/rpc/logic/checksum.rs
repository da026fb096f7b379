// SPDX-License-Identifier: Apache-2.0

//! Block checksums of what is sent and of what arrives. Pure.

use nyala_wire::checksum::{BLOCK_BYTES, crc32c, crc32c_zero_padded};
use nyala_wire::storage::{block_pieces, blocks_touched};

/// One checksum for each block that `data` at `offset` of the chunk file touches.
pub(crate) fn of_pieces(offset: u64, data: &[u8]) -> Vec<u32> {
    let mut out = Vec::with_capacity(blocks_touched(offset, data.len() as u64) as usize);
    let mut at = 0;
    for len in block_pieces(offset, data.len() as u64) {
        out.push(crc32c(&data[at..at + len]));
        at += len;
    }
    out
}

/// Offset in `payload` of the first block that does not match its checksum. `payload` starts at a block.
pub(crate) fn first_bad(payload: &[u8], checksums: impl Iterator<Item = u32>) -> Option<usize> {
    let blocks = payload.chunks(BLOCK_BYTES);
    blocks.zip(checksums).position(|(block, sum)| crc32c_zero_padded(block) != sum).map(|at| at * BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_is_found_in_its_block() {
        let mut data: Vec<u8> = (0..10_000_u32).map(|i| (i % 251) as u8).collect();
        let sums: Vec<u32> = data.chunks(4096).map(crc32c_zero_padded).collect();
        assert_eq!(first_bad(&data, sums.iter().copied()), None);
        for at in [0, 4095, 4096, 9_999] {
            data[at] ^= 4;
            assert_eq!(first_bad(&data, sums.iter().copied()), Some(at / 4096 * 4096));
            data[at] ^= 4;
        }
        assert_eq!(of_pieces(4000, &data[..200]), [crc32c(&data[..96]), crc32c(&data[96..200])]);
    }
}
