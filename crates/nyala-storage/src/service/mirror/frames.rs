// SPDX-License-Identifier: Apache-2.0

//! Frames between members: one message, or several that leave together, and the answers to them.

#[cfg(test)]
mod tests;

use super::action::OutboundMessage;
use super::parse::Payload;
use bytes::Bytes;
use nyala_replica::Envelope;
use nyala_transport::{Frame, Request};
use nyala_wire::mirror::{BundledHeader, ReplicaHeader, replica_kind};
use nyala_wire::{GroupId, TargetId, codec, message_type};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;
use zerocopy::IntoBytes;

/// Longest wait for a member's answers to another one, which asks again.
const WITHIN: Duration = Duration::from_secs(3);

/// Memory for the body of a message of a short write, bytes.
const MESSAGE_BYTES: usize = 192;

/// The frame that carries messages of a member.
pub(super) fn request(group: GroupId, me: TargetId, messages: Vec<OutboundMessage>) -> Request {
    // One of several: the time of the frame is theirs together.
    let trace = messages.iter().find_map(|message| message.trace);
    let (bundled, mut payloads) = (messages.len() > 1, Vec::with_capacity(messages.len()));
    let (mut body, mut envelope) = (Vec::with_capacity(messages.len() * MESSAGE_BYTES), Vec::new());
    for message in messages {
        envelope.clear();
        codec::encode_into(&message.envelope, &mut envelope);
        let (kind, rest, data) = attached(message.payload);
        let (group, from, to) = (group.0.into(), me.0.into(), message.to.0.into());
        let header = ReplicaHeader { group, from, to, kind: kind.into(), envelope: (envelope.len() as u32).into() };
        if bundled {
            let len = size_of::<ReplicaHeader>() + envelope.len() + rest.len();
            let bundled = BundledHeader { body: (len as u32).into(), payload: (data.len() as u32).into() };
            body.extend_from_slice(bundled.as_bytes());
        }
        header.wrap_into(&envelope, &rest, &mut body);
        payloads.extend(Some(data).filter(|data| !data.is_empty()));
    }
    let kind = if bundled { message_type::STORAGE_REPLICAS } else { message_type::STORAGE_REPLICA };
    Request::new(kind, body).with_payload(payloads).followed(trace)
}

/// What goes with an envelope: of which kind, what is behind it, and the payload.
fn attached(payload: Option<Payload>) -> (u16, Bytes, Bytes) {
    match payload {
        None => (replica_kind::NOTHING, Bytes::new(), Bytes::new()),
        Some(Payload::Change(change)) => (change.kind, change.body.clone(), change.data.clone()),
        Some(Payload::Region(region)) => {
            let bad = region.header.bad.is_some();
            let kind = if bad { replica_kind::REGION_WITH_BAD_BLOCKS } else { replica_kind::REGION };
            (kind, codec::encode(&region.header).into(), region.data)
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
