// SPDX-License-Identifier: Apache-2.0

//! What callers send and services answer. Bodies are opaque bytes here; `nyala_wire` says what is in them.

use crate::file_part::FilePart;
use bytes::Bytes;
use nyala_wire::frame::flags;
use std::time::Duration;

/// A request. The payload is a list of pieces, sent one after the other without being copied together.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// See `nyala_wire::message_type`.
    pub message_type: u16,
    /// Bits 16–31 of the frame's flags, free for the message type; the lower bits are the transport's.
    pub flags: u32,
    /// Cluster map version that the sender holds.
    pub map_version: u64,
    /// Epoch of the mirror group that the request is meant for.
    pub group_epoch: u32,
    /// At most `MAX_BODY` bytes.
    pub body: Bytes,
    /// At most `MAX_PAYLOAD` bytes together.
    pub payload: Vec<Bytes>,
    /// Give up waiting after this time; `None` waits as long as the connection lives.
    pub timeout: Option<Duration>,
    /// The trace that it is followed under, whatever the connection's own tracer follows.
    pub trace: Option<u64>,
}

impl Request {
    /// A request without payload and timeout.
    pub fn new(message_type: u16, body: impl Into<Bytes>) -> Request {
        Request { message_type, body: body.into(), ..Request::default() }
    }

    /// The same, with the map version and group epoch that it is meant for.
    pub fn at(mut self, map_version: u64, group_epoch: u32) -> Request {
        self.map_version = map_version;
        self.group_epoch = group_epoch;
        self
    }

    /// The same, with a payload.
    pub fn with_payload(mut self, payload: Vec<Bytes>) -> Request {
        self.payload = payload;
        self
    }

    /// The same, followed under a trace's id if there is one ([`crate::trace::current`]).
    pub fn followed(mut self, trace: Option<u64>) -> Request {
        self.trace = trace;
        self
    }

    /// The same, with a timeout.
    pub fn with_timeout(mut self, timeout: Duration) -> Request {
        self.timeout = Some(timeout);
        self
    }
}

/// A reply. Type and request id are those of the request.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// `ERROR` or nothing, and bits 16–31; `REPLY` is added by the transport.
    pub flags: u32,
    /// Cluster map version that the sender holds.
    pub map_version: u64,
    /// Epoch of the mirror group that answers.
    pub group_epoch: u32,
    /// Of metadata: the server's run; else 0.
    pub run: u32,
    /// Of metadata: durable log position; else 0.
    pub log_position: u64,
    /// Of metadata: so many records after that position are not on disk, and the reply may rest on them; else 0.
    pub unsynced_records: u32,
    /// At most `MAX_BODY` bytes.
    pub body: Bytes,
    /// At most `MAX_PAYLOAD` bytes together.
    pub payload: Vec<Bytes>,
    /// The payload's end, counted with the rest of it.
    pub file: Option<FilePart>,
}

impl Reply {
    /// The request was done; `body` is its result.
    pub fn ok(body: impl Into<Bytes>) -> Reply {
        Reply { body: body.into(), ..Reply::default() }
    }

    /// The request failed; `body` is an encoded `nyala_wire::error::WireError`.
    pub fn error(body: impl Into<Bytes>) -> Reply {
        Reply { flags: flags::ERROR, body: body.into(), ..Reply::default() }
    }

    /// Whether it says that the request failed.
    pub fn is_error(&self) -> bool {
        self.flags & flags::ERROR != 0
    }

    /// The same, with a payload.
    pub fn with_payload(mut self, payload: Vec<Bytes>) -> Reply {
        self.payload = payload;
        self
    }

    /// Length of the payload, what lies in a file included.
    pub fn payload_bytes(&self) -> usize {
        self.payload.iter().map(Bytes::len).sum::<usize>() + self.file.as_ref().map_or(0, FilePart::len)
    }

    /// The same, with a payload that lies in a file.
    pub fn with_file(mut self, file: FilePart) -> Reply {
        self.file = Some(file);
        self
    }
}
