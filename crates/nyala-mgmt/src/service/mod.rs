// SPDX-License-Identifier: Apache-2.0

//! The native protocol: what services and clients ask. One handler per file.
//!
//! **Failure model.** Requests are repeated, late, or of a replaced run: each handler says what then happens. Bodies that cannot be decoded and unknown message types get a typed error, and so
//! does what the sender's role may not ask ([`access`]). A node that does not lead says who does. A node that has no cluster yet answers signs of life, and the operator who adds it.

mod access;
mod adopt;
mod capacities;
mod changes;
mod connection;
mod fsck;
mod goodbye;
mod heartbeat;
mod key_rules;
mod member;
mod mounts;
mod page;
mod range;
mod register;
mod slots;
mod watch_map;

use crate::core::{Core, Refusal};
use crate::metrics::{self, Op};
use crate::{audit, groups, members, raft::rpc};
use nyala_cluster::{Command, MemberAt};
use nyala_metrics::Requests;
use nyala_scrape::Pages;
use nyala_store::Store;
use nyala_transport::{Frame, PeerInfo, Reply, member::monotonic_ms, trace::SlowOperations};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ErrorCode, codec, error::WireError, message_type};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, atomic::Ordering};
use tokio::sync::watch;

/// The service behind the listening sockets.
pub(crate) struct MgmtService {
    /// Set once the node belongs to a cluster.
    pub core: OnceLock<Arc<Core>>,
    /// The management nodes of the cluster that an operator wants this node in, while it waits for that.
    pub adopted: Option<watch::Sender<Vec<SocketAddr>>>,
    /// Counts of requests.
    pub requests: Requests,
    /// The page of metrics.
    pub pages: Pages,
    /// Requests that took too long.
    pub slow: SlowOperations,
    /// What it stores; none where nothing is stored.
    pub store: Option<Store>,
}

impl MgmtService {
    /// Of a node that may wait to be adopted.
    pub(crate) fn new(adopted: Option<watch::Sender<Vec<SocketAddr>>>, pages: Pages) -> MgmtService {
        let (core, requests, slow) = (OnceLock::new(), metrics::requests(), SlowOperations::default());
        MgmtService { core, adopted, requests, pages, slow, store: None }
    }

    /// The reply to a message; `op` becomes what is asked for.
    pub(super) async fn reply(&self, peer: &PeerInfo, frame: Frame, op: &mut Op) -> Reply {
        let core = self.core.get();
        let answer = match (frame.header.message_type, core) {
            (message_type::PING, _) => Ok(Vec::new()),
            (message_type::STATS, core) => Ok(page::stats(core, &self.slow, self.store.as_ref())),
            (message_type::METRICS, _) => return page::handle(&self.pages).await,
            (message_type::MGMT, core) => match codec::decode(&frame.body) {
                Ok(request) => {
                    *op = Op::request(&request);
                    self.answer(core, peer, request).await.map(|reply| codec::encode(&reply))
                }
                Err(error) => Err(error),
            },
            (message_type::MGMT_RAFT, _) if access::raft(peer.role).is_err() => {
                access::raft(peer.role).map(|()| Vec::new())
            }
            (message_type::MGMT_RAFT, Some(core)) if !core.times.cut.load(Ordering::Relaxed) => {
                return rpc::serve(&core.receiver, &frame, monotonic_ms() >= core.votes_from_ms).await;
            }
            (message_type::MGMT_RAFT, _) => Err(ErrorCode::NOT_READY.with("Raft does not run here yet")),
            (other, _) => {
                Err(ErrorCode::UNKNOWN_MESSAGE.with(format!("management does not know message type {other:#06x}")))
            }
        };
        let mut reply = answer.map_or_else(|e| Reply::error(codec::encode(&e)), Reply::ok);
        reply.map_version = core.map_or(0, |core| core.view.map().version.0);
        reply
    }

    async fn answer(
        &self,
        core: Option<&Arc<Core>>,
        peer: &PeerInfo,
        ask: MgmtRequest,
    ) -> Result<MgmtReply, WireError> {
        access::request(peer.role, &ask)?;
        if let MgmtRequest::AdoptMgmt { mgmt } = &ask {
            return adopt::handle(self, mgmt);
        }
        let Some(core) = core else {
            return Err(ErrorCode::NOT_READY.with("this management node belongs to no cluster yet"));
        };
        match core.check_leading() {
            Err(Refusal::NotLeader { leader, addresses }) => return Ok(MgmtReply::NotLeader { leader, addresses }),
            other => other?,
        }
        match audit::what(&ask) {
            None => self.carry_out(core, peer, ask).await,
            Some(what) => {
                let (key, host) = (peer.grant.key.to_string(), peer.address.ip().to_string());
                audit::audited(core, (key, host, what), self.carry_out(core, peer, ask)).await
            }
        }
    }

    /// Does what a leader does.
    async fn carry_out(&self, core: &Arc<Core>, peer: &PeerInfo, ask: MgmtRequest) -> Result<MgmtReply, WireError> {
        match ask {
            MgmtRequest::SetKeyRule(rule) => key_rules::set(core, Command::SetKeyRule(rule)).await,
            MgmtRequest::SetAccessRule(rule) => key_rules::set(core, Command::SetAccessRule(rule)).await,
            MgmtRequest::RemoveAccessRule { key, network } => key_rules::remove(core, key, network).await,
            MgmtRequest::Audit => Ok(MgmtReply::Audit(core.view.state().orders.clone())),
            MgmtRequest::WatchMap { have, wait_ms } => watch_map::handle(core, have, wait_ms).await,
            MgmtRequest::Register(register) => register::handle(core, &register).await,
            MgmtRequest::Heartbeat(heartbeat) => heartbeat::handle(core, &heartbeat, peer.connection_id),
            MgmtRequest::Goodbye { node, incarnation } => goodbye::handle(core, node, incarnation).await,
            MgmtRequest::Capacities => Ok(capacities::handle(core)),
            MgmtRequest::Member { group, epoch, target, by, news } => {
                member::news(core, MemberAt { group, epoch, target }, by, news).await
            }
            MgmtRequest::TakeRange { target, after } => range::handle(core, target, after).await,
            MgmtRequest::Refused { node } => Ok(member::refused(core, node)),
            MgmtRequest::JoinMgmt(join) => members::join(core, &join, peer.address.ip()).await,
            MgmtRequest::MgmtNodes => Ok(MgmtReply::MgmtNodes(members::list(core))),
            MgmtRequest::RemoveMgmt { node } => members::remove(core, node).await,
            MgmtRequest::Groups(order) => {
                groups::carry_out(core, order).await.map(|()| MgmtReply::Done).map_err(Into::into)
            }
            MgmtRequest::SlotStep(step) => slots::step(core, step).await,
            MgmtRequest::Slots(order) => slots::order(core, order).await,
            MgmtRequest::AnnounceMount(mount) => mounts::add(core, mount, peer.address.ip()),
            MgmtRequest::Mounts => Ok(mounts::list(core)),
            MgmtRequest::Fsck(news) => fsck::handle(core, peer, news).await,
            MgmtRequest::Changes => Ok(changes::handle(core)),
            MgmtRequest::AdoptMgmt { .. } => Err(ErrorCode::INVALID.into()),
        }
    }
}
