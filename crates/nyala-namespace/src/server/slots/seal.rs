// SPDX-License-Identifier: Apache-2.0

//! Which slots nobody uses here at the moment.
//!
//! Failure model: an earlier run of this server may have told management that a slot is complete, and that may be carried out at any
//! moment until this run begins an attempt of its own. And a slot whose rows are not whole must not be served whatever the map says.

use super::rows;
use super::serve::serve_what_came;
use crate::keys;
use crate::server::io::Note;
use crate::server::replay_rest::truncate;
use crate::server::state::State;
use crate::server::waits::Event;
use nyala_kv::Batch;
use nyala_wire::map::{ClusterMap, SlotMove};
use nyala_wire::{Slot, WireError};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A new map. Tables that cannot be read now may be read later: what came is served when the next one comes.
pub fn take_map(state: &mut State, map: Arc<ClusterMap>) {
    state.ground.set_map(map);
    if let Err(error) = follow_map(state) {
        state.note(Note::SlotNotTaken(error));
    }
}

/// Takes in the map: what is served from now on, and what is not.
pub fn follow_map(state: &mut State) -> Result<(), WireError> {
    let unfinished = serve_what_came(state)?;
    let (me, run, map) = (state.ground.me, state.boot, state.ground.map());
    let others = map.moves.iter().filter(|moving| moving.from == me && moving.run != 0 && moving.run != run);
    let sealed = state.leaving.as_ref().filter(|leaving| leaving.sealed).map(|leaving| leaving.slot);
    let mut slots: Vec<Slot> = others.map(|moving| moving.slot).chain(sealed).chain(unfinished).collect();
    slots.sort_unstable();
    slots.dedup();
    stay(state, &slots)?;
    state.ground.locks.seal(slots);
    truncate(state);
    state.wake(Event::Released);
    state.wake(Event::Map);
    Ok(())
}

/// What was not given away after all, or came back, is not removed here.
fn stay(state: &mut State, sealed: &[Slot]) -> Result<(), WireError> {
    let mut batch = Batch::new();
    let prefix = keys::given_prefix();
    state.ground.tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, _| {
        let stays = |slot: &Slot| state.ground.is_here(*slot) && !sealed.contains(slot);
        if keys::parse_given(key).is_some_and(|slot| stays(&slot)) {
            batch.delete(key);
        }
        ControlFlow::Continue(())
    })?;
    state.apply(&batch)
}

/// From here on nobody uses a slot that is given away. Returns the keys of rows that are still to be sent.
pub fn seal(state: &mut State, moving: SlotMove) -> Result<BTreeSet<Vec<u8>>, WireError> {
    let mut left = rows::sent_last(&*state.ground.tables, moving.slot)?;
    if let Some(leaving) = &mut state.leaving {
        leaving.sealed = true;
        left.append(&mut leaving.changed);
    }
    // Only what was given away like this is ever removed here.
    let mut batch = Batch::new();
    batch.put(keys::given(moving.slot), []);
    state.apply(&batch)?;
    follow_map(state)?;
    Ok(left)
}
