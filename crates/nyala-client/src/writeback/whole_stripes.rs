// SPDX-License-Identifier: Apache-2.0

//! Whole stripes of new files, written in their erasure code from the start, where mirrored data would be read and written again after the close.
//!
//! **Failure model.** Only what the file's exclusive delegation covers goes out like this, and only once: a stripe is never written again, so no
//! parity is ever older than its data. The file's server hears of stripes when all of their parts are on disk, and of the last one, which is not whole, when
//! nothing more is written by this layout (`writeback::flush`); what dies before leaves the file as the server knows it, and chunk files that no layout has, or that
//! are longer than it says. They are cut before they are used again.
//!
//! A target may be away, full, or lose what it had before it was synced: then nothing more goes out, the stripes that were stored are moved to
//! mirrors, computed from their other parts if need be, and all goes on there (`file::leave_stripes`). A part that comes late does
//! so under a name that no layout will have for long.

use crate::error::{Error, Result};
use crate::file::logic::stripes;
use crate::file::state::{File, stripe_writes};
use crate::writeback::owner::Writeback;
use crate::writeback::stripe_in_flight::StripeInFlight;
use crate::writeback::stripe_write::{Stripe, send};
use nyala_transport::trace::{carried, under};
use nyala_wire::{Layout, Pattern, SessionId};
use std::sync::Arc;

/// Sends off whole stripes, if the file is written like this or can be. `flushing`: somebody waits for all of it. Whether what is dirty
/// is dealt with; it goes out mirrored otherwise.
pub(super) fn pump(writeback: &Arc<Writeback>, file: &Arc<File>, upto_ms: Option<u64>, flushing: bool) -> bool {
    let mut state = file.state.lock();
    if state.stripes().is_choosing() {
        return true;
    }
    if state.stripes().writing().is_some() {
        drop(state);
        while let Some((sending, stripe)) = next_stripe(writeback, file, flushing) {
            tokio::spawn(carried(under(), send(sending, stripe)));
        }
        return true;
    }
    let Some(bytes) = stripe_writes::new_stripe_bytes(&state) else { return false };
    if !state.written().fills(0..bytes) {
        // It may become one, unless what is there has to go out before.
        let end = state.written().dirty().end().unwrap_or(0);
        return end < bytes && state.written().fills(0..end) && !state.written_mut().is_hurried(upto_ms);
    }
    let choice = state.written_mut().stamp();
    state.stripes_mut().choose(choice);
    let (session, writeback, file) = (state.session(), writeback.clone(), file.clone());
    drop(state);
    tokio::spawn(carried(under(), async move { choose(&writeback, &file, (choice, session)).await }));
    true
}

/// Takes the next stripe out of what is dirty.
fn next_stripe(writeback: &Arc<Writeback>, file: &Arc<File>, flushing: bool) -> Option<(StripeInFlight, Stripe)> {
    let mut state = file.state.lock();
    let (to, session, unit) = (state.layout()?.clone(), state.session(), state.unit());
    let code = to.encoded()?;
    let range = state.stripes().writing()?.next_stripe()?;
    let (range, last) = match state.written().fills(range.clone()) {
        true => (range, false),
        // Old, or short of memory: it waits for the rest, or for somebody who waits for it.
        false if !flushing => return None,
        false => (range.start..state.written().dirty().end().filter(|end| *end > range.start)?, true),
    };
    let departed = state.written_mut().depart_within(range.clone());
    let pieces: Vec<_> = departed.iter().map(|piece| (piece.offset, piece.data.clone())).collect();
    let extents: Vec<u64> = departed.iter().map(|piece| piece.id).collect();
    let id = *extents.first()?;
    let bytes = departed.iter().map(|piece| piece.data.len()).sum();
    state.stripes_mut().writing_mut()?.depart(range.end, extents, last);
    drop(state);
    let sending = StripeInFlight::begin(writeback, file, id, session, bytes);
    Some((sending, Stripe { range, to, code, unit, pieces, last }))
}

/// Finds targets for a new file; what is written meanwhile waits.
async fn choose(writeback: &Arc<Writeback>, file: &Arc<File>, (choice, session): (u64, SessionId)) {
    // The delegation may go meanwhile, and come back: what an earlier choice cuts would be what a later one has written.
    let _one = file.choosing.lock().await;
    if !file.state.lock().stripes().is_made(choice) {
        return;
    }
    let chosen = targets(writeback, file, session).await;
    let mut state = file.state.lock();
    if state.stripes().is_made(choice) {
        match chosen {
            Ok(to) => stripe_writes::begin(&mut state, to),
            Err(error) => {
                tracing::debug!(inode = %file.inode, %error, "a new file is mirrored first, and encoded later");
                state.stripes_mut().decline();
            }
        }
    }
    drop(state);
    writeback.pump(file);
    file.changed.notify_waiters();
}

async fn targets(writeback: &Arc<Writeback>, file: &Arc<File>, session: SessionId) -> Result<Layout> {
    let layout = file.state.lock().layout().cloned();
    let coded = layout.and_then(|layout| layout.to_encode().map(|code| (layout, code)));
    let Some((layout, code)) = coded else {
        return Err(Error::Protocol { what: "choose targets", detail: "a file that is not to be encoded" });
    };
    let to = stripes::destination(&writeback.cluster.maps.view().map, &layout, (Pattern::Ec, code), Vec::new())?;
    let to = writeback.cluster.move_targets(file.inode, &to).await?;
    if to.encoded() != Some(code) || to.chunk_bytes != layout.chunk_bytes || !layout.is_before(&to) {
        return Err(Error::Protocol { what: "choose targets", detail: "other targets than were asked for" });
    }
    // What somebody left in chunk files of these names.
    writeback.cut(file, &to, 0, session).await?;
    Ok(to)
}
