// SPDX-License-Identifier: Apache-2.0

//! What a drive's table says of a stripe: checksums, and how new they are.
//!
//! The member with a data column has that column's checksums. A member with a parity column has those of all columns: so what is decoded
//! can be compared with what was once written, whichever drives are lost, and a drive that forgot a write is known by its old version.

use crate::reader::Reader;
use std::collections::BTreeMap;

/// Version of the encoding.
const FORMAT: u8 = 1;

/// One column of a stripe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The number of the operation that wrote it last.
    pub version: u64,
    /// CRC-32C of each block; `None` is a block that was never written: zeros, whatever the drive's file has there.
    pub sums: Vec<Option<u32>>,
}

/// Columns of a stripe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// By number of the column.
    pub columns: BTreeMap<usize, Column>,
}

impl Row {
    /// As it lies in a table.
    pub fn encode(&self) -> Vec<u8> {
        // At most 128 columns.
        let mut out = vec![FORMAT, self.columns.len() as u8];
        for (number, column) in &self.columns {
            out.push(*number as u8);
            out.extend(column.version.to_le_bytes());
            let bits = column.sums.chunks(8).map(|eight| {
                eight.iter().enumerate().map(|(at, sum)| u8::from(sum.is_some()) << at).fold(0, |byte, bit| byte | bit)
            });
            out.extend(bits);
            out.extend(column.sums.iter().flatten().flat_map(|sum| sum.to_le_bytes()));
        }
        out
    }

    /// From a table; `None` if it is not a row of strips with `blocks` blocks.
    pub fn decode(bytes: &[u8], blocks: usize) -> Option<Row> {
        let mut reader = Reader(bytes);
        if reader.u8()? != FORMAT {
            return None;
        }
        let mut columns = BTreeMap::new();
        for _ in 0..reader.u8()? {
            let number = usize::from(reader.u8()?);
            let version = reader.u64()?;
            let bits = reader.take(blocks.div_ceil(8))?;
            let mut sums = vec![None; blocks];
            for (at, sum) in sums.iter_mut().enumerate() {
                if bits[at / 8] >> (at % 8) & 1 == 1 {
                    *sum = Some(reader.u32()?);
                }
            }
            columns.insert(number, Column { version, sums });
        }
        reader.end()?;
        Some(Row { columns })
    }

    /// The newest version in it.
    pub fn version(&self) -> u64 {
        self.columns.values().map(|column| column.version).max().unwrap_or(0)
    }

    /// Takes over what another row knows better.
    pub fn merge(&mut self, other: &Row) {
        for (number, column) in &other.columns {
            let mine = self.columns.entry(*number).or_default();
            if mine.sums.is_empty() || column.version > mine.version {
                *mine = column.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let column = |version, sums| Column { version, sums };
        Row { columns: [(0, column(7, vec![Some(1), None])), (2, column(9, vec![None, Some(0xa1b2_c3d4)]))].into() }
    }

    #[test]
    fn bytes_are_as_documented() {
        let right =
            [1, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 2, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0xd4, 0xc3, 0xb2, 0xa1];
        assert_eq!(row().encode(), right);
        assert_eq!(Row::decode(&right, 2), Some(row()));
        assert_eq!(row().version(), 9);
    }

    #[test]
    fn what_is_no_row_is_refused() {
        let bytes = row().encode();
        for len in 0..bytes.len() {
            assert_eq!(Row::decode(&bytes[..len], 2), None, "{len} bytes");
        }
        assert_eq!(Row::decode(&[bytes.as_slice(), &[0]].concat(), 2), None);
        assert_eq!(Row::decode(&[&[2], &bytes[1..]].concat(), 2), None);
    }

    #[test]
    fn the_newer_column_wins() {
        let mut mine = row();
        let newer = Column { version: 8, sums: vec![None, None] };
        mine.merge(&Row { columns: [(0, newer.clone()), (2, newer.clone())].into() });
        assert_eq!((&mine.columns[&0], mine.columns[&2].version), (&newer, 9));
    }
}
