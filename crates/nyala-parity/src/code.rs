// SPDX-License-Identifier: Apache-2.0

//! A code: how parity follows from data.

use crate::error::ParityError;
use crate::gf::{inverse, power_of_two};
use crate::kernel::{Coefficients, Isa, dot};
use crate::matrix::Matrix;

/// Most strips of a code, data and parity together: the field has no more elements.
pub const MAX_STRIPS: usize = 256;

/// Data strips 0 to `data - 1`, and parity strips `data` to `strips - 1`. Every square part of its matrix has an inverse, so any `data` of the
/// strips determine the others.
#[derive(Clone, Debug)]
pub struct Code {
    pub(crate) matrix: Matrix,
    pub(crate) prepared: Coefficients,
    pub(crate) isa: Isa,
}

impl Code {
    /// One parity strip, the sum of the data.
    pub fn xor(data: usize) -> Result<Code, ParityError> {
        Code::new(data, 1, |_, _| 1)
    }

    /// P, the sum of the data, and Q, the sum of `2^i` times strip `i`.
    pub fn p_q(data: usize) -> Result<Code, ParityError> {
        // Powers of two are different up to the 255th.
        Code::new(data, 2, |row, strip| power_of_two(row * strip))
    }

    /// P and Q, and the sum of `4^i` times strip `i`.
    pub fn three(data: usize) -> Result<Code, ParityError> {
        Code::new(data, 3, |row, strip| power_of_two(row * strip))
    }

    /// Any number of parity strips, with Cauchy's matrix: the coefficient of parity strip `p` and data strip `i` is
    /// `1 / ((data + p) xor i)`, as ISA-L's `gf_gen_cauchy1_matrix` has it.
    pub fn reed_solomon(data: usize, parity: usize) -> Result<Code, ParityError> {
        // Never divided by zero: all numbers are different.
        let coefficient = |row: usize, strip: usize| inverse((data + row) as u8 ^ strip as u8).unwrap_or(0);
        Code::new(data, parity, coefficient)
    }

    fn new(data: usize, parity: usize, coefficient: impl Fn(usize, usize) -> u8) -> Result<Code, ParityError> {
        if data == 0 || parity == 0 {
            return Err(ParityError::Empty { data, parity });
        }
        if data > MAX_STRIPS || parity > MAX_STRIPS - data {
            return Err(ParityError::TooMany { data, parity, most: MAX_STRIPS });
        }
        let matrix = Matrix::new(parity, data, coefficient);
        Ok(Code { prepared: Coefficients::of(&matrix), matrix, isa: Isa::best() })
    }

    /// The same code computed in another way; `None` if the processor cannot. For tests and measurements.
    pub fn with_isa(self, isa: Isa) -> Option<Code> {
        isa.is_available().then_some(Code { isa, ..self })
    }

    /// Number of data strips.
    pub fn data(&self) -> usize {
        self.matrix.columns()
    }

    /// Number of parity strips: as many may be lost.
    pub fn parity(&self) -> usize {
        self.matrix.rows()
    }

    /// Number of all strips.
    pub fn strips(&self) -> usize {
        self.data() + self.parity()
    }

    /// What data strip `strip` is multiplied with in parity strip `parity`, both from 0.
    pub fn coefficient(&self, parity: usize, strip: usize) -> u8 {
        self.matrix.cell(parity, strip)
    }

    /// Computes all parity strips. All strips must have the same length, bytes.
    pub fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) {
        assert_eq!((data.len(), parity.len()), (self.data(), self.parity()), "strips of another code");
        dot(self.isa, &self.prepared, 0, data, parity, false);
    }

    /// Changes all parity strips for a change of one data strip: `delta` is its old content xor its new one. It may be a part of
    /// the strip; then the same part of the parity strips is given.
    pub fn update(&self, strip: usize, delta: &[u8], parity: &mut [&mut [u8]]) {
        assert!(strip < self.data(), "there is no data strip {strip}");
        assert_eq!(parity.len(), self.parity(), "strips of another code");
        dot(self.isa, &self.prepared, strip, &[delta], parity, true);
    }
}
