// SPDX-License-Identifier: Apache-2.0

//! The cluster state after an operator has given up the majority of management: what one node holds is all there is. Pure.
//!
//! **Failure model.** The last changes that the lost nodes decided may be missing here, and with them numbers that they gave and
//! that services have seen: so whatever is numbered goes on far above what this node knows of. Who was good in a mirror group is
//! taken as it stands here; a member that was called stale in a change that is missing counts as good again, which a comparison
//! of the members finds. The lost nodes may come back with their directories: they are in no list any more, their identities
//! never register again, and the map's version says that it is of a later management ([`nyala_wire::MapVersion::recoveries`]),
//! so that whoever has seen it takes no lease and no map of theirs.

use crate::audit::{end_order, note_order};
use crate::{ClusterError, ClusterState};
use nyala_wire::ClusterId;
use nyala_wire::audit::AuditRecord;
use nyala_wire::map::Role;

/// How far numbers of nodes, ranges of inode numbers and orders go on above the last one that is known.
const NUMBERS: u64 = 1000;
/// The same of storage pools and mirror groups, of which there can be fewer.
const FEW: u64 = 100;
/// The same of epochs of mirror groups, and of attempts to copy a slot.
const EPOCHS: u64 = 1 << 16;

/// A number further on, and never more than half of the way to the last one that there can be.
fn ahead(last: u64, by: u64, most: u64) -> u64 {
    last + by.min(most.saturating_sub(last) / 2)
}

/// What the management node with the directory `survivor` goes on with alone, from `before`. `recovery` is drawn at random and not
/// 0; the order is written down as carried out.
pub fn recovered(
    before: &ClusterState,
    survivor: ClusterId,
    recovery: u64,
    order: AuditRecord,
) -> Result<ClusterState, ClusterError> {
    if before.cluster == ClusterId::UNKNOWN {
        return Err(ClusterError::NotInitialised);
    }
    if !before.nodes.iter().any(|node| node.role == Role::Mgmt && node.uuid == survivor) {
        return Err(ClusterError::invalid("this directory's node is no management node of the state that it holds"));
    }
    if recovery == 0 || recovery == before.recovery {
        return Err(ClusterError::invalid("the number of a recovery is random and new"));
    }
    let exhausted = || ClusterError::Exhausted { what: "map versions".to_owned() };
    let mut state = before.clone();
    state.version = before.version.after_recovery().ok_or_else(exhausted)?;
    state.recovery = recovery;
    for gone in before.nodes.iter().filter(|node| node.role == Role::Mgmt && node.uuid != survivor) {
        state.retire(gone.uuid);
    }
    state.nodes.retain(|node| node.role != Role::Mgmt || node.uuid == survivor);
    // All of them fit: no number comes out above the greatest of its type.
    state.last_node = ahead(before.last_node.into(), NUMBERS, u32::MAX.into()) as u32;
    state.last_range = ahead(before.last_range.into(), NUMBERS, nyala_wire::mgmt::MAX_RANGE.into()) as u32;
    state.last_pool = ahead(before.last_pool.into(), FEW, u16::MAX.into()) as u16;
    state.last_group = ahead(before.last_group.into(), FEW, u16::MAX.into()) as u16;
    state.last_move = ahead(before.last_move, EPOCHS, u64::MAX);
    state.last_order = ahead(before.last_order, NUMBERS, u64::MAX);
    for group in &mut state.groups {
        group.epoch = ahead(group.epoch.into(), EPOCHS, u32::MAX.into()) as u32;
        // A new term: its primary asks the others what they have, as after a restart.
        group.term = group.epoch;
        group.since = state.version;
    }
    note_order(&mut state, order)?;
    let number = state.last_order;
    end_order(&mut state, number, "done".to_owned())?;
    Ok(state)
}

#[cfg(test)]
mod tests;
