// SPDX-License-Identifier: Apache-2.0

//! Where a service can be reached.

use std::net::SocketAddr;

/// Where a peer can be reached, best address first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// All lead to the same service.
    pub addresses: Vec<SocketAddr>,
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint { addresses: vec![address] }
    }
}
