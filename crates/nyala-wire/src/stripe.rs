// SPDX-License-Identifier: Apache-2.0

//! Stripe patterns and layouts, and the arithmetic between a file's bytes and its chunk files.
//!
//! A file is cut into chunks of `chunk_bytes`. Chunk number `c` lives on `targets[c % n]`, in that target's chunk file
//! of the file, as its chunk number `c / n`: a chunk file holds its target's chunks back to back (`docs/format.md`).

mod code;

pub use code::ErasureCode;

use crate::cbor::{self, Plain, Reader};
use crate::error::{ErrorCode, WireError};
use crate::ids::{GroupId, PoolId, TargetId};
use minicbor::encode::{self, Write};
use minicbor::{Decode, Decoder, Encode, Encoder, decode};
use serde::{Deserialize, Serialize};

/// How a file's data is spread over targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Encode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Striped over targets without redundancy.
    #[default]
    #[n(0)]
    Raid0,
    /// Striped over mirror groups: every chunk file is on all members of one.
    #[n(1)]
    Mirror,
    /// Erasure coded over targets: the first have data as with `Raid0`, the others parity. A directory with it gives new files a
    /// mirrored layout, and the wish to be encoded.
    #[n(2)]
    Ec,
}

/// Where a chunk file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataLocation {
    /// On one target.
    Target(TargetId),
    /// On the members of a mirror group.
    Group(GroupId),
}

impl std::fmt::Display for DataLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DataLocation::Target(id) => write!(f, "target {id}"),
            DataLocation::Group(id) => write!(f, "mirror group {id}"),
        }
    }
}

impl<'b, C> Decode<'b, C> for Pattern {
    /// Not derived: derived code takes an optional field that holds an unknown variant for an absent one.
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        Pattern::from_number(d.u8()?).ok_or_else(|| decode::Error::message("unknown stripe pattern"))
    }
}

/// What a directory gives to files made in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize)]
pub struct StripePattern {
    /// How data is spread.
    #[n(0)]
    pub pattern: Pattern,
    /// Chunk size in bytes: a power of two, 64 KiB to 1 GiB.
    #[n(1)]
    pub chunk_bytes: u32,
    /// Number of targets (or mirror groups) wanted; a file gets fewer when the pool has fewer.
    #[n(2)]
    pub num_targets: u16,
    /// Storage pool that the targets are taken from.
    #[n(3)]
    pub pool: PoolId,
    /// Largest content in bytes that is kept inline with the inode; 0 turns inlining off.
    #[n(4)]
    pub inline_bytes: u32,
    /// The erasure code of [`Pattern::Ec`]; with [`Pattern::Mirror`] what is to be encoded once it is no longer written to.
    #[n(5)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErasureCode>,
}

impl StripePattern {
    /// Smallest chunk size.
    pub const MIN_CHUNK_BYTES: u32 = 64 << 10;
    /// Largest chunk size.
    pub const MAX_CHUNK_BYTES: u32 = 1 << 30;
    /// Most targets of one file.
    pub const MAX_TARGETS: u16 = 1024;
    /// Largest inline content.
    pub const MAX_INLINE_BYTES: u32 = 64 << 10;

    /// Refuses what no directory may have, with a sentence that says what is allowed.
    pub fn check(&self) -> Result<(), WireError> {
        let chunk = self.chunk_bytes;
        if !chunk.is_power_of_two() || !(Self::MIN_CHUNK_BYTES..=Self::MAX_CHUNK_BYTES).contains(&chunk) {
            return Err(ErrorCode::INVALID.with("the chunk size must be a power of two from 64 KiB to 1 GiB"));
        }
        if !(1..=Self::MAX_TARGETS).contains(&self.num_targets) {
            return Err(ErrorCode::INVALID.with("the number of targets must be from 1 to 1024"));
        }
        if self.inline_bytes > Self::MAX_INLINE_BYTES {
            return Err(ErrorCode::INVALID.with("inline content is at most 64 KiB"));
        }
        match (self.pattern, self.code) {
            (Pattern::Ec, None) => Err(ErrorCode::INVALID.with("the pattern ec needs an erasure code")),
            (Pattern::Raid0, Some(_)) => Err(ErrorCode::INVALID.with("files without redundancy have no erasure code")),
            (_, Some(code)) => code.check(),
            (_, None) => Ok(()),
        }
    }

    /// What new files have: mirrored data where it is to be encoded later.
    pub fn of_new_files(self) -> StripePattern {
        let pattern = if self.pattern == Pattern::Ec { Pattern::Mirror } else { self.pattern };
        StripePattern { pattern, ..self }
    }
}

impl Default for StripePattern {
    fn default() -> Self {
        StripePattern {
            pattern: Pattern::Raid0,
            chunk_bytes: 512 << 10,
            num_targets: 4,
            pool: PoolId(1),
            inline_bytes: 4096,
            code: None,
        }
    }
}

/// Where a file's data is; as when the file was made, unless its data was moved since.
///
/// Encoded as an array of three: the number of the pattern in the low byte of an unsigned number whose next four bytes count the moves and the
/// two above that say the erasure code, the chunk size, and the targets. A program that does not know that data can be moved takes the number for a pattern that it does not
/// know and refuses the layout, where it would otherwise look for the data under names that the chunk files have no longer. One that knows no
/// erasure codes refuses layouts with one in the same way, where it would otherwise take parity for data, or change data without its parity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Layout {
    /// How data is spread.
    pub pattern: Pattern,
    /// Chunk size in bytes; not 0.
    pub chunk_bytes: u32,
    /// The targets, or with [`Pattern::Mirror`] the numbers of the mirror groups, in stripe order; at least one.
    pub targets: Vec<TargetId>,
    /// Grows whenever the data is moved to other targets. With it the names of the chunk files change ([`Layout::indices`]), so that
    /// those of before and after are different files, also where both lie on one target.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub moves: u32,
    /// The erasure code of [`Pattern::Ec`]; with [`Pattern::Mirror`] what the data is to be encoded with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErasureCode>,
}

/// A piece of a file that lies in one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Index in the chunk file's name, one of [`Layout::indices`].
    pub index: u16,
    /// Offset in that target's chunk file, bytes.
    pub chunk_offset: u64,
    /// Offset in the file, bytes.
    pub file_offset: u64,
    /// Length in bytes.
    pub len: u64,
}

impl Pattern {
    fn from_number(number: u8) -> Option<Pattern> {
        [Pattern::Raid0, Pattern::Mirror, Pattern::Ec].get(usize::from(number)).copied()
    }

    /// What a number in a layout's list of targets names.
    pub fn location(self, id: TargetId) -> DataLocation {
        match self {
            Pattern::Raid0 | Pattern::Ec => DataLocation::Target(id),
            Pattern::Mirror => DataLocation::Group(GroupId(id.0)),
        }
    }
}

impl StripePattern {
    /// Writes it: at most nine items.
    pub fn write<const N: usize>(&self, plain: &mut Plain<N>) {
        plain
            .array(if self.code.is_some() { 6 } else { 5 })
            .number(self.pattern as u8)
            .number(self.chunk_bytes)
            .number(self.num_targets);
        plain.number(self.pool.0).number(self.inline_bytes);
        if let Some(code) = self.code {
            plain.array(2).number(code.data).number(code.parity);
        }
    }

    /// Reads it as the codec does.
    pub fn read(reader: &mut Reader<'_>) -> Option<StripePattern> {
        let fields = reader.array().filter(|fields| *fields >= 5)?;
        let pattern = StripePattern {
            pattern: Pattern::from_number(reader.number()?)?,
            chunk_bytes: reader.number()?,
            num_targets: reader.number()?,
            pool: PoolId(reader.number()?),
            inline_bytes: reader.number()?,
            code: if fields > 5 { reader.optional(code)? } else { None },
        };
        reader.skip_from(6, fields)?;
        Some(pattern)
    }
}

fn code(reader: &mut Reader<'_>) -> Option<ErasureCode> {
    let fields = reader.array().filter(|fields| *fields >= 2)?;
    let code = ErasureCode { data: reader.number()?, parity: reader.number()? };
    reader.skip_from(2, fields)?;
    Some(code)
}

fn is_zero(moves: &u32) -> bool {
    *moves == 0
}

impl<C> Encode<C> for Layout {
    fn encode<W: Write>(&self, e: &mut Encoder<W>, ctx: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.array(3)?.u64(self.first_number())?.u32(self.chunk_bytes)?;
        self.targets.encode(e, ctx)
    }
}

impl<'b, C> Decode<'b, C> for Layout {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        cbor::read(d, "this is no layout, or one without targets or with chunks of 0 bytes", Layout::read)
    }
}

impl Layout {
    /// Items that [`Layout::write`] needs room for.
    pub const PLAIN_ITEMS: usize = 4 + Layout::PLAIN_TARGETS;
    const PLAIN_TARGETS: usize = 8;

    fn first_number(&self) -> u64 {
        u64::from(self.pattern as u8) | u64::from(self.moves) << 8 | ErasureCode::number(self.code) << 40
    }

    /// Writes it behind what is in `plain`, which then has what is not with the encoder yet.
    pub fn write<const N: usize, W: Write>(
        &self,
        plain: &mut Plain<N>,
        e: &mut Encoder<W>,
    ) -> Result<(), encode::Error<W::Error>> {
        if self.targets.len() > Layout::PLAIN_TARGETS {
            plain.flush(e)?;
            return e.encode(self).map(drop);
        }
        plain.array(3).number(self.first_number()).number(self.chunk_bytes).array(self.targets.len() as u64);
        for target in &self.targets {
            plain.number(target.0);
        }
        Ok(())
    }

    /// Reads it as the codec does. Refuses what would divide by zero below.
    pub fn read(reader: &mut Reader<'_>) -> Option<Layout> {
        let fields = reader.array().filter(|fields| *fields >= 3)?;
        let first: u64 = reader.number()?;
        let (pattern, moves, code) =
            (Pattern::from_number(first as u8)?, (first >> 8) as u32, ErasureCode::from_number(first >> 40)?);
        let chunk_bytes = reader.number().filter(|bytes| *bytes > 0)?;
        let number = reader.array().filter(|number| (1..=reader.remaining() as u64).contains(number))?;
        let mut targets = Vec::with_capacity(number as usize);
        for _ in 0..number {
            targets.push(TargetId(reader.number()?));
        }
        reader.skip_from(3, fields)?;
        let layout = Layout { pattern, chunk_bytes, targets, moves, code };
        layout.fits_code().then_some(layout)
    }

    /// Number of indices of chunk files between two moves: the low bits of an index are the stripe's number.
    const STRIPES: u16 = StripePattern::MAX_TARGETS;
    /// So many moves later the names of chunk files are those of before; what was removed under them is long gone.
    pub const NAMES: u32 = 1 << 6;

    fn first_index(&self) -> u16 {
        (self.moves % Layout::NAMES) as u16 * Layout::STRIPES
    }

    /// Number of a chunk file's stripe: an index into [`Layout::targets`].
    fn stripe_of(index: u16) -> u16 {
        index % Layout::STRIPES
    }

    /// Number of the stripe that chunk file `index` is, from 0.
    pub fn stripe(&self, index: u16) -> u64 {
        u64::from(Layout::stripe_of(index))
    }

    /// The indices of all its chunk files, in stripe order.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = u16> + Clone + use<> {
        // Layouts of strangers may name more targets than are allowed.
        let stripes = self.targets.len().min(usize::from(Layout::STRIPES)) as u16;
        let first = self.first_index();
        (0..stripes).map(move |stripe| first + stripe)
    }

    /// Whether it has a chunk file of this index.
    pub fn has(&self, index: u16) -> bool {
        let stripe = Layout::stripe_of(index);
        usize::from(stripe) < self.targets.len() && index == self.first_index() + stripe
    }

    /// Where chunk file `index` is; `index` is one of an [`Extent`] or of [`Layout::indices`].
    pub fn location(&self, index: u16) -> DataLocation {
        self.pattern.location(self.targets[usize::from(Layout::stripe_of(index))])
    }

    /// Whether this is what the other one was before its file's data was moved.
    pub fn is_before(&self, other: &Layout) -> bool {
        self.moves < other.moves
    }

    /// Whether it has the targets that its pattern and its code need.
    fn fits_code(&self) -> bool {
        match (self.pattern, self.code) {
            (Pattern::Ec, Some(code)) => self.targets.len() == usize::from(code.width()),
            (Pattern::Ec, None) | (Pattern::Raid0, Some(_)) => false,
            (Pattern::Raid0, None) | (Pattern::Mirror, _) => true,
        }
    }

    /// Its code, if its data is encoded.
    pub fn encoded(&self) -> Option<ErasureCode> {
        self.code.filter(|_| self.pattern == Pattern::Ec)
    }

    /// What its data is to be encoded with, and is not yet.
    pub fn to_encode(&self) -> Option<ErasureCode> {
        self.code.filter(|_| self.pattern != Pattern::Ec)
    }

    /// Number of stripes that have data; those behind them have parity.
    pub fn width(&self) -> u64 {
        self.encoded().map_or(self.targets.len() as u64, |code| u64::from(code.data))
    }

    /// The indices of the chunk files that have data, in stripe order.
    pub fn data_indices(&self) -> impl Iterator<Item = u16> + Clone + use<> {
        self.indices().take(self.width() as usize)
    }

    /// Refuses a layout that arithmetic or servers cannot work with.
    pub fn check(&self) -> Result<(), WireError> {
        let mut sorted = self.targets.clone();
        sorted.sort_unstable();
        let twice = sorted.windows(2).any(|pair| pair[0] == pair[1]);
        if !self.fits_code() || (self.encoded().is_some() && twice) {
            return Err(ErrorCode::INVALID.with("encoded data has one target for each part of its code"));
        }
        let pattern = StripePattern {
            pattern: self.pattern,
            chunk_bytes: self.chunk_bytes,
            num_targets: u16::try_from(self.targets.len()).unwrap_or(u16::MAX),
            code: self.code,
            ..StripePattern::default()
        };
        pattern.check()
    }

    /// The pieces of `len` bytes at `offset`, in file order; pieces do not cross chunks.
    pub fn extents(&self, offset: u64, len: u64) -> impl Iterator<Item = Extent> + '_ {
        let chunk = u64::from(self.chunk_bytes);
        let width = self.width();
        let first = self.first_index();
        let end = offset.saturating_add(len);
        let mut at = offset;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let number = at / chunk;
            let inside = at % chunk;
            let extent = Extent {
                index: first + (number % width) as u16,
                chunk_offset: number / width * chunk + inside,
                file_offset: at,
                len: (chunk - inside).min(end - at),
            };
            at += extent.len;
            Some(extent)
        })
    }

    /// Length of chunk file `index` of a file of `size` bytes without holes at its end.
    pub fn chunk_file_len(&self, index: u16, size: u64) -> u64 {
        let chunk = u64::from(self.chunk_bytes);
        let width = self.width();
        let (full, rest) = (size / chunk, size % chunk);
        // Parity is as long as the first of the data.
        let stripe = Some(self.stripe(index)).filter(|stripe| *stripe < width).unwrap_or(0);
        let mine = full / width + u64::from(full % width > stripe);
        let tail = if full % width == stripe { rest } else { 0 };
        mine * chunk + tail
    }

    /// The file offset of byte `chunk_offset` of chunk file `index`, which has data.
    pub fn file_offset(&self, index: u16, chunk_offset: u64) -> u64 {
        let chunk = u64::from(self.chunk_bytes);
        let row = chunk_offset / chunk;
        (row * self.width() + self.stripe(index)) * chunk + chunk_offset % chunk
    }
}

#[cfg(test)]
mod tests;
