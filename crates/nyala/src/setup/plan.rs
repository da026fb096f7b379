// SPDX-License-Identifier: Apache-2.0

//! What set-up is going to do.

use super::step::Step;

/// What is to be done on this host, and what its administrator should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Plan {
    /// In this order.
    pub steps: Vec<Step>,
    /// Sentences: nothing is wrong, but it may not be what was meant.
    pub notes: Vec<String>,
    /// Commands or sentences that come after it.
    pub next: Vec<String>,
}
