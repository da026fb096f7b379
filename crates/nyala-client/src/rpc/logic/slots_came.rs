// SPDX-License-Identifier: Apache-2.0

//! Which sessions have to be taken over, since slots went from one metadata server to another. `rpc::adopt` does it.

use nyala_wire::{SessionId, TargetId};
use std::collections::{BTreeMap, BTreeSet};

/// Sessions with the servers that slots came from, by the server that they came to.
#[derive(Default)]
pub(crate) struct SlotsCame(BTreeMap<TargetId, BTreeSet<SessionId>>);

impl SlotsCame {
    /// A slot came to a server from one that this client has a session with.
    pub(crate) fn came(&mut self, server: TargetId, guest: SessionId) {
        self.0.entry(server).or_default().insert(guest);
    }

    /// Whether anything came to this server.
    pub(crate) fn any_for(&self, server: TargetId) -> bool {
        self.0.contains_key(&server)
    }

    /// The sessions that are to be taken over at a server.
    pub(crate) fn of(&self, server: TargetId) -> Vec<SessionId> {
        self.0.get(&server).into_iter().flatten().copied().collect()
    }

    /// This one is.
    pub(crate) fn done(&mut self, server: TargetId, guest: SessionId) {
        if let Some(of) = self.0.get_mut(&server) {
            of.remove(&guest);
        }
        self.0.retain(|_, of| !of.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_is_taken_over_once_at_each_server() {
        let (mut slots, at) = (SlotsCame::default(), TargetId(2));
        [7, 8, 7].into_iter().for_each(|guest| slots.came(at, SessionId(guest)));
        assert_eq!((slots.of(at), slots.any_for(TargetId(1))), (vec![SessionId(7), SessionId(8)], false));
        slots.done(at, SessionId(7));
        assert!(slots.any_for(at));
        slots.done(at, SessionId(8));
        slots.done(at, SessionId(8));
        assert!(!slots.any_for(at) && slots.of(at).is_empty());
    }
}
