// SPDX-License-Identifier: Apache-2.0

//! Where the time of traced requests went, as the services on their way recorded it.

use crate::ids::InodeId;
use crate::map::addresses;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Asks a service for what it recorded of the requests with a trace id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TraceRequest {
    /// The id, as in the headers of the requests.
    #[n(0)]
    pub trace: u64,
}

/// What a service recorded, in the order of its replies. What was overwritten by later requests is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct TraceReply {
    /// A record for each request.
    #[n(0)]
    pub requests: Vec<TracedRequest>,
}

/// A request that a service answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct TracedRequest {
    /// Its id in its connection.
    #[n(0)]
    pub request: u64,
    /// Its message type.
    #[n(1)]
    pub message_type: u16,
    /// From when its frame was read until its reply was given to the socket, nanoseconds.
    #[n(2)]
    pub total_ns: u64,
    /// The parts of that time, in the order in which they began.
    #[n(3)]
    pub parts: Vec<TracedPart>,
    /// The node that asked, if that is a server: this request is part of one that the same trace has there. Absent from older services.
    #[n(4)]
    pub from_node: Option<u32>,
}

/// A part of the time that a request took.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct TracedPart {
    /// What was done, or waited for.
    #[n(0)]
    pub name: String,
    /// How long, nanoseconds.
    #[n(1)]
    pub ns: u64,
}

/// A request of the kernel that a mount followed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MountTrace {
    /// The id under which its own requests were followed.
    #[n(0)]
    pub trace: u64,
    /// What the kernel asked for.
    #[n(1)]
    pub operation: String,
    /// The inode: of names, their directory.
    #[n(2)]
    pub inode: InodeId,
    /// How long it waited behind others that were read from the kernel with it, nanoseconds.
    #[n(3)]
    pub queue_ns: u64,
    /// From when it was read, with its time in the queue, until its answer, nanoseconds.
    #[n(4)]
    pub total_ns: u64,
    /// The requests that it took, by their beginning.
    #[n(5)]
    pub requests: Vec<MountRequest>,
    /// When it was answered, by the clock of the mount's host, nanoseconds since 1970.
    #[n(6)]
    pub ended_unix_ns: u64,
}

/// A request of a mount to a service.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct MountRequest {
    /// Who was asked.
    #[cbor(n(0), encode_with = "addresses::encode_one", decode_with = "addresses::decode_one")]
    pub address: SocketAddr,
    /// Its id in its connection.
    #[n(1)]
    pub request: u64,
    /// Its message type.
    #[n(2)]
    pub message_type: u16,
    /// When it was given to the connection, since the kernel's request was read, nanoseconds.
    #[n(3)]
    pub at_ns: u64,
    /// Until its reply was there, nanoseconds.
    #[n(4)]
    pub ns: u64,
}
