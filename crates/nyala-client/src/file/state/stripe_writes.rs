// SPDX-License-Identifier: Apache-2.0

//! What a file's state says of whole stripes that are written encoded ([`crate::writeback::whole_stripes`]). Pure.

use super::FileState;
use crate::file::logic::leftovers::Leftovers;
use nyala_wire::Layout;
use std::sync::Arc;

/// Where what is no longer here can be read, and the size of that.
pub(crate) fn stored_at(state: &FileState) -> Option<(Arc<Layout>, u64)> {
    let size = state.stripes.writing().map_or(state.size, |stripes| stripes.stored());
    Some((state.layout()?.clone(), size))
}

/// Whether what is written from `at` on may be kept until it goes out: encoded data has to be moved before it is written to.
pub(crate) fn accepts(state: &FileState, at: u64) -> bool {
    state.stripes.accepts(at, state.layout().is_some_and(|layout| layout.encoded().is_some()))
}

/// How many bytes a whole stripe has in the code of a file that has nothing at its server yet, and may have it written encoded at once.
pub(crate) fn new_stripe_bytes(state: &FileState) -> Option<u64> {
    let layout = state.layout()?;
    let code = layout.to_encode().filter(|_| state.stripes.is_idle() && state.is_loaded() && !state.is_inline())?;
    let nothing = state.attrs.known().is_some_and(|attr| attr.size == 0)
        && state.content.migration().is_none_or(|migration| migration.base_len() == 0)
        && state.commit.is_clean()
        && state.written.in_flight().is_empty()
        && !state.unsynced.has_own()
        && state.leftovers == Leftovers::Clean;
    nothing.then(|| u64::from(code.data) * u64::from(layout.chunk_bytes))
}

/// Whole stripes go to these targets from now on.
pub(crate) fn begin(state: &mut FileState, to: Layout) {
    let Some(before) = state.layout().cloned() else { return };
    state.stripes.chosen(&to, before);
    state.locate(Arc::new(to));
}

/// Nothing more goes out in whole stripes, of a file that is clean. Whether that is so.
pub(crate) fn close(state: &mut FileState) -> bool {
    let none =
        !state.stripes.is_choosing() && state.stripes.writing().is_none_or(|stripes| !stripes.is_any_under_way());
    if none && state.stripes.writing().is_some() {
        state.end_stripes();
        state.stripes.decline();
    }
    none
}

/// What was written in whole stripes, up to `end`, is here now, and its server knows that.
pub(crate) fn moved_back(state: &mut FileState, to: Layout, end: u64, now_ms: u64) {
    state.stripes.decline();
    state.locate(Arc::new(to));
    if end > 0 {
        state.commit.add(end, now_ms);
    }
}
