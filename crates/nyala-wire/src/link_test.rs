// SPDX-License-Identifier: Apache-2.0

//! What an operator's command asks a server about its way to another server: reach, size of packets, speed.

use crate::map::addresses;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Most bytes that a server sends for one test.
pub const MAX_LINK_TEST_BYTES: u64 = 64 << 20;
/// Longest time for which it sends, milliseconds.
pub const MAX_LINK_TEST_MS: u32 = 5000;

/// Test your way to the server at this address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LinkTestRequest {
    /// Of a server of the cluster.
    #[cbor(n(0), encode_with = "addresses::encode_one", decode_with = "addresses::decode_one")]
    pub to: SocketAddr,
    /// Most bytes to send to measure the speed, at most [`MAX_LINK_TEST_BYTES`]; 0: it is not measured.
    #[n(1)]
    pub bytes: u64,
    /// Longest time for that, milliseconds, at most [`MAX_LINK_TEST_MS`].
    #[n(2)]
    pub within_ms: u32,
}

/// What the test found, of a server that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LinkTestReply {
    /// The address from which the connection went out.
    #[cbor(n(0), encode_with = "addresses::encode_one", decode_with = "addresses::decode_one")]
    pub local: SocketAddr,
    /// The shortest of several round trips, microseconds.
    #[n(1)]
    pub round_trip_us: u64,
    /// Largest packet that this side may send on the way, as its kernel knows, bytes.
    #[n(2)]
    pub mtu: u32,
    /// Most bytes of data in one packet, as both sides agreed.
    #[n(3)]
    pub segment: u32,
    /// Packets of full size arrived in both directions.
    #[n(4)]
    pub large: bool,
    /// So many bytes were sent and acknowledged by the server.
    #[n(5)]
    pub sent_bytes: u64,
    /// In this time, microseconds.
    #[n(6)]
    pub sent_us: u64,
}
