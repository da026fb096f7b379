// SPDX-License-Identifier: Apache-2.0

//! What the parts of the service share, all on one thread.

use crate::ask::Instance;
use crate::counters::Counters;
use crate::logic::history::History;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// What is shared.
pub struct Shared {
    /// The history.
    pub history: RefCell<History>,
    /// Counts of this service itself.
    pub counters: RefCell<Counters>,
    /// Who was asked in the last round, and why it did not answer.
    pub sources: RefCell<BTreeMap<Instance, Option<String>>>,
    /// Why management did not answer in the last round.
    pub unreachable: RefCell<Option<String>>,
    /// The clock was set back: to this time.
    pub set_back_ms: Cell<Option<u64>>,
    token: Vec<u8>,
}

impl Shared {
    /// With a history and the token that queries have to show.
    pub fn new(history: History, token: String) -> Shared {
        Shared {
            history: RefCell::new(history),
            counters: RefCell::default(),
            sources: RefCell::default(),
            unreachable: RefCell::default(),
            set_back_ms: Cell::default(),
            token: token.into_bytes(),
        }
    }

    /// Takes the same time wherever the first wrong byte is.
    pub fn is_token(&self, given: &[u8]) -> bool {
        let differences = self.token.iter().zip(given).fold(0_u8, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
        differences == 0 && given.len() == self.token.len()
    }
}

/// Milliseconds since 1970, by a clock that may be set.
pub fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
