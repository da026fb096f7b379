// SPDX-License-Identifier: Apache-2.0

//! What can go wrong between two services, one variant per thing that a caller may want to act on.

use crate::hello::Role;
use crate::secret::SecretError;
use nyala_wire::frame::{FrameError, PROTOCOL_VERSION};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// A transport failure. Cheap to clone: every call that waits on a broken connection gets a copy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The host is alive and nobody listens there, or a packet filter says so in its name: a reason to have management look.
    #[error("{address} refuses the connection: no service is running there")]
    ConnectRefused {
        /// Who refused.
        address: SocketAddr,
    },
    /// No answer to a connection attempt: host or network is down, or a firewall swallows the packets.
    #[error("{address} does not answer within {after:?}; check that the host is up and no firewall is in between")]
    ConnectTimeout {
        /// Who did not answer.
        address: SocketAddr,
        /// How long we waited.
        after: Duration,
    },
    /// Any other reason why no connection came about (no route, no descriptors left, …).
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// To whom.
        address: SocketAddr,
        /// The system's words.
        reason: String,
    },
    /// The endpoint lists no address.
    #[error("the peer has no address in the cluster map")]
    NoAddress,
    /// The connection is gone; what was under way may or may not have been executed.
    #[error("connection to {address} lost: {reason}")]
    Disconnected {
        /// The peer.
        address: SocketAddr,
        /// Why.
        reason: String,
    },
    /// The peer holds another secret file.
    #[error("{address} has another cluster secret; copy the same secret file to both hosts")]
    WrongSecret {
        /// The peer.
        address: SocketAddr,
    },
    /// The key that both sides hold is not for what the connecting one says to be.
    #[error(
        "key {key}, which this host and {address} share, is not for a {role}; `nyala secret list` shows what the keys of a \
         host are for"
    )]
    RoleNotProven {
        /// The peer.
        address: SocketAddr,
        /// What the connecting side says to be.
        role: Role,
        /// The key's id, as the side that says this knows it.
        key: Arc<str>,
    },
    /// The peer belongs to another cluster.
    #[error("{address} belongs to cluster {theirs:032x}, not to {ours:032x}; check the addresses in the configuration")]
    WrongCluster {
        /// The peer.
        address: SocketAddr,
        /// Our cluster id.
        ours: u128,
        /// The peer's cluster id.
        theirs: u128,
    },
    /// The peer speaks another version of the protocol.
    #[error("{address} speaks protocol version {theirs}, this build {PROTOCOL_VERSION}; upgrade the older side")]
    VersionMismatch {
        /// The peer.
        address: SocketAddr,
        /// The peer's version.
        theirs: u16,
    },
    /// One side encrypts, the other does not.
    #[error("{address} has encryption {}, this node {}; it is one setting for the whole cluster",
        on_off(!*.ours), on_off(*.ours))]
    EncryptionMismatch {
        /// The peer.
        address: SocketAddr,
        /// Do we encrypt?
        ours: bool,
    },
    /// The peer connected, but did not finish the handshake in time.
    #[error("{address} did not finish the handshake within {after:?}")]
    HandshakeTimeout {
        /// The peer.
        address: SocketAddr,
        /// How long we waited.
        after: Duration,
    },
    /// The peer does not talk as a Nyala service does.
    #[error("handshake with {address} failed: {reason}")]
    Handshake {
        /// The peer.
        address: SocketAddr,
        /// What it did.
        reason: String,
    },
    /// No reply within the request's own timeout; it may or may not have been executed.
    #[error("no reply from {address} within {after:?}")]
    CallTimeout {
        /// The peer.
        address: SocketAddr,
        /// How long we waited.
        after: Duration,
    },
    /// A frame that cannot be sent or was refused when received.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Somebody else listens on the address that we are told to use.
    #[error(
        "{address} is already in use; stop the other process (`ss -ltnp 'sport = :{}'` names it) or configure another port",
        .address.port()
    )]
    PortInUse {
        /// Where we wanted to listen.
        address: SocketAddr,
    },
    /// Cannot listen for another reason.
    #[error("cannot listen on {address}: {reason}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// The system's words.
        reason: String,
    },
    /// The secret file cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl TransportError {
    /// Can a repetition help without anybody changing anything? False for wrong secrets, clusters, versions and lengths.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::ConnectRefused { .. }
                | Self::ConnectTimeout { .. }
                | Self::Connect { .. }
                | Self::Disconnected { .. }
                | Self::HandshakeTimeout { .. }
                | Self::CallTimeout { .. }
        )
    }

    /// Could the request have reached the peer? If not, repeating it elsewhere is safe without any further care.
    pub fn may_have_been_executed(&self) -> bool {
        matches!(self, Self::Disconnected { .. } | Self::CallTimeout { .. })
    }
}
