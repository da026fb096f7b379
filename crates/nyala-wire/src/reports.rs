// SPDX-License-Identifier: Apache-2.0

//! What services report of others in the reply to STATS: clients that do not answer, and ways to other servers that fail. What of it
//! is worth a word is decided by whoever reads it; a report has the worst few, and how many there are besides.

use crate::ids::{NodeId, SessionId};
use crate::map::addresses;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Most clients in a [`RecallReport`].
pub const MAX_REPORTED_CLIENTS: usize = 8;
/// Most addresses in a [`LinkReport`].
pub const MAX_REPORTED_LINKS: usize = 16;

/// Clients that have not let go of what a metadata server asked them for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RecallReport {
    /// Those that have been asked longest, the longest first; at most [`MAX_REPORTED_CLIENTS`].
    #[n(0)]
    pub oldest: Vec<UnansweredRecall>,
    /// Number of further clients that were asked and have not answered.
    #[n(1)]
    pub more: u64,
    /// Number of recalls without an answer, of all clients.
    #[n(2)]
    pub outstanding: u64,
}

/// A client that has not let go of what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct UnansweredRecall {
    /// Its session with the metadata server.
    #[n(0)]
    pub session: SessionId,
    /// Its name for people: host and mount point.
    #[n(1)]
    pub client: String,
    /// How long ago the oldest of the recalls was made, milliseconds.
    #[n(2)]
    pub age_ms: u64,
    /// Number of files and directories that it was asked for.
    #[n(3)]
    pub inodes: u64,
}

/// How the ways from a server to the addresses of others are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LinkReport {
    /// Addresses that have answered before, and do not answer now or did not for a while of the last minute; the worst first, at most
    /// [`MAX_REPORTED_LINKS`].
    #[n(0)]
    pub worst: Vec<LinkState>,
    /// Number of further ones like that.
    #[n(1)]
    pub more: u64,
    /// Number of addresses that are watched.
    #[n(2)]
    pub watched: u64,
}

/// How the way to an address of another server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct LinkState {
    /// The other server.
    #[n(0)]
    pub node: NodeId,
    /// The address.
    #[cbor(n(1), encode_with = "addresses::encode_one", decode_with = "addresses::decode_one")]
    pub address: SocketAddr,
    /// For how long it has not answered, milliseconds; absent while it does.
    #[n(2)]
    pub silent_ms: Option<u64>,
    /// How often a connection to it was lost, within the last minute, because nothing arrived any more.
    #[n(3)]
    pub breaks: u64,
    /// How long ago the last of those was, milliseconds; absent if there was none.
    #[n(4)]
    pub last_break_ms: Option<u64>,
}
