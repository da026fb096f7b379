// SPDX-License-Identifier: Apache-2.0

//! Asks storage targets that were offline when a session was fenced, once they are back.
//!
//! Failure model: see the parent module. What cannot be read or noted now is tried again at the next look.

use super::{fenced, serving};
use crate::service::peers::Peers;
use crate::service::state::State;
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::view::View;
use nyala_wire::{DataLocation, SessionId, TargetId, WireError};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

/// Between looks at what is still to be confirmed.
const SETTLE: Duration = Duration::from_millis(500);

/// Asks targets that were offline when a session was fenced. Runs until the service stops.
pub async fn settle(state: Rc<State>) {
    loop {
        tokio::time::sleep(SETTLE).await;
        let mut todo: BTreeMap<TargetId, Vec<SessionId>> = BTreeMap::new();
        let scanned = View::scan(&state.tables, &[keys::FENCE], &[keys::FENCE + 1], &mut |key, _| {
            if let Some((target, session)) = keys::parse_fence(key) {
                todo.entry(target).or_default().push(session);
            }
            ControlFlow::Continue(())
        });
        if let Err(error) = scanned {
            tracing::error!(%error, "cannot read which targets are still to fence sessions");
            continue;
        }
        for (target, sessions) in todo {
            if let Err(error) = settle_target(&state, target, sessions).await {
                tracing::error!(%target, %error, "cannot note that sessions are fenced");
            }
        }
    }
}

async fn settle_target(state: &State, target: TargetId, sessions: Vec<SessionId>) -> Result<(), WireError> {
    let mut batch = Batch::new();
    let map = state.map();
    let removed = Peers::is_removed(&map, DataLocation::Target(target));
    if !removed && !serving(&map).any(|serves| serves == target) {
        return Ok(());
    }
    for session in sessions {
        // One that does not answer is asked later.
        if !removed && !fenced(state, target, session).await {
            break;
        }
        batch.delete(keys::fence(target, session));
    }
    state.apply(&batch)
}
