// SPDX-License-Identifier: Apache-2.0

//! Frames between members: one message, or several that leave together, and the answers to them.

#[cfg(test)]
mod tests;

use super::action::Outgoing;
use super::parse::Payload;
use bytes::Bytes;
use nyala_replica::Envelope;
use nyala_transport::{Frame, Request};
use nyala_wire::mirror::{ReplicaHeader, bundle, replica_kind};
use nyala_wire::{GroupId, TargetId, codec, message_type};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;

/// Longest wait for a member's answers to another one, which asks again.
const WITHIN: Duration = Duration::from_secs(3);

/// The frame that carries messages of a member.
pub(super) fn request(group: GroupId, me: TargetId, messages: Vec<Outgoing>) -> Request {
    let (mut bodies, mut payloads) = (Vec::with_capacity(messages.len()), Vec::with_capacity(messages.len()));
    for message in messages {
        let (body, data) = message_of(group, me, &message);
        bodies.push((body, data.as_ref().map_or(0, Bytes::len)));
        payloads.extend(data.filter(|data| !data.is_empty()));
    }
    let request = match bodies.len() {
        1 => Request::new(message_type::STORAGE_REPLICA, bodies.swap_remove(0).0),
        _ => Request::new(message_type::STORAGE_REPLICAS, bundle(&bodies)),
    };
    request.with_payload(payloads)
}

/// Body and payload of a message.
fn message_of(group: GroupId, me: TargetId, message: &Outgoing) -> (Vec<u8>, Option<Bytes>) {
    let envelope = codec::encode(&message.envelope);
    let body = |kind: u16, rest: &[u8]| {
        let (group, from, to) = (group.0.into(), me.0.into(), message.to.0.into());
        let envelope_len = (envelope.len() as u32).into();
        ReplicaHeader { group, from, to, kind: kind.into(), envelope: envelope_len }.wrap(&envelope, rest)
    };
    match &message.payload {
        None => (body(replica_kind::NOTHING, &[]), None),
        Some(Payload::Change(change)) => (body(change.kind, &change.body), Some(change.data.clone())),
        Some(Payload::Region(region)) => {
            (body(replica_kind::REGION, &codec::encode(&region.header)), Some(region.data.clone()))
        }
    }
}

/// The answers in a reply.
pub(super) fn answers_in(group: GroupId, from: TargetId, frame: &Frame, is_bundle: bool) -> Vec<Envelope> {
    if frame.is_error() || frame.body.is_empty() {
        return Vec::new();
    }
    let answers = match is_bundle {
        true => codec::decode(&frame.body),
        false => codec::decode(&frame.body).map(|answer| vec![answer]),
    };
    answers.unwrap_or_else(|error| {
        tracing::warn!(%group, %from, %error, "an answer that cannot be read");
        Vec::new()
    })
}

/// The answers that are there once the first one is, if that comes in time. None waits for a slower one: what comes later is a message
/// of its own.
pub(super) async fn collect_first(mut waiting: Vec<oneshot::Receiver<Envelope>>) -> Vec<Envelope> {
    let mut answers = Vec::with_capacity(waiting.len());
    let mut take = |context: &mut Context<'_>| {
        waiting.retain_mut(|answer| match Pin::new(answer).poll(context) {
            Poll::Ready(envelope) => {
                answers.extend(envelope.ok());
                false
            }
            Poll::Pending => true,
        });
        if answers.is_empty() && !waiting.is_empty() { Poll::Pending } else { Poll::Ready(()) }
    };
    // Mostly it is there, and needs no timer.
    if take(&mut Context::from_waker(Waker::noop())).is_pending()
        && tokio::time::timeout(WITHIN, std::future::poll_fn(&mut take)).await.is_ok()
    {
        // Those that waited for the same end now, too.
        tokio::task::yield_now().await;
        let _ = take(&mut Context::from_waker(Waker::noop()));
    }
    answers
}
