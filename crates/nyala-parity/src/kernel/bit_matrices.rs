// SPDX-License-Identifier: Apache-2.0

//! Products by matrices of bits: AVX-512 and GFNI.

use super::coefficients::Coefficients;
use super::vector::Vector;
use std::arch::x86_64::*;

// SAFETY, for all functions below: callers have the instructions, and memory as long as the vector where one is read or written.

impl Vector for __m512i {
    const BYTES: usize = 64;
    type Factor = __m512i;

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { _mm512_storeu_si512(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    unsafe fn times(self, matrix: Self::Factor) -> Self {
        unsafe { _mm512_gf2p8affine_epi64_epi8::<0>(self, matrix) }
    }

    #[inline(always)]
    unsafe fn factor(coefficients: &Coefficients, at: usize) -> Self::Factor {
        unsafe { _mm512_set1_epi64(*coefficients.bits.get_unchecked(at) as i64) }
    }
}
