// SPDX-License-Identifier: Apache-2.0

//! The native protocol: what services and clients ask. One handler per file.
//!
//! **Failure model.** Requests are repeated, late, or of a replaced run: each handler says what then happens. Bodies that
//! cannot be decoded, unknown message types and requests to a node that does not lead get a typed error.

mod capacities;
mod goodbye;
mod heartbeat;
mod register;
mod watch_map;

use crate::core::Core;
use crate::raft::rpc;
use nyala_transport::{Frame, PeerInfo, Reply, Role, Service, process};
use nyala_wire::error::WireError;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ErrorCode, codec, message_type};
use std::sync::Arc;

/// The service behind the listening sockets.
pub(crate) struct MgmtService {
    pub core: Arc<Core>,
}

impl Service for MgmtService {
    async fn call(&self, peer: &PeerInfo, frame: Frame) -> Reply {
        let answer = match frame.header.message_type {
            message_type::MGMT => self.answer(&frame).await.map(|reply| codec::encode(&reply)),
            message_type::PING => Ok(Vec::new()),
            message_type::STATS => Ok(codec::encode(&process::stats(self.core.counters.list()))),
            message_type::MGMT_RAFT if peer.role == Role::Mgmt => return rpc::serve(&self.core.raft, &frame).await,
            message_type::MGMT_RAFT => Err(ErrorCode::UNAUTHORIZED.with("only management nodes speak Raft")),
            other => {
                Err(ErrorCode::UNKNOWN_MESSAGE.with(format!("management does not know message type {other:#06x}")))
            }
        };
        let mut reply = answer.map_or_else(|e| Reply::error(codec::encode(&e)), Reply::ok);
        reply.map_version = self.core.view.map().version.0;
        reply
    }
}

impl MgmtService {
    async fn answer(&self, frame: &Frame) -> Result<MgmtReply, WireError> {
        let request: MgmtRequest = codec::decode(&frame.body)?;
        self.core.check_leading()?;
        match request {
            MgmtRequest::WatchMap { have, wait_ms } => watch_map::handle(&self.core, have, wait_ms).await,
            MgmtRequest::Register(register) => register::handle(&self.core, &register).await,
            MgmtRequest::Heartbeat(heartbeat) => heartbeat::handle(&self.core, &heartbeat),
            MgmtRequest::Goodbye { node, incarnation } => goodbye::handle(&self.core, node, incarnation).await,
            MgmtRequest::Capacities => Ok(capacities::handle(&self.core)),
        }
    }
}
