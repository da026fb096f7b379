// SPDX-License-Identifier: Apache-2.0

//! What is asked of a server that passes a connection on to another one.

use crate::map::addresses;
use minicbor::{Decode, Encode};
use std::net::SocketAddr;

/// Most addresses in one request.
pub const MAX_RELAY_ADDRESSES: usize = 8;
/// Longest payload of a path test, bytes.
pub const MAX_PATH_TEST: usize = 16 << 10;

/// Connect me to the server at the first of these addresses that takes the connection.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RelayRequest {
    /// Of one server of the cluster, at most [`MAX_RELAY_ADDRESSES`].
    #[cbor(n(0), with = "addresses")]
    pub addresses: Vec<SocketAddr>,
}
