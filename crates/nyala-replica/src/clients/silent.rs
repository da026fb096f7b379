// SPDX-License-Identifier: Apache-2.0

//! When a client is forgotten.
//!
//! **Failure model.** Nobody says that a client has gone for good: connections come and go, and metadata's sessions end elsewhere. A
//! client of which nothing was heard for a day ([`crate::Config::client_idle_ms`]) is forgotten, unless something of it is under
//! way. It may still be there, cut off from us or stopped, and send a change again that was done. That does harm only if somebody
//! else changed the same bytes meanwhile; who did had got the right to from metadata, which had the client give it back, or ended
//! and fenced it, minutes after it was cut off. (A client without leases has no such protection.) With more than [`super::MAX_CLIENTS`]
//! the one that was silent for longest goes early: memory is bounded whatever clients do.

use super::{Clients, Seen, Window};

impl Clients {
    /// Forgets who was not heard of for `idle_ms`, and beyond `most` those who were not for longest.
    pub fn expire(&mut self, now_ms: u64, idle_ms: u64, most: usize) {
        let under_way = |window: &Window| window.seen.values().any(|seen| *seen == Seen::Running);
        self.windows.retain(|_, window| now_ms.saturating_sub(window.heard_ms) < idle_ms || under_way(window));
        let more = self.windows.len().saturating_sub(most);
        if more == 0 {
            return;
        }
        let at_rest = self.windows.iter().filter(|(_, window)| !under_way(window));
        let mut oldest: Vec<(u64, u64)> = at_rest.map(|(client, window)| (window.heard_ms, *client)).collect();
        oldest.sort_unstable();
        oldest.iter().take(more).for_each(|(_, client)| drop(self.windows.remove(client)));
    }
}
