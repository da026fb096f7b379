// SPDX-License-Identifier: Apache-2.0

//! The addresses that are watched, shared by whoever watches one and whoever asks. Failure model: none of its own.

use super::history::History;
use super::watched::Address;
use crate::member::clock::monotonic_ms;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use tokio::task::AbortHandle;

/// What is known of each address.
#[derive(Default)]
pub(super) struct Known(pub Mutex<BTreeMap<Address, Link>>);

/// An address that is watched, until this is dropped.
pub(super) struct Link {
    pub history: History,
    /// Management heard from its server.
    pub online: bool,
    pub task: AbortHandle,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Known {
    /// An address answers, or does not.
    pub fn note(&self, address: Address, answers: bool) {
        let now_ms = monotonic_ms();
        let broke = self.0.lock().get_mut(&address).is_some_and(|link| link.history.note(answers, now_ms));
        if broke {
            tracing::info!(node = %address.0, address = %address.1, "an address of another server does not answer any more");
        }
    }
}
