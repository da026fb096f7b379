// SPDX-License-Identifier: Apache-2.0

//! The loop that all vector instructions share.

use super::coefficients::Coefficients;
use super::job::Job;

/// A vector of bytes. All functions need the processor to have its instructions.
pub(super) trait Vector: Copy {
    /// Bytes of it.
    const BYTES: usize;
    /// A constant to multiply with.
    type Factor: Copy;

    /// Of zeros.
    unsafe fn zero() -> Self;
    /// From memory that has `BYTES` bytes.
    unsafe fn load(from: *const u8) -> Self;
    /// To memory that has room for `BYTES` bytes.
    unsafe fn store(self, to: *mut u8);
    /// The sum.
    unsafe fn plus(self, other: Self) -> Self;
    /// The product.
    unsafe fn times(self, factor: Self::Factor) -> Self;
    /// The constant at this place of a matrix, which must be in it.
    unsafe fn factor(coefficients: &Coefficients, at: usize) -> Self::Factor;
}

/// The rows of a job in one go, whole vectors only; returns how many bytes of each strip were done.
///
/// # Safety
///
/// The processor has the vector's instructions. All strips of the job are equally long, and the job's rows and columns are in its matrix.
#[inline(always)]
pub(super) unsafe fn dot<V: Vector>(job: &mut Job<'_, '_>) -> usize {
    let plain = job.coefficients.is_plain(job.row);
    // SAFETY: as the caller promises; the first row may go without a product if it is of ones.
    unsafe {
        match (job.outputs.len(), plain) {
            (1, true) => rows::<V, 1, 4, true>(job),
            (1, false) => rows::<V, 1, 4, false>(job),
            (2, true) => rows::<V, 2, 2, true>(job),
            (2, false) => rows::<V, 2, 2, false>(job),
            (3, true) => rows::<V, 3, 2, true>(job),
            (3, false) => rows::<V, 3, 2, false>(job),
            (4, _) => rows::<V, 4, 2, false>(job),
            (5, _) => rows::<V, 5, 2, false>(job),
            (6, _) => rows::<V, 6, 2, false>(job),
            // More never come in one go; the scalar code would do them all.
            _ => 0,
        }
    }
}

// `ABREAST` vectors of each row are in work: loads and multiplications of one hide behind those of the others. No closures here: a
// closure is a function of its own, without the instructions of the one that it is in, and would be called for every vector.
#[inline(always)]
#[expect(
    clippy::needless_range_loop,
    reason = "iterators over arrays of vectors are functions that are not always inlined"
)]
unsafe fn rows<V: Vector, const ROWS: usize, const ABREAST: usize, const PLAIN: bool>(job: &mut Job<'_, '_>) -> usize {
    let (mut outputs, mut factors) = ([std::ptr::null_mut::<u8>(); ROWS], [0; ROWS]);
    for row in 0..ROWS {
        outputs[row] = job.outputs[row].as_mut_ptr();
        factors[row] = job.coefficients.at(job.row + row, job.column);
    }
    let len = job.outputs[0].len();
    let mut at = 0;
    while at + ABREAST * V::BYTES <= len {
        // SAFETY: `at + ABREAST * BYTES` is within every strip, since all have the same length; the factors are within the
        // matrix, since the job's rows and columns are.
        unsafe {
            let mut sums: [[V; ABREAST]; ROWS] = [[V::zero(); ABREAST]; ROWS];
            if job.add {
                for row in 0..ROWS {
                    for n in 0..ABREAST {
                        sums[row][n] = V::load(outputs[row].add(at + n * V::BYTES));
                    }
                }
            }
            for (number, source) in job.sources.iter().enumerate() {
                let mut bytes = [V::zero(); ABREAST];
                for n in 0..ABREAST {
                    bytes[n] = V::load(source.as_ptr().add(at + n * V::BYTES));
                }
                for row in 0..ROWS {
                    if PLAIN && row == 0 {
                        for n in 0..ABREAST {
                            sums[row][n] = sums[row][n].plus(bytes[n]);
                        }
                    } else {
                        let factor = V::factor(job.coefficients, factors[row] + number);
                        for n in 0..ABREAST {
                            sums[row][n] = sums[row][n].plus(bytes[n].times(factor));
                        }
                    }
                }
            }
            for row in 0..ROWS {
                for n in 0..ABREAST {
                    sums[row][n].store(outputs[row].add(at + n * V::BYTES));
                }
            }
        }
        at += ABREAST * V::BYTES;
    }
    at
}
