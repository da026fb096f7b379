// SPDX-License-Identifier: Apache-2.0

//! Sums of products: every parity strip, and every lost one, is a sum of others times constants.
//!
//! Some outputs (as many as the processor has registers for) are computed in one go over the sources, two vectors at a time, so that sources
//! are read once for all of them and sums stay in registers. What is left at the end of a strip is done byte by byte.

#[cfg(target_arch = "x86_64")]
mod bit_matrices;
mod coefficients;
mod isa;
mod job;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod shuffles;
#[cfg(target_arch = "x86_64")]
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use coefficients::Coefficients;
pub use isa::Isa;
use job::Job;

/// `outputs[r]` = the sum over `s` of `coefficients[r][column + s] * sources[s]`, added to what is there if `add`. All strips must
/// have the same length.
pub(crate) fn dot(
    isa: Isa,
    coefficients: &Coefficients,
    column: usize,
    sources: &[&[u8]],
    outputs: &mut [&mut [u8]],
    add: bool,
) {
    let len = sources.first().map_or(0, |source| source.len());
    let fit = sources.iter().all(|strip| strip.len() == len) && outputs.iter().all(|strip| strip.len() == len);
    assert!(fit, "strips of different lengths");
    assert!(
        outputs.len() <= coefficients.rows() && column + sources.len() <= coefficients.columns(),
        "no such product"
    );
    let rows = isa.rows_at_once();
    for (group, outputs) in outputs.chunks_mut(rows).enumerate() {
        let mut job = Job { coefficients, row: group * rows, column, sources, outputs, add };
        let done = vectors(isa, &mut job);
        scalar::dot(&mut job, done);
    }
}

/// As much as goes by vectors; returns how many bytes of each strip that is.
#[cfg(target_arch = "x86_64")]
fn vectors(isa: Isa, job: &mut Job<'_, '_>) -> usize {
    match isa {
        Isa::Scalar => 0,
        // SAFETY (all three): the processor has the instructions, see `Isa::is_available`, without which there is no such code.
        Isa::Ssse3 => unsafe { x86::ssse3(job) },
        Isa::Avx2 => unsafe { x86::avx2(job) },
        Isa::Gfni512 => unsafe { x86::gfni512(job) },
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors(_: Isa, _: &mut Job<'_, '_>) -> usize {
    0
}
