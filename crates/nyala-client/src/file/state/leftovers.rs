// SPDX-License-Identifier: Apache-2.0

//! What a file's state says of bytes that interrupted writes left behind its end ([`crate::writeback::leftovers`]). Pure.

use super::FileState;
use crate::file::logic::leftovers::Leftovers;
use std::ops::Range;

/// Its server says whether there may be something. What this client has not committed is not in doubt.
pub(crate) fn note(state: &mut FileState, leftovers: bool) {
    match (leftovers, state.leftovers) {
        (true, Leftovers::Clean) if state.is_clean() => state.leftovers = Leftovers::Unknown,
        (false, Leftovers::Unknown) if !state.is_loaded() => state.leftovers = Leftovers::Clean,
        _ => {}
    }
}

/// From where on chunk files have to be cut before a range is written, in bytes of the file.
pub(crate) fn cut_from(state: &FileState, range: &Range<u64>) -> Option<u64> {
    match state.leftovers {
        Leftovers::Clean => None,
        _ if state.is_inline() => (range.end > state.inline_limit()).then_some(0),
        Leftovers::Cutting => Some(state.size),
        Leftovers::Unknown => (range.start > state.size).then_some(state.size),
    }
}

/// Leftovers are to be cut; whether the caller has to do it, and nobody else does.
pub(crate) fn begin_cut(state: &mut FileState) -> bool {
    assert_ne!(state.leftovers, Leftovers::Clean, "nothing is to be cut");
    std::mem::replace(&mut state.leftovers, Leftovers::Cutting) != Leftovers::Cutting
}

/// The cut is over; unless the delegation went meanwhile, and what is known with it.
pub(crate) fn end_cut(state: &mut FileState, became: Leftovers) {
    assert_ne!(became, Leftovers::Cutting, "a cut that is over is still under way");
    if state.leftovers == Leftovers::Cutting {
        state.leftovers = became;
    }
}
