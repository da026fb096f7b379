// SPDX-License-Identifier: Apache-2.0

//! How a target's scrub is, for counters and for people. Failure model: none of its own.

use super::figures::ScrubFigures;
use super::state::TargetState;
use crate::scrub::logic::damage::Damage;
use crate::scrub::logic::progress::Progress;
use nyala_wire::scrub::{ScrubDamage, ScrubState};
use nyala_wire::walk::WalkAt;

/// Figures.
pub(super) fn figures(state: &TargetState, now_ms: u64) -> ScrubFigures {
    ScrubFigures {
        found_bytes: state.found_bytes,
        repaired_bytes: state.repaired_bytes,
        damaged_bytes: damaged_bytes(state),
        position_bytes: if state.progress.at.is_some() { state.progress.bytes } else { 0 },
        ended_ms: state.progress.ended_ms,
        late: is_late(state, now_ms),
    }
}

/// For people. `total_bytes`: of data on the target, if that is known.
pub(super) fn describe(state: &TargetState, now_ms: u64, total_bytes: Option<u64>) -> ScrubState {
    let Progress { since_ms, began_ms, ended_ms, at, bytes, found_bytes, repaired_bytes, .. } = state.progress;
    let damage = |(at, damage): (&WalkAt, &Damage)| ScrubDamage {
        at: *at,
        bad: damage.bad,
        found_ms: damage.found_ms,
        reason: damage.reason.describe().to_owned(),
    };
    let interval = state.config.interval;
    let due_ms = if interval.is_zero() { 0 } else { state.progress.due_ms(interval, state.phase) };
    ScrubState {
        interval_ms: u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
        rate: state.config.rate,
        since_ms,
        began_ms,
        ended_ms,
        due_ms,
        at,
        bytes,
        // Of an empty target it is known that nothing is there, which 0 does not say.
        total_bytes: total_bytes.map_or(0, |bytes| bytes.max(1)),
        found_bytes,
        repaired_bytes,
        damaged_bytes: damaged_bytes(state),
        late: is_late(state, now_ms),
        damage: state.damage.iter().map(damage).collect(),
    }
}

fn damaged_bytes(state: &TargetState) -> u64 {
    state.damage.bytes() + state.progress.unlisted_bytes
}

/// Whoever switched scrubs off does not want to hear that none ends.
fn is_late(state: &TargetState, now_ms: u64) -> bool {
    !state.config.interval.is_zero() && state.progress.is_late(now_ms, state.config.interval)
}
