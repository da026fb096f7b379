// SPDX-License-Identifier: Apache-2.0

//! Whether logs and tables have room, as services say it.

use super::whose::Whose;
use std::collections::BTreeMap;

/// Whether a log and its tables are well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreCondition {
    /// Whose they are.
    pub whose: Whose,
    /// What their file system has left, bytes, if that is known.
    pub free_bytes: Option<u64>,
    /// Its size, bytes.
    pub total_bytes: u64,
    /// What adds something is refused, or waits, for lack of room.
    pub must_not_grow: bool,
    /// The last checkpoint found no room.
    pub checkpoint_fails: bool,
    /// A write or a sync failed, and nothing is taken any more.
    pub stopped: bool,
    /// Places of the tables that are not what was written.
    pub damaged_places: u64,
}

impl StoreCondition {
    /// Out of the counters of a service, whose names are `store.WHOSE.WHAT`.
    pub fn among(counters: &[(String, u64)]) -> Vec<StoreCondition> {
        let mut found = BTreeMap::new();
        for (name, value) in counters.iter().filter(|(name, _)| name.starts_with("store.")) {
            let [_, whose, what] = name.split('.').collect::<Vec<_>>()[..] else { continue };
            let Some(whose) = Whose::parse(whose) else { continue };
            let store: &mut StoreCondition = found.entry(whose).or_insert(StoreCondition {
                whose,
                free_bytes: None,
                total_bytes: 0,
                must_not_grow: false,
                checkpoint_fails: false,
                stopped: false,
                damaged_places: 0,
            });
            match what {
                "free_bytes" => store.free_bytes = Some(*value),
                "total_bytes" => store.total_bytes = *value,
                "must_not_grow" => store.must_not_grow = *value != 0,
                "checkpoint_fails" => store.checkpoint_fails = *value != 0,
                "damaged_places" => store.damaged_places = *value,
                "stopped" => store.stopped = *value != 0,
                _ => {}
            }
        }
        found.into_values().collect()
    }
}
