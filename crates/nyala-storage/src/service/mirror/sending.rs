// SPDX-License-Identifier: Apache-2.0

//! Messages to other members. Answers go back as replies where the other side still waits for one.
//!
//! **Failure model.** Everything may be lost; the member sends again. What is on its way over a connection that lives is not sent
//! a second time (`nyala_replica::questions`). A refused connection is told to the member and to
//! management at once; a lost one is made again now, so that a refusal is not noticed later than it could be.

use super::parse::{self, Payload};
use super::shell::Shell;
use super::supervisor::Ask;
use nyala_replica::{Envelope, Input, Question, Ticket};
use nyala_transport::member::monotonic_ms;
use nyala_transport::{Endpoint, Frame, Request, TransportError};
use nyala_wire::mirror::{ReplicaHeader, replica_kind};
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageRequest};
use nyala_wire::{TargetId, codec, message_type};
use std::rc::Rc;
use std::time::Duration;

/// Longest wait for the reply to a message.
const WITHIN: Duration = Duration::from_secs(20);
/// Longest wait for a region that is to repair a bad one.
const FETCH_WITHIN: Duration = Duration::from_secs(3);

impl Shell {
    pub(super) fn send(self: &Rc<Self>, to: TargetId, envelope: Envelope, payload: Option<Ticket>) {
        let mut state = self.state.borrow_mut();
        let waits = Question::answered_by(to, &envelope.body).and_then(|question| state.askers.remove(&question));
        let envelope = match waits.map(|waits| waits.send(envelope.clone())) {
            Some(Ok(())) => return,
            _ => envelope,
        };
        let (question, epoch) = (Question::asked_by(to, &envelope.body), envelope.epoch);
        if question.is_some_and(|question| !state.under_way.begin(question, epoch, monotonic_ms())) {
            return;
        }
        let payload = payload.and_then(|ticket| state.buffers.get(&ticket).cloned());
        let endpoint = state.map.node_of(to).map(|node| Endpoint { addresses: node.addresses.clone() });
        let version = state.map.version.0;
        drop(state);
        let request = self.message(to, &envelope, payload).at(version, envelope.epoch);
        let shell = self.clone();
        tokio::task::spawn_local(async move {
            let Some(endpoint) = endpoint else { return };
            let reply = shell.pool.call(&endpoint, request.with_timeout(WITHIN)).await;
            if let Some(question) = question {
                shell.state.borrow_mut().under_way.end(question, epoch);
            }
            match reply {
                Ok(frame) => shell.answered(to, &frame),
                Err(error) => shell.failed(to, &endpoint, error).await,
            }
        });
    }

    fn message(&self, to: TargetId, envelope: &Envelope, payload: Option<Payload>) -> Request {
        let (kind, rest, data) = match payload {
            None => (replica_kind::NOTHING, Vec::new(), None),
            Some(Payload::Change(change)) => (change.kind, change.body.to_vec(), Some(change.data.clone())),
            Some(Payload::Region(region)) => (replica_kind::REGION, codec::encode(&region.header), Some(region.data)),
        };
        let envelope = codec::encode(envelope);
        let header = ReplicaHeader {
            group: self.setup.group.0.into(),
            from: self.setup.me.0.into(),
            to: to.0.into(),
            kind: kind.into(),
            envelope: (envelope.len() as u32).into(),
        };
        let request = Request::new(message_type::STORAGE_REPLICA, header.wrap(&envelope, &rest));
        request.with_payload(data.into_iter().filter(|data| !data.is_empty()).collect())
    }

    fn answered(self: &Rc<Self>, from: TargetId, frame: &Frame) {
        if frame.is_error() || frame.body.is_empty() {
            return;
        }
        match codec::decode(&frame.body) {
            Ok(envelope) => self.input(Input::Message { from, envelope, payload: Ticket(0) }),
            Err(error) => tracing::warn!(group = %self.setup.group, %from, %error, "an answer that cannot be read"),
        }
    }

    async fn failed(self: &Rc<Self>, to: TargetId, endpoint: &Endpoint, mut error: TransportError) {
        if matches!(error, TransportError::Disconnected { .. })
            && let Err(again) = self.pool.peer(endpoint).connection().await
        {
            error = again;
        }
        tracing::debug!(group = %self.setup.group, %to, %error, "a member cannot be reached");
        if matches!(error, TransportError::ConnectRefused { .. }) {
            let node = self.state.borrow().map.target(to).map(|target| target.node);
            node.into_iter().for_each(|node| self.tell(Ask::Refused(node)));
            self.input(Input::Refused { target: to });
        }
    }

    /// Takes what a good member has in place of what is damaged here. It has its turn: nothing changes there meanwhile. If it
    /// does not work, all stays as it was, and whoever reads there asks again.
    pub(super) async fn repair(&self, file: ChunkFileId, offset: u64, len: u32) {
        let (me, group) = (self.setup.me, self.setup.group);
        let from: Vec<(TargetId, Endpoint)> = {
            let state = self.state.borrow();
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
            let reply = self.pool.call(&endpoint, request.with_timeout(FETCH_WITHIN)).await;
            let Some(frame) = reply.ok().filter(|frame| !frame.is_error()) else { continue };
            let Ok(region) = parse::region(&frame.body, frame.payload) else { continue };
            let task = crate::service::queue::Task::Import { file, region, end: offset + u64::from(len) };
            if self.setup.target.call(task).await.is_ok() {
                tracing::warn!(%group, target = %me, inode = %file.inode, index = file.index, offset, len, "damage repaired");
                self.setup.mirrors.upgrade().iter().for_each(|mirrors| mirrors.count("mirror.repaired", 1));
                return;
            }
        }
        tracing::error!(%group, target = %me, inode = %file.inode, index = file.index, offset, "damage could not be repaired");
    }
}
