// SPDX-License-Identifier: Apache-2.0

//! Where bytes lie.
//!
//! An object is an array of bytes without an end, zero where nothing was written. It is cut into stripes of `data x strip_bytes` bytes. Stripe
//! `s` belongs to group `s % groups` and is row `s / groups` there: each member of the group has one strip of it, in its file of the
//! object, at `row x strip_bytes`. **Columns** are the strips of a stripe in the order of the code: data, then parity. The member that has a column
//! moves on by one with each row, from a start that follows from the object, so that parity and first strips are everywhere.

use crate::ids::{BLOCK_BYTES, ObjectId, StripeId, StripePart};
use crate::level::{GeometryError, Level};
use std::ops::Range;

/// Most drives of a set.
pub const MAX_DRIVES: usize = 128;
/// Longest strip.
pub const MAX_STRIP_BYTES: usize = 1 << 20;

/// The shape of a set. It never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    level: Level,
    strip_bytes: usize,
    groups: usize,
    data: usize,
    parity: usize,
}

impl Geometry {
    /// A set of `drives` drives, spares not counted.
    pub fn new(level: Level, drives: usize, strip_bytes: usize) -> Result<Geometry, GeometryError> {
        if drives > MAX_DRIVES {
            return Err(GeometryError::TooManyDrives { drives, most: MAX_DRIVES });
        }
        if strip_bytes == 0 || !strip_bytes.is_multiple_of(BLOCK_BYTES) || strip_bytes > MAX_STRIP_BYTES {
            return Err(GeometryError::StripBytes { bytes: strip_bytes });
        }
        let shape = level.shape(drives)?;
        Ok(Geometry { level, strip_bytes, groups: shape.groups, data: shape.data, parity: shape.parity })
    }

    /// The level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Bytes of a strip.
    pub fn strip_bytes(&self) -> usize {
        self.strip_bytes
    }

    /// Blocks of a strip.
    pub fn blocks(&self) -> usize {
        self.strip_bytes / BLOCK_BYTES
    }

    /// Groups of members; each has parity of its own.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Data columns of a stripe.
    pub fn data(&self) -> usize {
        self.data
    }

    /// Parity columns of a stripe: as many members of each group may be lost.
    pub fn parity(&self) -> usize {
        self.parity
    }

    /// Columns of a stripe, which is members of a group.
    pub fn width(&self) -> usize {
        self.data + self.parity
    }

    /// Members of the set.
    pub fn drives(&self) -> usize {
        self.groups * self.width()
    }

    /// Bytes of a stripe's data.
    pub fn stripe_bytes(&self) -> usize {
        self.data * self.strip_bytes
    }

    /// The group of a stripe.
    pub fn group(&self, stripe: StripeId) -> usize {
        // Less than `groups`, which is a usize.
        (stripe.number % self.groups as u64) as usize
    }

    /// The members of a group.
    pub fn members(&self, group: usize) -> Range<usize> {
        group * self.width()..(group + 1) * self.width()
    }

    /// The group of a member.
    pub fn group_of(&self, member: usize) -> usize {
        member / self.width()
    }

    fn shift(&self, stripe: StripeId) -> usize {
        let object = stripe.object.0;
        let start = (object ^ (object >> 16) ^ (object >> 64)) as u64;
        (start.wrapping_add(stripe.number / self.groups as u64) % self.width() as u64) as usize
    }

    /// The member that has a column of a stripe.
    pub fn member(&self, stripe: StripeId, column: usize) -> usize {
        self.group(stripe) * self.width() + (column + self.shift(stripe)) % self.width()
    }

    /// The column of a stripe that a member has, if it is of the stripe's group.
    pub fn column(&self, stripe: StripeId, member: usize) -> Option<usize> {
        let width = self.width();
        let within = member.checked_sub(self.group(stripe) * width).filter(|within| *within < width)?;
        Some((within + width - self.shift(stripe)) % width)
    }

    /// Where a stripe's strips begin in the members' files, bytes.
    pub fn offset(&self, stripe: StripeId) -> u64 {
        (stripe.number / self.groups as u64).saturating_mul(self.strip_bytes as u64)
    }

    /// Where a member's strips of an object's stripes from `number` on begin in its file, bytes.
    pub fn first_offset(&self, member: usize, number: u64) -> u64 {
        let before = number.saturating_sub(self.group_of(member) as u64);
        before.div_ceil(self.groups as u64).saturating_mul(self.strip_bytes as u64)
    }

    /// The parts that a range of bytes of an object has in its stripes, in order.
    pub fn parts(&self, object: ObjectId, bytes: Range<u64>) -> impl Iterator<Item = StripePart> {
        let size = self.stripe_bytes() as u64;
        let stripes = bytes.start / size..bytes.end.div_ceil(size);
        stripes.filter(move |_| bytes.start < bytes.end).map(move |number| {
            let start = bytes.start.saturating_sub(number * size) as usize;
            let end = (bytes.end - number * size).min(size) as usize;
            StripePart { stripe: StripeId { object, number }, bytes: start..end }
        })
    }

    /// The bytes of a column that a part of a stripe's data touches; empty if it does not.
    pub fn within(&self, part: &Range<usize>, column: usize) -> Range<usize> {
        let base = column * self.strip_bytes;
        let start = part.start.max(base).min(base + self.strip_bytes);
        let end = part.end.max(start).min(base + self.strip_bytes);
        start - base..end - base
    }
}
