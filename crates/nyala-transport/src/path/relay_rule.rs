// SPDX-License-Identifier: Apache-2.0

//! For whom a server passes connections on. Pure.
//!
//! **Failure model.** Who asks may want to look like this host to the server behind: where access rules look at addresses, it must not.

use crate::handshake::PeerInfo;
use nyala_wire::map::ClusterMap;
use nyala_wire::restriction::looks_at_addresses;
use std::net::SocketAddr;

/// Whether a peer's connection may be passed on to an address: only to a server of the cluster, and a client's only while no access rule looks at
/// addresses, since the server behind takes this host's for the client's.
pub fn may_relay(map: &ClusterMap, peer: &PeerInfo, address: SocketAddr) -> bool {
    map.has_server_at(address) && (peer.role.is_server() || !looks_at_addresses(map))
}
