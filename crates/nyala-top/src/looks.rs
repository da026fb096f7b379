// SPDX-License-Identifier: Apache-2.0

//! Looks at a cluster, one after the other. Failure model: see the crate.

use crate::logic::tables::{Tables, tables};
use nyala_mon::{Round, Sampler};
use std::time::Instant;

/// Two rounds, and how far apart they are.
pub struct Looks {
    sampler: Sampler,
    before: Round,
    at: Instant,
}

impl Looks {
    /// Looks for the first time. In a `LocalSet`.
    pub async fn first(mut sampler: Sampler) -> Looks {
        let before = sampler.round().await;
        Looks { sampler, before, at: Instant::now() }
    }

    /// What was done since the look before.
    pub async fn next(&mut self) -> Tables {
        let now = self.sampler.round().await;
        let at = Instant::now();
        let mut shown = tables(&self.before, &now, at - self.at);
        if let Some(why) = &self.sampler.unreachable {
            shown.silent.insert(0, ("management".to_owned(), why.clone()));
        }
        (self.before, self.at) = (now, at);
        shown
    }
}
