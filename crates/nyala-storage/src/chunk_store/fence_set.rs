// SPDX-License-Identifier: Apache-2.0

//! Which sessions are fenced, in memory.

use nyala_wire::SessionId;
use std::collections::{BTreeMap, HashMap};

/// Who is fenced; in the order of fencing too.
#[derive(Default)]
pub(super) struct FenceSet {
    numbers: HashMap<SessionId, u64>,
    order: BTreeMap<u64, SessionId>,
}

impl FenceSet {
    /// Are writes of the session refused?
    pub fn contains(&self, session: SessionId) -> bool {
        !self.numbers.is_empty() && self.numbers.contains_key(&session)
    }

    /// All of them, fenced longest ago first.
    pub fn in_order(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.order.values().copied()
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// So many that were fenced longest ago.
    pub fn oldest(&self, count: usize) -> Vec<SessionId> {
        self.in_order().take(count).collect()
    }

    /// The number of the next fence.
    pub fn next_number(&self) -> u64 {
        self.order.last_key_value().map_or(0, |(last, _)| last + 1)
    }

    pub fn insert(&mut self, session: SessionId, number: u64) {
        if let Some(before) = self.numbers.insert(session, number) {
            self.order.remove(&before);
        }
        self.order.insert(number, session);
    }

    pub fn remove(&mut self, session: SessionId) {
        if let Some(number) = self.numbers.remove(&session) {
            self.order.remove(&number);
        }
    }
}
