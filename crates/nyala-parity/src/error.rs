// SPDX-License-Identifier: Apache-2.0

//! What cannot be coded or recovered.

/// Why there is no such code, or no way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParityError {
    /// A code needs at least one data strip and one parity strip.
    #[error("a code needs data and parity strips, not {data}+{parity}")]
    Empty {
        /// Data strips.
        data: usize,
        /// Parity strips.
        parity: usize,
    },
    /// The field has too few elements for so many strips.
    #[error("{data}+{parity} strips are more than the {most} that this code can have")]
    TooMany {
        /// Data strips.
        data: usize,
        /// Parity strips.
        parity: usize,
        /// Most strips.
        most: usize,
    },
    /// A strip with this number does not exist.
    #[error("there is no strip {strip}: the code has {strips}")]
    NoStrip {
        /// The number.
        strip: usize,
        /// Strips of the code, numbered from 0.
        strips: usize,
    },
    /// Fewer strips are there than data strips.
    #[error("{available} strips are left of which {needed} are needed: the others cannot be computed")]
    TooFew {
        /// Strips that are there.
        available: usize,
        /// Data strips.
        needed: usize,
    },
}
