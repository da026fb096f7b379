// SPDX-License-Identifier: Apache-2.0

//! Changes of chunk files that are done once, however often they are sent.
//!
//! Failure model: an answer gets lost and the change is sent again, on another connection perhaps; a copy lies in a queue until
//! long after another one was done. All copies have the number that the change got when it began: of a slot at a target without
//! mirrors ([`Stamp`]), or among the requests to mirror groups. Storage does it once, and nothing when it comes late.

use super::peers::{Peers, STORAGE_TIMEOUT};
use nyala_transport::Request;
use nyala_wire::map::ClusterMap;
use nyala_wire::message_type::STORAGE;
use nyala_wire::storage::{ChunkFileId, Stamp, StorageOp, StorageReply, StorageRequest};
use nyala_wire::{DataLocation, TargetId, WireError, codec};

/// A change of a chunk file with its number; over when dropped.
pub struct Numbered<'a> {
    peers: &'a Peers,
    location: DataLocation,
    number: u64,
    slot: u32,
}

impl Drop for Numbered<'_> {
    fn drop(&mut self) {
        match self.location {
            DataLocation::Target(_) => self.peers.slots.lock().free(self.slot),
            DataLocation::Group(_) => drop(self.peers.numbers.lock().1.remove(&self.number)),
        }
    }
}

impl Numbered<'_> {
    /// Among the requests to its location.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl Peers {
    /// Numbers a change; `None` while too many are under way.
    pub fn number(&self, location: DataLocation) -> Option<Numbered<'_>> {
        match location {
            DataLocation::Target(_) => {
                let (slot, number) = self.slots.lock().take()?;
                Some(Numbered { peers: self, location, number, slot })
            }
            DataLocation::Group(_) => Some(self.number_in_group(location)),
        }
    }

    pub(super) fn number_in_group(&self, location: DataLocation) -> Numbered<'_> {
        let mut numbers = self.numbers.lock();
        numbers.0 += 1;
        let number = numbers.0;
        numbers.1.insert(number);
        Numbered { peers: self, location, number, slot: 0 }
    }

    /// Sends a numbered change once.
    pub async fn change(
        &self,
        map: &ClusterMap,
        numbered: &Numbered<'_>,
        file: ChunkFileId,
        op: StorageOp,
    ) -> Result<StorageReply, WireError> {
        let (number, slot) = (numbered.number, numbered.slot);
        match numbered.location {
            DataLocation::Target(target) => {
                let stamp = Some(Stamp { client: self.client, number, slot });
                let body = codec::encode(&StorageRequest { stamp, ..StorageRequest::new(target, file, op) });
                self.call(map, target, Request::new(STORAGE, body).with_timeout(STORAGE_TIMEOUT)).await
            }
            DataLocation::Group(group) => {
                self.group(map, group, number, &StorageRequest::new(TargetId(0), file, op)).await
            }
        }
    }
}
