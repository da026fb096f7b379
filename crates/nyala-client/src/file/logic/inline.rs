// SPDX-License-Identifier: Apache-2.0

//! Content that is kept with the inode: own changes laid over what the server has.

use bytes::Bytes;
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

/// The same of changes that can be shared. `single_writes`: a single write made each, so none has memory to spare; one
/// that is all there is becomes the content without being copied.
pub fn whole(base: &[u8], changes: &[(u64, Bytes)], single_writes: bool) -> Bytes {
    match changes {
        [(0, data)] if single_writes && data.len() >= base.len() => data.clone(),
        _ => merge(base, changes.iter().map(|(offset, data)| (*offset, &data[..]))).into(),
    }
}

/// What is at `range` of a file whose inline content is `data`: zeros behind the content's end.
pub fn read(data: &Bytes, range: Range<u64>) -> Bytes {
    if range.end <= data.len() as u64 {
        return data.slice(range.start as usize..range.end as usize);
    }
    let len = (range.end - range.start) as usize;
    let start = (range.start).min(data.len() as u64) as usize;
    let end = (range.end).min(data.len() as u64) as usize;
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(&data[start..end]);
    out.resize(len, 0);
    out.into()
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
            let shared: Vec<(u64, Bytes)> = writes.iter().map(|(o, d)| (*o, d.clone().into())).collect();
            for single_writes in [false, true] {
                prop_assert_eq!(&whole(&base, &shared, single_writes)[..], &model[..end]);
            }
            let merged = Bytes::from(merged);
            let range = asked.0..asked.0 + asked.1;
            prop_assert_eq!(&read(&merged, range.clone())[..], &model[range.start as usize..range.end as usize]);
        }
    }
}
