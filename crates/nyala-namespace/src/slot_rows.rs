// SPDX-License-Identifier: Apache-2.0

//! Of which slots tables have rows: of those that are served, of some that are on their way, and of some that have left.

use crate::keys;
use crate::records::TakenRecord;
use crate::view::View;
use nyala_wire::{Slot, WireError, codec};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The slots that have rows.
pub fn slots_with_rows(view: &dyn View) -> Result<BTreeSet<Slot>, WireError> {
    let mut found = BTreeSet::new();
    for tag in keys::OF_SLOTS {
        let mut from = vec![tag];
        while let Some(slot) = first_slot(view, &from, tag)? {
            found.insert(slot);
            from = keys::prefix_end(&keys::slot_prefix(tag, slot));
        }
    }
    Ok(found)
}

fn first_slot(view: &dyn View, from: &[u8], tag: u8) -> Result<Option<Slot>, WireError> {
    let mut slot = None;
    view.scan(from, &[tag + 1], &mut |key, _| {
        slot = keys::parse_slot(key);
        ControlFlow::Break(())
    })?;
    Ok(slot)
}

/// Slots that are on their way here or away from here, or whose rows are left behind: what tables say of them says nothing.
pub fn slots_in_transit(view: &dyn View) -> Result<BTreeSet<Slot>, WireError> {
    let mut found = BTreeSet::new();
    let given = keys::given_prefix();
    view.scan(&given, &keys::prefix_end(&given), &mut |key, _| {
        found.extend(keys::parse_given(key));
        ControlFlow::Continue(())
    })?;
    let taken = keys::taken_prefix();
    view.scan(&taken, &keys::prefix_end(&taken), &mut |key, row| {
        let served = codec::decode::<TakenRecord>(row).is_ok_and(|known| known.served);
        found.extend(keys::parse_taken(key).filter(|_| !served));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}
