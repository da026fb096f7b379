// SPDX-License-Identifier: Apache-2.0

//! Content that is kept with the inode: own changes laid over what the server has.

use std::ops::Range;

/// The whole content after own changes: `base`, zeros up to the first change behind its end, the changes in order.
pub fn merge<'a>(base: &[u8], changes: impl Iterator<Item = (u64, &'a [u8])>) -> Vec<u8> {
    let mut merged = base.to_vec();
    for (offset, data) in changes {
        let (start, end) = (offset as usize, offset as usize + data.len());
        if merged.len() < end {
            merged.resize(end, 0);
        }
        merged[start..end].copy_from_slice(data);
    }
    merged
}

/// What is at `range` of a file whose inline content is `data`: zeros behind the content's end.
pub fn read(data: &[u8], range: Range<u64>) -> Vec<u8> {
    let len = (range.end - range.start) as usize;
    let start = (range.start).min(data.len() as u64) as usize;
    let end = (range.end).min(data.len() as u64) as usize;
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(&data[start..end]);
    out.resize(len, 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_is_writing(
            base in proptest::collection::vec(1_u8.., 0..100),
            writes in proptest::collection::vec((0_u64..120, proptest::collection::vec(1_u8.., 1..40)), 0..6),
            asked in (0_u64..200, 0_u64..80),
        ) {
            let mut model = vec![0; 400];
            model[..base.len()].copy_from_slice(&base);
            let mut end = base.len();
            for (offset, data) in &writes {
                model[*offset as usize..*offset as usize + data.len()].copy_from_slice(data);
                end = end.max(*offset as usize + data.len());
            }
            let merged = merge(&base, writes.iter().map(|(o, d)| (*o, d.as_slice())));
            prop_assert_eq!(&merged[..], &model[..end]);
            let range = asked.0..asked.0 + asked.1;
            prop_assert_eq!(read(&merged, range.clone()), &model[range.start as usize..range.end as usize]);
        }
    }
}
