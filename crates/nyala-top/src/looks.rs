// SPDX-License-Identifier: Apache-2.0

//! Looks at a cluster, one after the other. Failure model: see the crate.

use crate::logic::tab::Tab;
use crate::logic::tables::{Tables, tables};
use nyala_mon::logic::busy::Measure;
use nyala_mon::{BusyAsker, Round, Sampler};
use std::time::Instant;

/// Files, and directories, that are shown.
const MOST_BUSY: usize = 50;

/// Two rounds, and how far apart they are.
pub struct Looks {
    sampler: Sampler,
    busy: BusyAsker,
    before: Round,
    at: Instant,
}

impl Looks {
    /// Looks for the first time. In a `LocalSet`.
    pub async fn first(mut sampler: Sampler, busy: BusyAsker) -> Looks {
        let before = sampler.round().await;
        Looks { sampler, busy, before, at: Instant::now() }
    }

    /// What was done since the look before; which inodes are busy only for a table that shows them.
    pub async fn next(&mut self, tab: Tab) -> Tables {
        let now = self.sampler.round().await;
        let at = Instant::now();
        let mut shown = tables(&self.before, &now, at - self.at);
        if let Some(why) = &self.sampler.unreachable {
            shown.silent.insert(0, ("management".to_owned(), why.clone()));
        }
        if let Some(map) = self.sampler.map.clone().filter(|_| tab.is_of_inodes()) {
            shown.add_busy(&self.busy.ask(&map, Measure::Requests, MOST_BUSY).await);
        }
        (self.before, self.at) = (now, at);
        shown
    }
}
