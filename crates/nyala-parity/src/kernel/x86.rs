// SPDX-License-Identifier: Apache-2.0

//! The loop for each kind of vector of x86-64 processors.

use super::job::Job;
use super::vector;
use std::arch::x86_64::{__m128i, __m256i, __m512i};

/// # Safety
///
/// The processor has SSSE3; for the rest see [`vector::dot`].
#[target_feature(enable = "ssse3")]
pub(super) unsafe fn ssse3(job: &mut Job<'_, '_>) -> usize {
    // SAFETY: as the caller promises.
    unsafe { vector::dot::<__m128i>(job) }
}

/// # Safety
///
/// The processor has AVX2; for the rest see [`vector::dot`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn avx2(job: &mut Job<'_, '_>) -> usize {
    // SAFETY: as the caller promises.
    unsafe { vector::dot::<__m256i>(job) }
}

/// # Safety
///
/// The processor has AVX-512F and GFNI; for the rest see [`vector::dot`].
#[target_feature(enable = "avx512f,gfni")]
pub(super) unsafe fn gfni512(job: &mut Job<'_, '_>) -> usize {
    // SAFETY: as the caller promises.
    unsafe { vector::dot::<__m512i>(job) }
}
