// SPDX-License-Identifier: Apache-2.0

//! The way back: how lost strips follow from those that are there.

use crate::code::Code;
use crate::error::ParityError;
use crate::kernel::{Coefficients, Isa, dot};
use crate::matrix::Matrix;

/// How certain lost strips are computed from certain others; good for any number of stripes that lost the same.
#[derive(Clone, Debug)]
pub struct Recovery {
    from: Vec<usize>,
    lost: Vec<usize>,
    prepared: Coefficients,
    isa: Isa,
}

impl Recovery {
    /// How the strips `lost` are computed from some of those that are `available`, in the order of preference; the first that suffice are
    /// taken. Repeated numbers count once, and a lost strip is not available.
    pub fn plan(
        code: &Code,
        lost: &[usize],
        available: impl IntoIterator<Item = usize>,
    ) -> Result<Recovery, ParityError> {
        let (data, strips) = (code.data(), code.strips());
        let known = |strip: usize| match strip < strips {
            true => Ok(strip),
            false => Err(ParityError::NoStrip { strip, strips }),
        };
        for strip in lost {
            known(*strip)?;
        }
        let mut from: Vec<usize> = Vec::with_capacity(data);
        for strip in available {
            if !lost.contains(&known(strip)?) && !from.contains(&strip) && from.len() < data {
                from.push(strip);
            }
        }
        let too_few = ParityError::TooFew { available: from.len(), needed: data };
        if from.len() < data {
            return Err(too_few);
        }
        let row = |strip: usize, column: usize| match strip.checked_sub(data) {
            None => u8::from(strip == column),
            Some(parity) => code.coefficient(parity, column),
        };
        let there = Matrix::new(data, data, |at, column| row(from[at], column));
        let wanted = Matrix::new(lost.len(), data, |at, column| row(lost[at], column));
        let way = wanted.times(&there.inverted().ok_or(too_few)?);
        Ok(Recovery { from, lost: lost.to_vec(), prepared: Coefficients::of(&way), isa: code.isa })
    }

    /// The strips that it needs, in the order in which [`Recovery::recover`] takes them.
    pub fn from(&self) -> &[usize] {
        &self.from
    }

    /// The strips that it computes, in the order in which [`Recovery::recover`] gives them.
    pub fn lost(&self) -> &[usize] {
        &self.lost
    }

    /// Computes the lost strips. All strips, or parts of them, must have the same length, bytes.
    pub fn recover(&self, from: &[&[u8]], lost: &mut [&mut [u8]]) {
        assert_eq!((from.len(), lost.len()), (self.from.len(), self.lost.len()), "strips of another plan");
        dot(self.isa, &self.prepared, 0, from, lost, false);
    }
}
