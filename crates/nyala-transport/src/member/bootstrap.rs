// SPDX-License-Identifier: Apache-2.0

//! How a metadata or storage service starts: it takes its port, registers, and listens once it knows its cluster.
//!
//! **Failure model.** The port is taken by somebody else: that is found before registration, so that nobody hears of a service
//! that cannot listen. Management is away: the service waits, and holds its port meanwhile; whoever connects finds a stranger's
//! cluster and comes again. Whoever drops the future of [`Bootstrap::join`] has registered nothing, or a run that the next one
//! replaces.

use super::client::{MgmtClient, MgmtError};
use super::service::Member;
use crate::advertise::advertised_address;
use crate::error::TransportError;
use crate::handshake::{HandshakeConfig, Role};
use crate::secret::Secret;
use crate::server::{Server, ServerOptions};
use nyala_wire::map;
use nyala_wire::mgmt::{Register, RegisterTarget, TargetCapacity};
use nyala_wire::{ClusterId, NodeId};
use std::net::SocketAddr;

/// Why a service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// It cannot listen.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Management refuses it.
    #[error(transparent)]
    Mgmt(#[from] MgmtError),
    /// The system gives no random numbers.
    #[error("no random numbers from the system: {0}")]
    Random(getrandom::Error),
}

/// What a service is in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceRole {
    /// Metadata.
    Meta,
    /// Storage.
    Storage,
}

impl ServiceRole {
    fn of_peer(self) -> Role {
        match self {
            ServiceRole::Meta => Role::Meta,
            ServiceRole::Storage => Role::Storage,
        }
    }

    fn of_node(self) -> map::Role {
        match self {
            ServiceRole::Meta => map::Role::Meta,
            ServiceRole::Storage => map::Role::Storage,
        }
    }
}

/// Who registers.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The cluster that its directory belongs to; unknown for a new one.
    pub cluster: ClusterId,
    /// The service's own id, for good.
    pub uuid: ClusterId,
    /// Wished alias; empty: management chooses.
    pub alias: String,
}

/// Where a service listens, and whom it asks.
#[derive(Clone, Debug)]
pub struct Bootstrap {
    /// What it is.
    pub role: ServiceRole,
    /// Where to listen; port 0 for any.
    pub listen: SocketAddr,
    /// Addresses that others reach it at, best first; empty: the one that faces the management service.
    pub advertise: Vec<SocketAddr>,
    /// Addresses of the management service.
    pub mgmt: Vec<SocketAddr>,
    /// The cluster's secret.
    pub secret: Secret,
    /// Encrypt all traffic.
    pub encrypt: bool,
}

impl Bootstrap {
    /// Takes the port and registers; while management is away it tries again for ever. `capacities` is for the heartbeats, see
    /// [`Member::join`]. Needs a tokio runtime.
    pub async fn join(
        self,
        identity: Identity,
        targets: Vec<RegisterTarget>,
        capacities: impl Fn() -> Vec<TargetCapacity> + Send + Sync + 'static,
    ) -> Result<Joined, BootstrapError> {
        let handshake = self.handshake(identity.cluster, NodeId(0));
        let reserved = Server::bind(&[self.listen], handshake.clone(), ServerOptions::default())?;
        let listen = reserved.local_addresses().first().copied().unwrap_or(self.listen);
        let register = Register {
            cluster: identity.cluster,
            role: self.role.of_node(),
            uuid: identity.uuid,
            alias: identity.alias,
            addresses: self.advertised(listen).iter().map(ToString::to_string).collect(),
            incarnation: getrandom::u64().map_err(BootstrapError::Random)?,
            targets,
        };
        let client = MgmtClient::new(self.mgmt.clone(), handshake);
        let member = Member::join(client, register, capacities).await?;
        let handshake = self.handshake(member.cluster(), member.node());
        member.watch_links(handshake.clone());
        Ok(Joined { member, handshake, listen, reserved })
    }

    fn handshake(&self, cluster: ClusterId, node: NodeId) -> HandshakeConfig {
        let cluster_id = u128::from_le_bytes(cluster.0);
        let config = HandshakeConfig::new(self.secret.clone(), cluster_id, self.role.of_peer(), node.0);
        HandshakeConfig { encrypt: self.encrypt, ..config }
    }

    fn advertised(&self, listen: SocketAddr) -> Vec<SocketAddr> {
        match self.advertise.is_empty() {
            true => vec![advertised_address(listen, &self.mgmt)],
            false => self.advertise.clone(),
        }
    }
}

/// A service that has registered and does not listen yet.
pub struct Joined {
    /// Its membership.
    pub member: Member,
    /// How it greets others, and is greeted: with its cluster and number.
    pub handshake: HandshakeConfig,
    /// Where it will listen.
    pub listen: SocketAddr,
    reserved: Server,
}

impl Joined {
    /// Listens: only now the cluster is known, and with it whom to refuse. A server for each of `cores` threads.
    pub fn bind(self, options: ServerOptions, cores: usize) -> Result<Vec<Server>, TransportError> {
        drop(self.reserved);
        Server::bind_cores(&[self.listen], self.handshake, options, cores.max(1))
    }
}
