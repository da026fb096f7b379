// SPDX-License-Identifier: Apache-2.0

//! Management nodes, as their leader sees them.

use crate::ids::NodeId;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// What a management node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum MgmtRole {
    /// It decides.
    #[n(0)]
    Leader,
    /// It has a vote and can become the leader.
    #[n(1)]
    Follower,
    /// It gets everything that is decided and has no vote yet, or no longer.
    #[n(2)]
    Learner,
}

/// A management node as the leader sees it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct MgmtNode {
    /// Its id.
    #[n(0)]
    pub node: NodeId,
    /// Its alias.
    #[n(1)]
    pub alias: String,
    /// Where it listens, in order of preference.
    #[cbor(n(2), with = "crate::map::addresses")]
    pub addresses: Vec<std::net::SocketAddr>,
    /// What it is.
    #[n(3)]
    pub role: MgmtRole,
    /// Last entry of the log that it is known to have on disk; `None` for none.
    #[n(4)]
    pub log: Option<u64>,
    /// Whether it answered the leader within the last second.
    #[n(5)]
    pub reachable: bool,
}
