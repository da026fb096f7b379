// SPDX-License-Identifier: Apache-2.0

//! What is computed in one go.

use super::coefficients::Coefficients;

/// Some rows of a product.
pub(super) struct Job<'a, 'b> {
    pub(super) coefficients: &'a Coefficients,
    /// The first row, and the column of the first source.
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) sources: &'a [&'a [u8]],
    pub(super) outputs: &'a mut [&'b mut [u8]],
    /// The products are added to what the outputs hold.
    pub(super) add: bool,
}
