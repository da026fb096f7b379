// SPDX-License-Identifier: Apache-2.0

//! What a thread that serves has of its own: nothing of it is waited for, or woken, by another thread.
//!
//! **Failure model.** See [`crate::service::inline_path`] and, for the connections to other servers, `nyala_transport::peer`.

use super::action::OutboundMessage;
use crate::service::inline_path::InlinePath;
use nyala_replica::ByNumber;
use nyala_transport::{Endpoint, HandshakeConfig, Peer, Pool, PoolOptions};
use nyala_wire::map::ClusterMap;
use nyala_wire::{GroupId, MapVersion, TargetId};
use std::cell::RefCell;
use std::rc::Rc;

/// One thread's own way to the chunk files, and its own connections to other members of mirror groups.
pub struct ThreadContext {
    pub inline_path: InlinePath,
    /// One connection to each: what goes to it together goes into one write.
    pub pool: Pool,
    /// Members as a map showed them.
    peers: RefCell<ByNumber<TargetId, (MapVersion, Peer)>>,
    /// Messages to a member that leave together.
    pub posted: RefCell<ByNumber<(GroupId, TargetId), Vec<OutboundMessage>>>,
}

impl ThreadContext {
    /// For the calling thread.
    pub fn new(handshake: HandshakeConfig) -> Rc<ThreadContext> {
        let pool = Pool::new(handshake, PoolOptions::default());
        let (inline_path, peers, posted) = Default::default();
        Rc::new(ThreadContext { inline_path, pool, peers, posted })
    }

    /// The member's server, which is where that map says.
    pub fn peer(&self, member: TargetId, map: &ClusterMap) -> Option<Peer> {
        let mut peers = self.peers.borrow_mut();
        let known = peers.get(&member).filter(|(version, _)| *version == map.version).map(|(_, peer)| peer.clone());
        known.or_else(|| {
            let peer = self.pool.peer(&Endpoint { addresses: map.node_of(member)?.addresses.clone() });
            peers.insert(member, (map.version, peer.clone()));
            Some(peer)
        })
    }
}
