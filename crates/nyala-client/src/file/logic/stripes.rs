// SPDX-License-Identifier: Apache-2.0

//! Stripes of encoded files: which bytes belong together, and how those that are lost follow from others. Pure.

use crate::error::Error;
use crate::types::Destination;
use bytes::Bytes;
use nyala_parity::{Code as Matrix, ParityError, Recovery};
use nyala_wire::map::ClusterMap;
use nyala_wire::{DataLocation, ErasureCode, ErrorCode, Layout, Pattern, PoolId, StripePattern, TargetId};
use std::ops::Range;

/// Bytes at one place of all chunk files of a file, within one stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    /// Number of the stripe in the file.
    stripe: u64,
    /// Offsets in the chunks, bytes; as long as that of the first chunk.
    pub(crate) inside: Range<u64>,
}

impl Band {
    /// The band that has these bytes of a chunk file, which do not cross a chunk.
    pub(crate) fn around(layout: &Layout, chunk_offset: u64, len: u64) -> Band {
        let chunk = u64::from(layout.chunk_bytes);
        let start = chunk_offset % chunk;
        Band { stripe: chunk_offset / chunk, inside: start..start + len }
    }

    /// All bands of at most `most` bytes of a file of `size` bytes.
    pub(crate) fn all(layout: &Layout, size: u64, most: u64) -> impl Iterator<Item = Band> + use<> {
        Band::within(layout, 0..size, most)
    }

    /// The same of its stripes from `range.start` on, where one begins; the file ends with the range.
    pub(crate) fn within(layout: &Layout, range: Range<u64>, most: u64) -> impl Iterator<Item = Band> + use<> {
        let (chunk, width) = (u64::from(layout.chunk_bytes), layout.width());
        let stripe_bytes = chunk * width;
        (range.start / stripe_bytes..range.end.div_ceil(stripe_bytes)).flat_map(move |stripe| {
            let longest = chunk.min(range.end - stripe * stripe_bytes);
            (0..longest.div_ceil(most))
                .map(move |band| Band { stripe, inside: band * most..longest.min((band + 1) * most) })
        })
    }

    /// Its place in every chunk file.
    pub(crate) fn chunk_offset(&self, layout: &Layout) -> u64 {
        self.stripe * u64::from(layout.chunk_bytes) + self.inside.start
    }

    pub(crate) fn len(&self) -> u64 {
        self.inside.end - self.inside.start
    }

    /// How many of its bytes chunk file number `stripe` has in a file of `size` bytes: those behind are zeros.
    pub(crate) fn stored(&self, layout: &Layout, stripe: u64, size: u64) -> u64 {
        let at = self.chunk_offset(layout);
        let first = layout.indices().next().unwrap_or(0);
        layout.chunk_file_len(first + stripe as u16, size).saturating_sub(at).min(self.len())
    }

    /// The bytes of the file that chunk file number `stripe`, which has data, has in it.
    pub(crate) fn file_range(&self, layout: &Layout, stripe: u64, size: u64) -> Range<u64> {
        let chunk = u64::from(layout.chunk_bytes);
        let start = (self.stripe * layout.width() + stripe) * chunk + self.inside.start;
        start..start + self.stored(layout, stripe, size)
    }
}

fn matrix(code: ErasureCode) -> Result<Matrix, ParityError> {
    Matrix::reed_solomon(usize::from(code.data), usize::from(code.parity))
}

/// The parity of the data of a band of `len` bytes; what is shorter counts as filled up with zeros.
pub(crate) fn encode(code: ErasureCode, len: usize, data: &[Bytes]) -> Result<Vec<Bytes>, ParityError> {
    let data: Vec<Bytes> = data.iter().map(|data| filled(data, len)).collect();
    let mut parity = vec![vec![0; len]; usize::from(code.parity)];
    let from: Vec<&[u8]> = data.iter().map(|data| &data[..]).collect();
    let mut into: Vec<&mut [u8]> = parity.iter_mut().map(|parity| &mut parity[..]).collect();
    matrix(code)?.encode(&from, &mut into);
    Ok(parity.into_iter().map(Bytes::from).collect())
}

/// Part number `lost` of a band of `len` bytes, from as many others, by their numbers, as the code has data.
pub(crate) fn decode(
    code: ErasureCode,
    len: usize,
    lost: usize,
    there: &[(usize, Bytes)],
) -> Result<Bytes, ParityError> {
    let plan = Recovery::plan(&matrix(code)?, &[lost], there.iter().map(|(part, _)| *part))?;
    let part = |wanted: &usize| there.iter().find(|(part, _)| part == wanted).map(|(_, data)| filled(data, len));
    let from: Vec<Bytes> = plan.from().iter().filter_map(part).collect();
    let from: Vec<&[u8]> = from.iter().map(|data| &data[..]).collect();
    let mut out = vec![0; len];
    plan.recover(&from, &mut [&mut out[..]]);
    Ok(out.into())
}

/// A range of bytes at offsets, zeros where there are none.
pub(crate) fn filled_range(pieces: &[(u64, Bytes)], range: Range<u64>) -> Bytes {
    let mut out = vec![0; (range.end - range.start) as usize];
    for (at, data) in pieces {
        let (from, to) = (range.start.max(*at), range.end.min(at + data.len() as u64));
        if from < to {
            let part = &data[(from - at) as usize..(to - at) as usize];
            out[(from - range.start) as usize..(to - range.start) as usize].copy_from_slice(part);
        }
    }
    out.into()
}

/// Where a file's data goes that is to be encoded, or written to again: targets of its pool.
pub(crate) fn destination(
    map: &ClusterMap,
    layout: &Layout,
    (pattern, code): (Pattern, ErasureCode),
    avoid: Vec<TargetId>,
) -> Result<Destination, Error> {
    let pool =
        pool_of(map, layout).ok_or_else(|| Error::refused(ErrorCode::NO_SPACE, "none of its targets is known"))?;
    let (chunk_bytes, num_targets) = (layout.chunk_bytes, u16::from(code.data));
    let pattern = StripePattern { pattern, chunk_bytes, num_targets, pool, inline_bytes: 0, code: Some(code) };
    Ok(Destination { pattern, avoid })
}

/// The pool of a file's targets.
fn pool_of(map: &ClusterMap, layout: &Layout) -> Option<PoolId> {
    layout.indices().find_map(|index| {
        let target = match layout.location(index) {
            DataLocation::Target(id) => id,
            DataLocation::Group(id) => *map.group(id)?.members.first()?,
        };
        map.target(target).map(|target| target.pool)
    })
}

fn filled(data: &Bytes, len: usize) -> Bytes {
    if data.len() == len {
        return data.clone();
    }
    let mut longer = data.to_vec();
    longer.resize(len, 0);
    longer.into()
}

#[cfg(test)]
mod tests;
