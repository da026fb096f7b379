// SPDX-License-Identifier: Apache-2.0

//! Start and stop of the service.

use crate::core::Core;
use crate::directory::Directory;
use crate::leadership::{self, Bootstrap};
use crate::raft::log::RaftLog;
use crate::raft::machine::Machine;
use crate::raft::network::Network;
use crate::raft::{self, Raft};
use crate::rest::{self, Token};
use crate::service::MgmtService;
use crate::{MgmtConfig, MgmtError, liveness};
use nyala_transport::facing::facing;
use nyala_transport::{HandshakeConfig, Pool, PoolOptions, Role, Secret, Server, ServerOptions};
use nyala_wire::ClusterId;
use openraft::BasicNode;
use std::collections::BTreeMap;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for HTTP connections to finish when the service stops.
const REST_GRACE: Duration = Duration::from_secs(1);

/// A management service that is open and listens, but does not answer yet.
pub struct Mgmt {
    directory: Directory,
    config: MgmtConfig,
    handshake: HandshakeConfig,
    server: Server,
    rest: TcpListener,
    token: Token,
}

/// Opens the service and runs it until `shutdown` is done. Must be awaited on a current-thread runtime (or by `block_on`
/// of any); it brings its own `LocalSet`.
pub async fn run(config: MgmtConfig, shutdown: impl Future<Output = ()>) -> Result<(), MgmtError> {
    Mgmt::open(config)?.run(shutdown).await
}

impl Mgmt {
    /// Takes the directory and the ports. Needs no runtime; blocks on the disk.
    pub fn open(config: MgmtConfig) -> Result<Mgmt, MgmtError> {
        if !config.rest_listen.ip().is_loopback() && !config.rest_insecure {
            return Err(MgmtError::RestInsecure { address: config.rest_listen });
        }
        let secret = Secret::load(&config.secret_file)?;
        let directory = Directory::open(&config.dir, config.node_id, config.cluster)?;
        let token = Token::load_or_create(&directory.path.join("rest.token"))?;
        let cluster = u128::from_le_bytes(directory.identity.cluster.0);
        let handshake =
            HandshakeConfig { encrypt: config.encrypt, ..HandshakeConfig::new(secret, cluster, Role::Mgmt, 0) };
        let server = Server::bind(&config.listen, handshake.clone(), ServerOptions::default())?;
        let listen = || -> std::io::Result<TcpListener> {
            let listener = TcpListener::bind(config.rest_listen)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let rest = listen().map_err(|cause| MgmtError::RestListen { address: config.rest_listen, cause })?;
        Ok(Mgmt { directory, config, handshake, server, rest, token })
    }

    /// The cluster.
    pub fn cluster(&self) -> ClusterId {
        self.directory.identity.cluster
    }

    /// Where it listens for services and clients; tells the ports where 0 was configured.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.server.local_addresses()
    }

    /// Where it listens for HTTP.
    pub fn rest_address(&self) -> SocketAddr {
        self.rest.local_addr().unwrap_or(self.config.rest_listen)
    }

    /// The file with the token of the REST API.
    pub fn rest_token_file(&self) -> PathBuf {
        self.directory.path.join("rest.token")
    }

    /// Serves until `shutdown` is done. See [`run`] for the runtime.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), MgmtError> {
        tokio::task::LocalSet::new().run_until(self.serve(shutdown)).await
    }

    async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<(), MgmtError> {
        let store = self.directory.store.clone();
        let addresses = self.advertised();
        let raft_address = addresses.first().map(ToString::to_string).unwrap_or_default();
        let (raft, core) = self.start_raft(raft_address).await?;
        let bootstrap = Bootstrap {
            dir: self.directory.path.clone(),
            identity: self.directory.identity.clone(),
            settings: self.config.settings.clone(),
            addresses,
            incarnation: u64::from_le_bytes(
                crate::directory::random_id()?.0.first_chunk().copied().unwrap_or_default(),
            ),
        };
        let (cluster, listens, rest_address) = (self.cluster(), self.addresses(), self.rest_address());
        tracing::info!(%cluster, ?listens, %rest_address, "management service runs");
        let stop_server = self.server.shutdown_handle();
        let rest_listener = tokio::net::TcpListener::from_std(self.rest)
            .map_err(|cause| MgmtError::RestListen { address: rest_address, cause })?;
        let (stop_rest, rest_stopped) = tokio::sync::oneshot::channel::<()>();
        let rest = rest::serve(rest_listener, core.clone(), self.token, async {
            // A dropped sender means stop as well.
            let _ = rest_stopped.await;
        });
        let mut rest = tokio::spawn(rest);
        let service = Rc::new(MgmtService { core: core.clone() });
        let outcome = tokio::select! {
            () = shutdown => Ok(()),
            error = leadership::follow(&core, &bootstrap) => Err(error),
            () = liveness::watch_over(&core) => Ok(()),
            served = self.server.serve(service) => served.map_err(MgmtError::from),
            served = &mut rest => Err(MgmtError::Raft(format!("the REST API ended: {served:?}"))),
        };
        core.leads_in.store(0, std::sync::atomic::Ordering::Release);
        stop_server.stop();
        // The receiver is gone if HTTP has ended by itself.
        let _ = stop_rest.send(());
        if !rest.is_finished() && tokio::time::timeout(REST_GRACE, &mut rest).await.is_err() {
            rest.abort();
        }
        if let Err(error) = raft.shutdown().await {
            tracing::warn!(%error, "Raft did not stop cleanly");
        }
        let closed = store.close().map_err(MgmtError::Store);
        outcome.and(closed)
    }

    fn advertised(&self) -> Vec<SocketAddr> {
        if !self.config.advertise.is_empty() {
            return self.config.advertise.clone();
        }
        self.addresses().into_iter().map(|address| facing(address, &[])).collect()
    }

    async fn start_raft(&self, address: String) -> Result<(Raft, Arc<Core>), MgmtError> {
        let log = RaftLog::new(self.directory.store.clone());
        let stored =
            |e: &dyn std::fmt::Display| MgmtError::Stored { dir: self.directory.path.clone(), reason: e.to_string() };
        let machine = Machine::load(log.clone()).map_err(|e| stored(&e))?;
        let view = machine.view();
        let config = raft::config().map_err(MgmtError::Raft)?;
        let pool = Pool::new(self.handshake.clone(), PoolOptions::default());
        let id = self.config.node_id;
        let raft = Raft::new(id, Arc::new(config), Network::new(pool), log, machine).await;
        let raft = raft.map_err(|e| stored(&e))?;
        let known = raft.is_initialized().await.map_err(|e| MgmtError::Raft(e.to_string()))?;
        if !known {
            let members = BTreeMap::from([(id, BasicNode::new(address))]);
            raft.initialize(members).await.map_err(|e| MgmtError::Raft(e.to_string()))?;
        }
        let core = Arc::new(Core::new(raft.clone(), view));
        Ok((raft, core))
    }
}
