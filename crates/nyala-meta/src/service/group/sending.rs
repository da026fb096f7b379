// SPDX-License-Identifier: Apache-2.0

//! Messages to other members, and to management. Answers go back as replies where the other side still waits for one.
//!
//! **Failure model.** Everything may be lost; the member sends again. A refused connection is told to the member and to management at
//! once. A member that owes an answer for [`SUSPECT`] has its host probed, as what lies between the two may have failed while management
//! hears both: if the host does not answer, the group goes on without the member.

use super::GroupShell;
use super::wire::{decode, encode};
use nyala_cluster::Command;
use nyala_replica::log::{LogBody, LogEnvelope, LogInput, Record};
use nyala_transport::member::monotonic_ms;
use nyala_transport::{Endpoint, Frame, Request, TransportError};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{TargetId, message_type};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest wait for the reply to a message.
const WITHIN: Duration = Duration::from_secs(20);
/// An answer that takes longer is a message of its own.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// Longest wait for a decision of management.
const DECISION_TIMEOUT: Duration = Duration::from_secs(2);
/// An answer that is owed for so long is a reason to probe its host.
const SUSPECT: Duration = Duration::from_millis(800);
/// A probe tells for so long; the next one has ended by then.
const TELLS_MS: u64 = 4000;

impl GroupShell {
    pub(super) fn send(self: &Rc<Self>, to: TargetId, envelope: LogEnvelope, records: Vec<Record>) {
        let mut state = self.state.borrow_mut();
        let (envelope, records) = match state.askers.remove(&to) {
            Some(asker) => match asker.send((envelope, records)) {
                Ok(()) => return,
                // Whoever asked does not wait any more.
                Err(unsent) => unsent,
            },
            None => (envelope, records),
        };
        let Some(node) = state.map.node_of(to) else { return };
        let endpoint = Endpoint { addresses: node.addresses.clone() };
        let (version, epoch) = (state.map.version.0, envelope.epoch);
        state.owing.entry(to).or_insert_with(Instant::now);
        drop(state);
        let trace = match &envelope.body {
            LogBody::Append { after, .. } => {
                self.setup.flusher.trace_of(after.index, after.index + records.len() as u64)
            }
            _ => None,
        };
        let (body, payload) = encode(self.setup.me, to, envelope, &records);
        let request = Request::new(message_type::META_REPLICA, body).at(version, epoch).with_payload(payload);
        let request = request.followed(trace);
        let shell = self.clone();
        tokio::task::spawn_local(async move {
            match shell.pool.call(&endpoint, request.with_timeout(WITHIN)).await {
                Ok(frame) => shell.answered(to, &frame),
                Err(error) => shell.failed(to, &endpoint, error).await,
            }
        });
    }

    fn answered(self: &Rc<Self>, from: TargetId, frame: &Frame) {
        self.state.borrow_mut().owing.remove(&from);
        if frame.is_error() || frame.body.is_empty() {
            return;
        }
        match decode(&frame.body, &frame.payload) {
            Ok((message, records)) => self.input(LogInput::Message(from, message.envelope, records)),
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
            node.into_iter().for_each(|node| self.tell_management(MgmtRequest::Refused { node }));
            self.input(LogInput::Refused(to));
        }
    }

    pub(super) fn ask(self: &Rc<Self>, command: &Command) {
        let Some((member, news)) = nyala_cluster::group::member_news::news(command) else {
            return tracing::error!(?command, "a member asks management for something else");
        };
        let (group, epoch, target, by) = (member.group, member.epoch, member.target, self.setup.me);
        tracing::debug!(%group, %target, epoch, ?news, "asking management");
        self.tell_management(MgmtRequest::Member { group, epoch, target, by, news });
    }

    fn tell_management(self: &Rc<Self>, request: MgmtRequest) {
        let member = self.setup.member.clone();
        tokio::task::spawn_local(async move {
            match member.mgmt().call_within(&request, DECISION_TIMEOUT).await {
                Ok(MgmtReply::Map(map)) => member.watch().offer(*map),
                Ok(_) => {}
                Err(error) => tracing::debug!(?request, %error, "management has not done it"),
            }
        });
    }

    /// Probes where it is due. Called now and then.
    pub(super) fn look_for_silence(self: &Rc<Self>) {
        let mut state = self.state.borrow_mut();
        let map = state.map.clone();
        let late = state.owing.iter().filter(|(_, since)| since.elapsed() >= SUSPECT).map(|(target, _)| *target);
        let late: Vec<TargetId> = late.collect();
        for target in state.silence.begin_probes(late, |target| map.node_of(target).is_some()) {
            let addresses = map.node_of(target).map(|node| node.addresses.clone()).unwrap_or_default();
            let shell = self.clone();
            tokio::task::spawn_local(async move {
                let answers = shell.pool.is_reachable(&Endpoint { addresses }).await;
                shell.probed(target, answers);
            });
        }
    }

    fn probed(self: &Rc<Self>, target: TargetId, answers: bool) {
        let group = self.setup.group;
        if self.state.borrow_mut().silence.probed(target, answers) {
            tracing::warn!(%group, %target, answers, "whether a member's host can be reached from here has changed");
        }
        if !answers {
            self.input(LogInput::Silent(target, monotonic_ms() + TELLS_MS));
        }
    }
}
