// SPDX-License-Identifier: Apache-2.0

//! A round of samples.

use crate::ask::Instance;
use crate::logic::series::Key;
use nyala_wire::mgmt::ServiceStats;
use std::collections::BTreeMap;

/// What came of asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// The numbers.
    pub values: Vec<(Key, i64)>,
    /// Why there are none.
    pub failed: Option<String>,
    /// What a service says of itself in STATS, without what it counts of clients and users; only where that was asked for ([`crate::Sampler::ask_stats`]).
    pub stats: Option<ServiceStats>,
}

/// A round: everybody who was asked.
pub type Round = BTreeMap<Instance, Answered>;
