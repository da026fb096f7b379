// SPDX-License-Identifier: Apache-2.0

//! Whether a metadata server may still order what it asks for: changes of its own, without a session, are cuts of truncated files and the
//! removal of dead ones.
//!
//! **Failure model.** A metadata server that is mirrored works on one member after the other. The one before may be cut off from management and
//! its successor and still reach us, or be stopped for minutes, and go on with what it had under way. Its successor has finished
//! the same truncation long since, and clients have written behind the new size: a late cut would take that. So what a metadata server orders
//! is done only if, by our map, it works on the node that asks, and the map that it asks under (the frame's) shows the present epoch of
//! its mirror group; it names none in which it is not primary itself. Our map is at least as new as that one, else we
//! wait for it: so what a successor has had done keeps its predecessors out, and still does after a restart, since our lease is one for whoever has a map
//! that is newer than every lease before it. Who is refused asks again, with its newest map, if it still leads.
//!
//! A request that was let in before, and waits for a disk, is done before its successor's: both have one queue per chunk file, or one
//! line in a mirror group. What another storage service passes on was looked at there; here its map is.

#[cfg(test)]
mod tests;

use nyala_transport::Role;
use nyala_wire::map::ClusterMap;
use nyala_wire::{ErrorCode, InodeId, MapVersion, NodeId, WireError};

/// Who orders something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Orderer {
    /// What it is: a metadata service, or a storage service that passes something on.
    pub role: Role,
    /// Its node.
    pub node: NodeId,
    /// The map that it acts on.
    pub map: MapVersion,
}

/// May it order a change of that inode's chunk files, by our `map`, which is not older than its?
pub(super) fn may_order(map: &ClusterMap, by: Orderer, inode: InodeId) -> Result<(), WireError> {
    // In a slot that nobody serves there is nobody who could have been replaced.
    let Some(server) = map.slot_target(inode.slot()) else { return Ok(()) };
    let late = map.server_group(server).is_some_and(|group| by.map < group.since);
    let elsewhere = by.role == Role::Meta && map.server_node(server).is_some_and(|node| node.id != by.node);
    match late || elsewhere {
        true => Err(ErrorCode::NOT_READY.with(format!("metadata server {server} may work elsewhere by now"))),
        false => Ok(()),
    }
}
