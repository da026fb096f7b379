// SPDX-License-Identifier: Apache-2.0

//! Where the time of traced requests went, as the services on their way recorded it.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

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
