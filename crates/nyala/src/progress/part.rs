// SPDX-License-Identifier: Apache-2.0

//! How much of how much is done, and how to say it in few words. Failure model: see the parent module.

use super::pace::{Counted, Pace};

/// How much of how much is done.
pub struct Part {
    pub(super) done: u64,
    pub(super) total: u64,
    /// What is said where the whole line does not fit beside a bar.
    pub(super) brief: String,
}

impl Part {
    /// `done` of `total`, at this pace.
    pub fn of(pace: &Pace, (what, unit): (&str, Counted), done: u64, total: u64) -> Part {
        Part { done, total, brief: pace.brief(what, unit, total) }
    }
}
