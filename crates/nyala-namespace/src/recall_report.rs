// SPDX-License-Identifier: Apache-2.0

//! What is reported of clients that do not let go. Failure model: none of its own; a session whose record cannot be read has no name.

use crate::keys;
use crate::records::SessionRecord;
use crate::server::state::State;
use nyala_wire::mgmt::{MAX_REPORTED_CLIENTS, RecallReport, UnansweredRecall};
use nyala_wire::{SessionId, codec};

/// The clients that have been asked longest, and how many there are besides.
pub fn recall_report(state: &State) -> RecallReport {
    let mut all: Vec<_> = state.delegations.unanswered().collect();
    let outstanding = all.iter().map(|one| one.inodes as u64).sum();
    all.sort_unstable_by_key(|one| (one.since_ms, one.session));
    let more = all.len().saturating_sub(MAX_REPORTED_CLIENTS) as u64;
    let oldest = all.iter().take(MAX_REPORTED_CLIENTS).map(|one| UnansweredRecall {
        session: one.session,
        client: client_name(state, one.session),
        age_ms: state.now.ms.saturating_sub(one.since_ms),
        inodes: one.inodes as u64,
    });
    RecallReport { oldest: oldest.collect(), more, outstanding }
}

/// What the client of a session calls itself.
fn client_name(state: &State, session: SessionId) -> String {
    let row = state.ground.tables.get(&keys::session(session)).ok().flatten();
    let record = row.and_then(|row| codec::decode::<SessionRecord>(&row).ok());
    record.map_or_else(|| format!("session {session}"), |record| record.client)
}
