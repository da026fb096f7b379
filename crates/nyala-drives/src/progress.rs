// SPDX-License-Identifier: Apache-2.0

//! How far rebuild and scrub are.

/// What a few stripes came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Stripes that were looked at.
    pub stripes: u64,
    /// Bytes that were read or written for it, about.
    pub bytes: u64,
    /// Stripes that cannot be read any more.
    pub lost: u64,
    /// Nothing is left.
    pub done: bool,
}
