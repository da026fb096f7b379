// SPDX-License-Identifier: Apache-2.0

//! CRC-32C (Castagnoli, RFC 3720 appendix B.4), the one checksum of Nyala: frames, log records, fixed structures and
//! data blocks.

use crc_fast::{CrcAlgorithm, checksum, checksum_combine};

/// Bytes of file data that one block checksum covers.
pub const BLOCK_BYTES: usize = 4096;

/// CRC-32C of `data`.
pub fn crc32c(data: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, data) as u32
}

/// CRC-32C of the concatenation of two pieces, from their checksums and the second one's length in bytes.
pub fn crc32c_combine(first: u32, second: u32, second_len: u64) -> u32 {
    checksum_combine(CrcAlgorithm::Crc32Iscsi, u64::from(first), u64::from(second), second_len) as u32
}

/// CRC-32C over several pieces as if they were one.
pub fn crc32c_parts(parts: &[&[u8]]) -> u32 {
    parts.iter().fold(crc32c(&[]), |crc, part| crc32c_combine(crc, crc32c(part), part.len() as u64))
}

/// CRC-32C of one block of [`BLOCK_BYTES`] whose tail after `data` is zero, as the last block of a file is stored.
pub fn crc32c_zero_padded(data: &[u8]) -> u32 {
    const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
    assert!(data.len() <= BLOCK_BYTES, "a block holds at most {BLOCK_BYTES} bytes");
    if data.len() == BLOCK_BYTES { crc32c(data) } else { crc32c_parts(&[data, &ZEROS[data.len()..]]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_vectors() {
        // RFC 3720 B.4: 32 bytes of zeros, 32 bytes of ones; and the customary check string.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn parts_equal_the_whole() {
        let data: Vec<u8> = (0..10_000u32).map(|i| (i * 7 % 251) as u8).collect();
        for cut in [0, 1, 4095, 4096, 9_999, 10_000] {
            assert_eq!(crc32c_parts(&[&data[..cut], &data[cut..]]), crc32c(&data), "cut at {cut}");
        }
        assert_eq!(crc32c_zero_padded(&[]), crc32c(&[0; BLOCK_BYTES]));
        let mut block = data[..100].to_vec();
        block.resize(BLOCK_BYTES, 0);
        assert_eq!(crc32c_zero_padded(&data[..100]), crc32c(&block));
    }
}
