// SPDX-License-Identifier: Apache-2.0

//! A round of samples.

use crate::ask::Instance;
use crate::logic::series::Key;
use std::collections::BTreeMap;

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The numbers.
    pub values: Vec<(Key, i64)>,
    /// Why there are none.
    pub failed: Option<String>,
}

/// A round: everybody who was asked.
pub type Round = BTreeMap<Instance, Answered>;
