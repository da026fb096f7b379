// SPDX-License-Identifier: Apache-2.0

//! Which instructions compute.

/// A way to compute. All give the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Byte by byte, on any processor.
    Scalar,
    /// 16 bytes by shuffles of nibbles.
    Ssse3,
    /// 32 bytes by shuffles of nibbles.
    Avx2,
    /// 64 bytes by multiplication with matrices of bits (AVX-512 and GFNI).
    Gfni512,
}

impl Isa {
    /// All ways, the slowest first.
    pub const ALL: [Isa; 4] = [Isa::Scalar, Isa::Ssse3, Isa::Avx2, Isa::Gfni512];

    /// The fastest that this processor has.
    pub fn best() -> Isa {
        Isa::ALL.into_iter().rev().find(|isa| isa.is_available()).unwrap_or(Isa::Scalar)
    }

    /// Sums that fit into the registers beside sources and factors, each of two vectors.
    pub(super) fn rows_at_once(self) -> usize {
        match self {
            Isa::Gfni512 => 6,
            _ => 4,
        }
    }

    /// Whether this processor has it.
    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        match self {
            Isa::Scalar => true,
            Isa::Ssse3 => is_x86_feature_detected!("ssse3"),
            Isa::Avx2 => is_x86_feature_detected!("avx2"),
            Isa::Gfni512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("gfni"),
        }
    }

    /// Whether this processor has it.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_available(self) -> bool {
        self == Isa::Scalar
    }
}
