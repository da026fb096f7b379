// SPDX-License-Identifier: Apache-2.0

//! Matrices over the field: as many as a code needs to be made, and to find the way back.

use crate::gf::{inverse, mul};

/// Rows of coefficients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Matrix {
    columns: usize,
    cells: Vec<u8>,
}

impl Matrix {
    pub(crate) fn new(rows: usize, columns: usize, cell: impl Fn(usize, usize) -> u8) -> Matrix {
        let cells = (0..rows * columns).map(|at| cell(at / columns, at % columns)).collect();
        Matrix { columns, cells }
    }

    pub(crate) fn rows(&self) -> usize {
        self.cells.len() / self.columns
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn cell(&self, row: usize, column: usize) -> u8 {
        self.cells[row * self.columns + column]
    }

    pub(crate) fn times(&self, other: &Matrix) -> Matrix {
        assert_eq!(self.columns, other.rows(), "a product of matrices that do not fit");
        Matrix::new(self.rows(), other.columns, |row, column| {
            (0..self.columns).fold(0, |sum, at| sum ^ mul(self.cell(row, at), other.cell(at, column)))
        })
    }

    /// By Gauss and Jordan; `None` if there is none.
    pub(crate) fn inverted(&self) -> Option<Matrix> {
        let size = self.columns;
        assert_eq!(self.rows(), size, "only square matrices have inverses");
        let (mut left, mut right) = (self.clone(), Matrix::new(size, size, |row, column| u8::from(row == column)));
        for at in 0..size {
            let pivot = (at..size).find(|row| left.cell(*row, at) != 0)?;
            let scale = inverse(left.cell(pivot, at))?;
            for matrix in [&mut left, &mut right] {
                matrix.swap(at, pivot);
                matrix.scale(at, scale);
            }
            for row in (0..size).filter(|row| *row != at) {
                let factor = left.cell(row, at);
                left.add(row, at, factor);
                right.add(row, at, factor);
            }
        }
        Some(right)
    }

    fn swap(&mut self, a: usize, b: usize) {
        (0..self.columns).for_each(|column| self.cells.swap(a * self.columns + column, b * self.columns + column));
    }

    fn scale(&mut self, row: usize, factor: u8) {
        let cells = &mut self.cells[row * self.columns..][..self.columns];
        cells.iter_mut().for_each(|cell| *cell = mul(*cell, factor));
    }

    /// Adds `factor` times the row `from` to another.
    fn add(&mut self, to: usize, from: usize, factor: u8) {
        for column in 0..self.columns {
            let added = mul(factor, self.cell(from, column));
            self.cells[to * self.columns + column] ^= added;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gf::power_of_two;

    #[test]
    fn a_matrix_times_its_inverse_is_one() {
        // Cauchy's has an inverse whatever rows and columns are chosen.
        let cauchy = Matrix::new(9, 9, |row, column| inverse((row + 9) as u8 ^ column as u8).unwrap());
        let one = Matrix::new(9, 9, |row, column| u8::from(row == column));
        assert_eq!(cauchy.times(&cauchy.inverted().unwrap()), one);
        let swapped = Matrix::new(2, 2, |row, column| u8::from(row != column));
        assert_eq!(swapped.inverted().unwrap(), swapped, "a zero where the pivot should be");
        let singular = Matrix::new(3, 3, |row, column| power_of_two(row + column));
        assert_eq!(singular.inverted(), None);
    }
}
