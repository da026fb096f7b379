// SPDX-License-Identifier: Apache-2.0

//! Messages to other members. Answers go back as replies where the other side still waits for one.
//!
//! **Failure model.** Everything may be lost; the member sends again. What is on its way over a connection that lives is not sent
//! a second time (`nyala_replica::questions`). A refused connection is told to the member and to
//! management at once; a lost one is made again now, so that a refusal is not noticed later than it could be.

#[cfg(test)]
mod tests;

use super::action::{Ask, OutboundMessage};
use super::frames::{answers_in, request};
use super::parse::{self, ChangeOp, Payload};
use super::shell::{Setup, Shell};
use crate::chunk_store::SMALL_BYTES;
use nyala_replica::{Body, Input, Ticket};
use nyala_transport::{Endpoint, Request, TransportError, trace};
use nyala_wire::map::ClusterMap;
use nyala_wire::mirror::{MAX_BUNDLED, ReplicaHeader, replica_kind};
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageRequest};
use nyala_wire::{GroupId, TargetId, codec, message_type};
use std::time::Duration;

/// Longest wait for the reply to a message.
const WITHIN: Duration = Duration::from_secs(20);
/// Longest wait for a region that is to repair a bad one.
const FETCH_WITHIN: Duration = Duration::from_secs(3);

/// Whether whoever gets the message is through with it at once, in most cases. What is not has a frame of its own: the answers to all of a
/// frame come together, and would wait for the slowest.
fn is_quick(body: &Body, payload: Option<&Payload>) -> bool {
    match body {
        Body::Forward { .. } => match payload {
            Some(Payload::Change(change)) => matches!(&change.op, ChangeOp::Write(op) if op.data.len() < SMALL_BYTES),
            Some(Payload::Region(_)) | None => false,
        },
        Body::Sync { flush, .. } => !flush,
        Body::Copy { .. } => false,
        Body::Forwarded { .. } | Body::Synced { .. } | Body::Committed { .. } => true,
        Body::Gather { .. } | Body::Gathered { .. } | Body::Behind => true,
    }
}

impl Shell {
    /// Has a message sent. Quick ones to the same member that are posted before this thread does anything else leave together.
    pub(super) fn post(&self, outgoing: OutboundMessage) {
        let outgoing = OutboundMessage { trace: trace::current(), ..outgoing };
        let shell = self.clone();
        if !is_quick(&outgoing.envelope.body, outgoing.payload.as_ref()) {
            tokio::task::spawn_local(async move { shell.send(vec![outgoing]).await });
            return;
        }
        let key = (self.shared.setup.group, outgoing.to);
        let first = {
            let mut posted = self.thread.posted.borrow_mut();
            let posted = posted.entry(key).or_default();
            posted.push(outgoing);
            posted.len() == 1
        };
        if first {
            tokio::task::spawn_local(async move { shell.send_posted(key).await });
        }
    }

    async fn send_posted(&self, key: (GroupId, TargetId)) {
        let mut posted = self.thread.posted.borrow_mut().remove(&key).unwrap_or_default();
        while posted.len() > MAX_BUNDLED {
            let more = posted.split_off(posted.len() - MAX_BUNDLED);
            let shell = self.clone();
            tokio::task::spawn_local(async move { shell.send(more).await });
        }
        self.send(posted).await;
    }

    /// Sends messages to one member, and has ours hear what comes back.
    async fn send(&self, messages: Vec<OutboundMessage>) {
        let Some(OutboundMessage { to, map, .. }) = messages.first() else { return };
        let (to, map) = (*to, map.clone());
        let Setup { group, me, .. } = self.shared.setup;
        let epoch = messages.iter().map(|message| message.envelope.epoch).max().unwrap_or_default();
        let questions = messages.iter().filter_map(|message| Some((message.question?, message.envelope.epoch)));
        let mut questions: Vec<_> = questions.collect();
        let request = request(group, me, messages).at(map.version.0, epoch);
        let is_bundle = request.message_type == message_type::STORAGE_REPLICAS;
        let Some(peer) = self.thread.peer(to, &map) else { return };
        let reply = peer.call(request.with_timeout(WITHIN)).await;
        let answers = reply.as_ref().map_or(Vec::new(), |frame| answers_in(group, to, frame, is_bundle));
        self.carry_out(self.steps([None].into_iter().chain(answers.into_iter().map(Some)), |state, answer| {
            questions.drain(..).for_each(|(question, epoch)| state.under_way.end(question, epoch));
            answer.map(|envelope| Input::Message { from: to, envelope, payload: Ticket(0) })
        }));
        if let Err(error) = reply {
            Box::pin(self.failed(to, &map, error)).await;
        }
    }

    async fn failed(&self, to: TargetId, map: &ClusterMap, mut error: TransportError) {
        if matches!(error, TransportError::Disconnected { .. })
            && let Some(peer) = self.thread.peer(to, map)
            && let Err(again) = peer.connection().await
        {
            error = again;
        }
        tracing::debug!(group = %self.shared.setup.group, %to, %error, "a member cannot be reached");
        if matches!(error, TransportError::ConnectRefused { .. }) {
            let node = self.shared.state().and_then(|state| state.map.target(to).map(|target| target.node));
            node.into_iter().for_each(|node| self.tell(Ask::Refused(node)));
            self.input(Input::Refused { target: to });
        }
    }

    /// Takes what a good member has in place of what is damaged here. It has its turn: nothing changes there meanwhile. If it
    /// does not work, all stays as it was, and whoever reads there asks again.
    pub(super) async fn repair(&self, file: ChunkFileId, offset: u64, len: u32) {
        let Setup { me, group, ref target, ref common, .. } = self.shared.setup;
        let from: Vec<(TargetId, Endpoint)> = {
            let Some(state) = self.shared.state() else { return };
            let good = state.map.group(group).into_iter().flat_map(|group| group.members_with_states());
            let others = good.filter(|(target, state)| *target != me && *state == nyala_wire::map::MemberState::Good);
            let endpoint = |target| Some(Endpoint { addresses: state.map.node_of(target)?.addresses.clone() });
            others.filter_map(|(target, _)| Some((target, endpoint(target)?))).collect()
        };
        for (to, endpoint) in from {
            let op = StorageOp::Repair { offset, len, bad: me };
            let ask = codec::encode(&StorageRequest::new(to, file, op));
            let kind = replica_kind::FETCH.into();
            let (group, from, to) = (group.0.into(), me.0.into(), to.0.into());
            let header = ReplicaHeader { group, from, to, kind, envelope: 0.into() };
            let request = Request::new(message_type::STORAGE_REPLICA, header.wrap(&[], &ask));
            let reply = self.thread.pool.call(&endpoint, request.with_timeout(FETCH_WITHIN)).await;
            let Some(frame) = reply.ok().filter(|frame| !frame.is_error()) else { continue };
            let Ok(region) = parse::region(&frame.body, frame.payload) else { continue };
            let task = crate::service::queue::Task::Import { file, region, end: offset + u64::from(len) };
            if target.call(task).await.is_ok() {
                tracing::warn!(%group, target = %me, inode = %file.inode, index = file.index, offset, len, "damage repaired");
                common.count("mirror.repaired", 1);
                return;
            }
        }
        tracing::error!(%group, target = %me, inode = %file.inode, index = file.index, offset, "damage could not be repaired");
    }
}
