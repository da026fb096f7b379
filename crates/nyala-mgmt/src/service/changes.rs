// SPDX-License-Identifier: Apache-2.0

//! `Changes`: what the leader remembers of the last changes of the cluster state.

use crate::core::Core;
use nyala_cluster::Change;
use nyala_wire::mgmt::{MgmtReply, StateChange};

/// Most text of one reply, bytes: it has to fit the body of a frame.
const MOST_TEXT: usize = 512 << 10;

pub(super) fn handle(core: &Core) -> MgmtReply {
    MgmtReply::Changes(newest(core.view.changes(), MOST_TEXT))
}

/// The newest changes whose sentences have at most so many bytes together.
fn newest(changes: Vec<Change>, most: usize) -> Vec<StateChange> {
    let mut text = 0;
    let fits = |change: &Change| {
        text += change.what.len() + change.why.len();
        text <= most
    };
    let said = |Change { at_ms, version, what, why, .. }| StateChange { at_ms, version, what, why };
    changes.into_iter().take_while(fits).map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_cluster::Mood;
    use nyala_wire::MapVersion;

    #[test]
    fn a_reply_is_bounded_and_has_the_newest() {
        let change = |version: u64| Change {
            at_ms: Some(version),
            version: MapVersion(version),
            mood: Mood::Better,
            what: "x".repeat(10),
            why: "y".repeat(10),
        };
        let reply = newest(vec![change(3), change(2), change(1)], 45);
        assert_eq!(reply.iter().map(|change| change.version.0).collect::<Vec<_>>(), [3, 2]);
    }
}
