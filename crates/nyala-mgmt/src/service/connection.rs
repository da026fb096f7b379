// SPDX-License-Identifier: Apache-2.0

//! What connections ask of the service, counted. Failure model: see the parent module.

use super::MgmtService;
use crate::liveness;
use crate::metrics::{NAMES, Op};
use nyala_transport::trace;
use nyala_transport::{Frame, PeerInfo, Reply, Service};
use std::net::SocketAddr;
use std::time::Instant;

impl Service for MgmtService {
    fn has_server_at(&self, address: SocketAddr) -> bool {
        self.core.get().is_some_and(|core| core.view.map().has_server_at(address))
    }

    fn relays_to(&self, peer: &PeerInfo, address: SocketAddr) -> bool {
        self.core.get().is_some_and(|core| nyala_transport::may_relay(&core.view.map(), peer, address))
    }

    fn hung_up(&self, peer: &PeerInfo) {
        if let Some(core) = self.core.get() {
            liveness::hung_up(core, peer.connection_id);
        }
    }

    async fn call(&self, peer: &PeerInfo, frame: Frame) -> Reply {
        let (came, mut op) = (Instant::now(), Op::of(frame.message_type()));
        let reply = self.reply(peer, frame, &mut op).await;
        self.requests.answered(op as usize, came.elapsed(), reply.is_error());
        trace::operation(NAMES[op as usize]);
        reply
    }
}
