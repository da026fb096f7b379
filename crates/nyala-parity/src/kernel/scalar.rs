// SPDX-License-Identifier: Apache-2.0

//! Byte by byte: on any processor, at the end of strips, and what the vectors are tested against.

use super::job::Job;

/// Does the strips' bytes from `start` on.
pub(super) fn dot(job: &mut Job<'_, '_>, start: usize) {
    for (row, output) in job.outputs.iter_mut().enumerate() {
        let output = &mut output[start..];
        if !job.add {
            output.fill(0);
        }
        for (number, source) in job.sources.iter().enumerate() {
            let products = &job.coefficients.nibbles[job.coefficients.at(job.row + row, job.column + number)];
            for (sum, byte) in output.iter_mut().zip(&source[start..]) {
                *sum ^= products[usize::from(byte & 15)] ^ products[16 + usize::from(byte >> 4)];
            }
        }
    }
}
