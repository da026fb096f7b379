// SPDX-License-Identifier: Apache-2.0

//! Products by shuffles of nibbles: SSSE3 and AVX2.

use super::coefficients::Coefficients;
use super::vector::Vector;
use std::arch::x86_64::*;

// SAFETY, for all functions below: callers have the instructions, and memory as long as the vector where one is read or written.

impl Vector for __m128i {
    const BYTES: usize = 16;
    type Factor = [__m128i; 2];

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { _mm_setzero_si128() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { _mm_loadu_si128(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { _mm_storeu_si128(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        unsafe { _mm_xor_si128(self, other) }
    }

    #[inline(always)]
    unsafe fn times(self, [low, high]: Self::Factor) -> Self {
        unsafe {
            let mask = _mm_set1_epi8(15);
            let lows = _mm_shuffle_epi8(low, _mm_and_si128(self, mask));
            let highs = _mm_shuffle_epi8(high, _mm_and_si128(_mm_srli_epi64::<4>(self), mask));
            _mm_xor_si128(lows, highs)
        }
    }

    #[inline(always)]
    unsafe fn factor(coefficients: &Coefficients, at: usize) -> Self::Factor {
        unsafe {
            let products = coefficients.nibbles.get_unchecked(at).as_ptr();
            [_mm_loadu_si128(products.cast()), _mm_loadu_si128(products.add(16).cast())]
        }
    }
}

impl Vector for __m256i {
    const BYTES: usize = 32;
    type Factor = [__m256i; 2];

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        unsafe { _mm256_storeu_si256(to.cast(), self) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    unsafe fn times(self, [low, high]: Self::Factor) -> Self {
        unsafe {
            let mask = _mm256_set1_epi8(15);
            let lows = _mm256_shuffle_epi8(low, _mm256_and_si256(self, mask));
            let highs = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi64::<4>(self), mask));
            _mm256_xor_si256(lows, highs)
        }
    }

    #[inline(always)]
    unsafe fn factor(coefficients: &Coefficients, at: usize) -> Self::Factor {
        unsafe {
            let products = coefficients.nibbles.get_unchecked(at).as_ptr();
            let (low, high) = (_mm_loadu_si128(products.cast()), _mm_loadu_si128(products.add(16).cast()));
            [_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high)]
        }
    }
}
