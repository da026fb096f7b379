// SPDX-License-Identifier: Apache-2.0

//! Which requests are answered after a restart, before clients of before it have said what is to be known of them.

use super::state::State;
use nyala_wire::meta::{MetaOp, MetaRequest};

/// Whether a client of before the restart may ask that before it has said what it was told is done. It may not close its session: that would
/// take back what it was told.
pub fn comes_first(state: &State, op: &MetaOp) -> bool {
    match op {
        MetaOp::DelegationPoll { boot, .. } => *boot != state.boot,
        MetaOp::SessionOpen { .. } | MetaOp::StatFs | MetaOp::Survived { .. } | MetaOp::Replay(_) => true,
        _ => false,
    }
}

/// Whether a request has to wait for no client of before the restart.
pub fn is_admitted(state: &State, request: &MetaRequest) -> bool {
    comes_first(state, &request.op)
        || matches!(request.op, MetaOp::SessionClose)
        || (state.replays.over() && (nobody_is_awaited(state, request) || is_needed(state, request)))
}

/// Whether clients of before the restart have said what they keep, or may keep nothing but what the request then waits for.
fn nobody_is_awaited(state: &State, request: &MetaRequest) -> bool {
    let delegations = &state.delegations;
    delegations.recovered() || (delegations.are_bounded() && !delegations.is_unconfirmed(request.session))
}

/// Whether clients of before the restart need the answer to return what they keep.
fn is_needed(state: &State, request: &MetaRequest) -> bool {
    match &request.op {
        MetaOp::DelegationPoll { .. } | MetaOp::DelegationReturn { .. } | MetaOp::Close { .. } | MetaOp::Sync => true,
        MetaOp::Commit(_)
        | MetaOp::PutInline(_)
        | MetaOp::PutInlines { .. }
        | MetaOp::FileInfo { .. }
        | MetaOp::StorageGrant(_) => state.delegations.is_unconfirmed(request.session),
        _ => false,
    }
}
