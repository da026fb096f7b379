// SPDX-License-Identifier: Apache-2.0

//! Messages of other members, alone or several at once.
//!
//! **Failure model.** A message, or the answer to it, may be lost: whoever sent it asks again, and an answer whose question waits no
//! more goes out as a message of its own. Of a bundle with a malformed message nothing is done. One that takes its time (its row has
//! to be on disk first) does not hold up the answers to the others.

use super::action::{Action, Main};
use super::entry::{Mirrors, fetch};
use super::frames::collect_first;
use super::parse::{self, ChangeOp, Payload, Sent, own};
use super::shell::{SharedMember, Shell};
use super::thread_context::ThreadContext;
use super::work::Change;
use crate::chunk_store::SMALL_BYTES;
use crate::service::write_batch::write_all;
use bytes::Bytes;
use nyala_replica::{Body, Envelope, Input, Question, Ticket};
use nyala_transport::trace::part;
use nyala_transport::{Frame, Reply};
use nyala_wire::mirror::{ReplicaHeader, replica_kind, unbundle};
use nyala_wire::{ErrorCode, TargetId, WireError, codec};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::oneshot;

type Heard = (Envelope, Sent);

/// A message of another member.
pub async fn message(mirrors: &Mirrors, thread: &Rc<ThreadContext>, frame: &Frame) -> Result<Reply, WireError> {
    let (header, envelope, rest) = ReplicaHeader::split(&frame.body)?;
    let shared = member(mirrors, &header)?;
    if header.kind.get() == replica_kind::FETCH {
        return Box::pin(fetch(&shared.setup.target, rest)).await;
    }
    let heard = heard(&header, envelope, frame.body.slice_ref(rest), frame.payload.clone())?;
    let shell = Shell { shared, thread: thread.clone() };
    let waits_for = if matches!(heard.0.body, Body::Sync { flush: true, .. }) { "sync" } else { "wait" };
    let (actions, answers) = hear(&shell, TargetId(header.from.get()), vec![heard]);
    part("own copy", shell.carry_out_here(actions)).await;
    // Answers that take longer, or that there are none of, come as messages of their own.
    let answers = part(waits_for, collect_first(answers)).await;
    Ok(Reply::ok(answers.first().map_or(Vec::new(), codec::encode)))
}

/// Several messages of one member to another.
pub async fn bundle(mirrors: &Mirrors, thread: &Rc<ThreadContext>, frame: &Frame) -> Result<Reply, WireError> {
    let (mut all, mut first) = (Vec::new(), None::<ReplicaHeader>);
    for (body, payload) in unbundle(&frame.body, frame.payload.len())? {
        let (header, envelope, rest) = ReplicaHeader::split(body)?;
        let to = first.get_or_insert(header);
        if (to.group, to.from, to.to) != (header.group, header.from, header.to) {
            return Err(ErrorCode::BAD_MESSAGE.with("a bundle has messages of one member to another"));
        }
        all.push(heard(&header, envelope, frame.body.slice_ref(rest), frame.payload.slice(payload))?);
    }
    let Some(header) = first else { return Ok(Reply::ok(Vec::new())) };
    let shell = Shell { shared: member(mirrors, &header)?, thread: thread.clone() };
    let (actions, answers) = hear(&shell, TargetId(header.from.get()), all);
    part("own copy", carry_out_batch(&shell, actions)).await;
    let answers = part("wait", collect_first(answers)).await;
    Ok(Reply::ok(codec::encode(&answers)))
}

/// The member here that a message is for.
fn member(mirrors: &Mirrors, header: &ReplicaHeader) -> Result<Arc<SharedMember>, WireError> {
    let shared = mirrors.find(header.group.get())?.shared.clone();
    if shared.setup.me.0 != header.to.get() {
        return Err(ErrorCode::WRONG_SERVER.with(format!("target {} is not in that mirror group here", header.to)));
    }
    Ok(shared)
}

fn heard(header: &ReplicaHeader, envelope: &[u8], rest: Bytes, data: Bytes) -> Result<Heard, WireError> {
    let envelope: Envelope = codec::decode(envelope)?;
    let sent = parse::sent(header.kind.get(), &envelope.body, rest, data)?;
    Ok((envelope, sent))
}

/// Messages of another member; what is to be done, and where the answers come.
fn hear(shell: &Shell, from: TargetId, heard: Vec<Heard>) -> (Vec<Action>, Vec<oneshot::Receiver<Envelope>>) {
    let mut answers = Vec::with_capacity(heard.len());
    let actions = shell.steps(heard, |state, (envelope, sent)| {
        let payload = Ticket(state.number());
        let buffer = match sent {
            Sent::Nothing => None,
            Sent::Change(change) => Some(Payload::Change(Arc::new(change))),
            Sent::Region(region) => Some(Payload::Region(region)),
        };
        buffer.into_iter().for_each(|buffer| drop(state.buffers.insert(payload, buffer)));
        // One who asks again gets the answer at its newest question.
        if let Some(question) = Question::to(&state.replica, from, &envelope) {
            let (answer, answered) = oneshot::channel();
            state.askers.insert(question, answer);
            answers.push(answered);
        }
        Some(Input::Message { from, envelope, payload })
    });
    (actions, answers)
}

/// Carries out what several messages ask for: short writes in one go, which is over when this returns.
async fn carry_out_batch(shell: &Shell, actions: Vec<Action>) {
    let (mut changes, mut ops) = (Vec::new(), Vec::new());
    for action in actions {
        match action {
            Action::Main(Main::Apply { job, file, ticket, request: Some(Payload::Change(request)) }) => {
                match &request.op {
                    ChangeOp::Write(op) if op.data.len() < SMALL_BYTES => {
                        ops.push(own(op));
                        changes.push(Change { job, file, ticket, request });
                    }
                    _ => {
                        let request = Some(Payload::Change(request));
                        shell.begin(Action::Main(Main::Apply { job, file, ticket, request }));
                    }
                }
            }
            other => shell.begin(other),
        }
    }
    if !changes.is_empty() {
        let results = write_all(&shell.thread.inline_path, &shell.shared.setup.target, ops).await;
        shell.applied(changes.into_iter().zip(results));
    }
}
