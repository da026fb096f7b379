// SPDX-License-Identifier: Apache-2.0

//! Constants of a product, in the forms that the instructions take.

use crate::gf::{bit_matrix, nibble_products};
use crate::matrix::Matrix;

/// A matrix, by rows.
#[derive(Clone, Debug)]
pub(crate) struct Coefficients {
    columns: usize,
    /// See [`nibble_products`].
    pub(super) nibbles: Vec<[u8; 32]>,
    /// See [`bit_matrix`].
    pub(super) bits: Vec<u64>,
    /// Rows of ones only: sums without a multiplication.
    plain: Vec<bool>,
}

impl Coefficients {
    pub(crate) fn of(matrix: &Matrix) -> Coefficients {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let cells = || (0..rows).flat_map(|row| (0..columns).map(move |column| matrix.cell(row, column)));
        Coefficients {
            columns,
            nibbles: cells().map(nibble_products).collect(),
            bits: cells().map(bit_matrix).collect(),
            plain: (0..rows).map(|row| (0..columns).all(|column| matrix.cell(row, column) == 1)).collect(),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.plain.len()
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Where the coefficients of a row begin, from this column on.
    pub(super) fn at(&self, row: usize, column: usize) -> usize {
        row * self.columns + column
    }

    pub(super) fn is_plain(&self, row: usize) -> bool {
        self.plain[row]
    }
}
