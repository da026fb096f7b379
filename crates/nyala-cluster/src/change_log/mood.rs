// SPDX-License-Identifier: Apache-2.0

//! Good news, or bad.

/// Whether a change is for the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Something is well again.
    Better,
    /// Neither.
    Neutral,
    /// Something was lost, for now or for good.
    Worse,
}
