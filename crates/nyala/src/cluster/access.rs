// SPDX-License-Identifier: Apache-2.0

//! A cluster that commands ask.
//!
//! **Failure model.** Management may be electing a leader: asked again for a few seconds. It may be gone, foreign or of
//! another version: said at once, with an exit code of its own.

use crate::exit::Failure;
use nyala_client::{Client, ClientConfig};
use nyala_transport::member::{MgmtClient, MgmtError};
use nyala_transport::{HandshakeConfig, Role, Secret};
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::{GroupOrder, MgmtNode, MgmtReply, MgmtRequest, SlotOrder, TargetCapacity};
use nyala_wire::pool_orders::PoolOrder;
use nyala_wire::{MapVersion, NodeId};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for one answer.
const CALL: Duration = Duration::from_secs(3);
/// How long "not ready" is taken for an answer.
const ELECTION: Duration = Duration::from_secs(8);

/// Where a cluster is and what proves that we belong to it.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Management services.
    pub mgmt: Vec<SocketAddr>,
    /// The cluster's secret.
    pub secret: Secret,
    /// Whether its traffic is encrypted.
    pub encrypt: bool,
}

impl Cluster {
    /// A cluster with its secret read from a file.
    pub fn new(mgmt: Vec<SocketAddr>, secret_file: &Path, encrypt: bool) -> Result<Cluster, Failure> {
        Ok(Cluster { mgmt, secret: Secret::load(secret_file)?, encrypt })
    }

    /// Who we are when we ask: an operator's command, or, on a host that has no key for that, a client, which may ask most things and
    /// change nothing of the cluster.
    pub(super) fn role(&self) -> Role {
        if !self.secret.covers(Role::Cli) && self.secret.covers(Role::Client) { Role::Client } else { Role::Cli }
    }

    /// How we greet services.
    pub fn handshake(&self) -> HandshakeConfig {
        HandshakeConfig { encrypt: self.encrypt, ..HandshakeConfig::new(self.secret.clone(), 0, self.role(), 0) }
    }

    /// Asks the leading management node; waits a moment for one.
    pub async fn ask(&self, request: MgmtRequest) -> Result<MgmtReply, Failure> {
        let client = MgmtClient::new(self.mgmt.clone(), self.handshake());
        let deadline = Instant::now() + ELECTION;
        loop {
            match client.call_within(&request, CALL).await {
                Err(MgmtError::Refused(error)) if error.code.is_transient() && Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                result => return Ok(result?),
            }
        }
    }

    /// The cluster map now.
    pub async fn map(&self) -> Result<ClusterMap, Failure> {
        match self.ask(MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 }).await? {
            MgmtReply::Map(map) => Ok(*map),
            _ => Err(MgmtError::UnexpectedReply.into()),
        }
    }

    /// Last reported capacities of all targets.
    pub async fn capacities(&self) -> Result<Vec<TargetCapacity>, Failure> {
        match self.ask(MgmtRequest::Capacities).await? {
            MgmtReply::Capacities(capacities) => Ok(capacities),
            _ => Err(MgmtError::UnexpectedReply.into()),
        }
    }

    /// The management nodes, as their leader sees them.
    pub async fn mgmt_nodes(&self) -> Result<Vec<MgmtNode>, Failure> {
        match self.ask(MgmtRequest::MgmtNodes).await? {
            MgmtReply::MgmtNodes(nodes) => Ok(nodes),
            _ => Err(MgmtError::UnexpectedReply.into()),
        }
    }

    /// Has management do something of which it only says that it is done.
    pub async fn order(&self, request: MgmtRequest) -> Result<(), Failure> {
        match self.ask(request).await? {
            MgmtReply::Done => Ok(()),
            _ => Err(MgmtError::UnexpectedReply.into()),
        }
    }

    /// Orders something about mirror groups.
    pub async fn order_groups(&self, order: GroupOrder) -> Result<(), Failure> {
        self.order(MgmtRequest::Groups(order)).await
    }

    /// Orders something about aliases and storage pools.
    pub async fn order_pools(&self, order: PoolOrder) -> Result<(), Failure> {
        self.order_groups(GroupOrder::Pools(order)).await
    }

    /// Orders something about the slots of metadata servers.
    pub async fn order_slots(&self, order: SlotOrder) -> Result<(), Failure> {
        self.order(MgmtRequest::Slots(order)).await
    }

    /// Removes a management node.
    pub async fn remove_mgmt(&self, node: NodeId) -> Result<(), Failure> {
        self.order(MgmtRequest::RemoveMgmt { node }).await
    }

    /// A client for questions about files. It gives up soon: somebody waits for it. It asks a few things and goes: nobody
    /// should have to wait for it to let go of anything.
    pub async fn client(&self) -> Result<Client, Failure> {
        self.connected(false).await
    }

    /// A client that takes delegations, for what has to keep others out.
    pub async fn leasing_client(&self) -> Result<Client, Failure> {
        self.connected(true).await
    }

    async fn connected(&self, delegations: bool) -> Result<Client, Failure> {
        let mut config = self.client_config().await?;
        config.delegations = delegations;
        Ok(Client::connect(config).await?)
    }

    /// Of a client that takes no delegations.
    pub async fn client_config(&self) -> Result<ClientConfig, Failure> {
        // Asked first, since the client would take a dead cluster for one that restarts.
        self.map().await?;
        let mut config = ClientConfig::new(self.mgmt.clone(), self.secret.clone(), "nyala command");
        config.role = self.role();
        config.delegations = false;
        config.encrypt = self.encrypt;
        config.retry_timeout = Duration::from_secs(15);
        Ok(config)
    }
}
