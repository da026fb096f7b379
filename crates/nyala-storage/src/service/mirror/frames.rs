// SPDX-License-Identifier: Apache-2.0

//! Frames between members: one message, or several that leave together, and the answers to them.

use super::action::Outgoing;
use super::parse::Payload;
use bytes::Bytes;
use nyala_replica::Envelope;
use nyala_transport::{Frame, Request};
use nyala_wire::mirror::{ReplicaHeader, bundle, replica_kind};
use nyala_wire::{GroupId, TargetId, codec, message_type};

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
