// SPDX-License-Identifier: Apache-2.0

//! What a storage service counts. Failure model: none of its own.

use super::ops::Op;
use nyala_metrics::{ByAddress, Requests};
use nyala_scrape::BusyNow;
use nyala_transport::trace::SlowOperations;
use nyala_transport::{PeerInfo, Reply};
use nyala_wire::InodeId;
use std::time::Instant;

/// Counts since the service was started, of all its cores.
#[derive(Debug)]
pub struct Metrics {
    pub(super) requests: Requests,
    /// Requests, bytes read, bytes written.
    pub(super) clients: ByAddress<3>,
    /// Files.
    pub(super) busy: BusyNow,
    /// Requests that took too long.
    pub(super) slow: SlowOperations,
}

impl Metrics {
    /// Nothing has happened yet.
    pub(super) fn new(slow: SlowOperations) -> Metrics {
        Metrics { requests: Requests::new(Op::names()), clients: ByAddress::default(), busy: BusyNow::default(), slow }
    }

    /// Somebody has connected.
    pub(super) fn connected(&self, peer: &PeerInfo) {
        if !peer.role.is_server() {
            self.clients.connected(peer.address.ip());
        }
    }

    /// A request is about this file, and is to read and write so many bytes of it.
    #[inline(always)]
    pub(super) fn uses(&self, inode: InodeId, changes: bool, (read, written): (u64, u64)) {
        if let Some(sample) = self.busy.sample() {
            sample.inode(inode, changes);
            if read + written > 0 {
                sample.bytes(inode, read + written, written > 0);
            }
        }
    }

    /// A request with so long a payload, that came at `began`, has its reply; none if that is an error.
    pub(super) fn answered(&self, peer: &PeerInfo, op: Op, began: Instant, payload: usize, reply: Option<&Reply>) {
        self.requests.answered(op as usize, began.elapsed(), reply.is_none());
        if peer.role.is_server() {
            return;
        }
        let read = reply.filter(|_| matches!(op, Op::Read | Op::MirrorRead)).map_or(0, Reply::payload_bytes);
        let written = match (op, reply) {
            (Op::Write | Op::MirrorWrite, Some(_)) => payload,
            _ => 0,
        };
        self.clients.add(peer.address.ip(), [1, read as u64, written as u64]);
    }
}
