// SPDX-License-Identifier: Apache-2.0

//! Listening, and what a service has to be.
//!
//! **Failure model.** Anybody may connect, and many at once: those who have not proven the secret are limited in number
//! and time, and give way to others when all places are taken ([`crate::admission`]). The process may run out of
//! descriptors: the next stranger goes, and accepting pauses instead of spinning. What a peer does after the handshake
//! ends at worst its own connection, with a logged reason; the lines about strangers are limited too.

use crate::admission::{Admission, Permit};
use crate::budget::MemoryBudget;
use crate::buffers::Buffers;
use crate::error::TransportError;
use crate::handshake::{HandshakeConfig, PeerInfo};
use crate::host_report::HostReports;
use crate::links::measure;
use crate::request::Reply;
use crate::secret::Secret;
use crate::trace::{SlowOperations, Traces};
use crate::{handshake, server_connection, socket};
use nyala_wire::frame::Frame;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Between two looks at the secret file, besides those at every new connection.
const LOOK_AT_SECRET: Duration = Duration::from_secs(1);

/// Answers requests. Runs on one core: nothing here needs to be `Send`.
pub trait Service: 'static {
    /// Answers one request. Requests of a connection run concurrently and are answered in the order in which they
    /// finish. The future runs to its end even if the peer is gone meanwhile (then nobody gets the reply), and also if
    /// the server is told to stop, as long as its `LocalSet` is driven.
    fn call(&self, peer: &PeerInfo, request: Frame) -> impl Future<Output = Reply>;

    /// A peer has proven the secret; requests follow.
    fn connected(&self, _peer: &PeerInfo) {}

    /// The peer's kernel has closed the connection, in order and between two frames: its process did so, or has ended.
    /// Comes before [`Service::disconnected`], and not where a connection breaks in any other way, nor for one that comes through a
    /// relay: that may have ended instead.
    fn hung_up(&self, _peer: &PeerInfo) {}

    /// Whether connections are passed on to this address, on behalf of peers that cannot reach it themselves: only to servers of
    /// the cluster, and for clients only where nothing depends on their address, which the server behind would not see.
    fn relays_to(&self, _peer: &PeerInfo, _address: SocketAddr) -> bool {
        false
    }

    /// Whether a server of the cluster is at this address: an operator may have the way there tested.
    fn has_server_at(&self, _address: SocketAddr) -> bool {
        false
    }

    /// The connection is gone. Requests of it may still be running.
    fn disconnected(&self, _peer: &PeerInfo) {}

    /// What has to be safe before a reply that is ready now may leave: a number that never goes back.
    fn rests_on(&self) -> u64 {
        0
    }

    /// What that is called where the time is told that replies wait for it.
    fn rests_in(&self) -> &'static str {
        "log"
    }

    /// Up to which number of [`Service::rests_on`] everything is safe.
    fn safe_up_to(&self) -> u64 {
        u64::MAX
    }

    /// Returns when `number` is safe. Asked for once for all replies of a connection that wait; `false`: it never will
    /// be, and the connection ends.
    fn settle(&self, _number: u64) -> impl Future<Output = bool> {
        std::future::ready(true)
    }
}

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Requests of one connection under way at once; further ones wait in the socket.
    pub max_in_flight: usize,
    /// Connections that have not proven the secret yet, of all cores.
    pub max_unauthenticated: usize,
    /// Bytes of requests of clients, operators and monitoring.
    pub client_budget: MemoryBudget,
    /// Bytes of requests of other servers; apart, so that replication never waits for clients.
    pub server_budget: MemoryBudget,
    /// Payload buffers kept for later, bytes per core.
    pub kept_buffer_bytes: usize,
    /// Connections that are passed on to other servers, of all cores. Each has two descriptors and 128 KiB of buffers.
    pub max_relayed: usize,
    /// Finds requests that take too long; by default none is.
    pub slow: SlowOperations,
    /// Hands out reports of this host; by default those that the program offers.
    pub host_reports: Option<Arc<HostReports>>,
}

impl Default for ServerOptions {
    /// 256 requests, 256 strangers, 256 MiB for clients, 256 MiB for servers, 64 MiB of buffers per core, 256 relayed connections.
    fn default() -> ServerOptions {
        ServerOptions {
            max_in_flight: 256,
            max_unauthenticated: 256,
            client_budget: MemoryBudget::new(256 << 20),
            server_budget: MemoryBudget::new(256 << 20),
            kept_buffer_bytes: 64 << 20,
            max_relayed: 256,
            slow: SlowOperations::default(),
            host_reports: HostReports::offered(),
        }
    }
}

/// Listening sockets, and the share of the connections that one core serves.
pub struct Server {
    listeners: Vec<std::net::TcpListener>,
    config: HandshakeConfig,
    options: ServerOptions,
    /// Connections per core, of all cores.
    loads: Arc<[AtomicUsize]>,
    admission: Admission,
    relay_slots: Arc<Semaphore>,
    link_tests: Arc<Semaphore>,
    traces: Arc<Traces>,
    core: usize,
    stop: watch::Sender<bool>,
}

/// Ends [`Server::serve`] on all cores of a server, from any thread.
#[derive(Debug, Clone)]
pub struct ShutdownHandle {
    stop: watch::Sender<bool>,
}

impl ShutdownHandle {
    /// Stops accepting and closes all connections.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

impl Server {
    /// Listens on all addresses, for one core. Needs no runtime yet.
    pub fn bind(
        addresses: &[SocketAddr],
        config: HandshakeConfig,
        options: ServerOptions,
    ) -> Result<Server, TransportError> {
        let mut servers = Server::bind_cores(addresses, config, options, 1)?;
        servers.pop().ok_or(TransportError::NoAddress)
    }

    /// Listens on all addresses, for `cores` threads that each serve one of the results. New connections go to the
    /// core that has the fewest.
    pub fn bind_cores(
        addresses: &[SocketAddr],
        config: HandshakeConfig,
        options: ServerOptions,
        cores: usize,
    ) -> Result<Vec<Server>, TransportError> {
        if addresses.is_empty() {
            return Err(TransportError::NoAddress);
        }
        let listeners = addresses.iter().map(|a| socket::listen(*a)).collect::<Result<Vec<_>, _>>()?;
        let loads: Arc<[AtomicUsize]> = (0..cores.max(1)).map(|_| AtomicUsize::new(0)).collect();
        let stop = watch::Sender::new(false);
        let admission = Admission::new(options.max_unauthenticated);
        let relay_slots = Arc::new(Semaphore::new(options.max_relayed.min(Semaphore::MAX_PERMITS)));
        let share = |listener: &std::net::TcpListener, address: &SocketAddr| {
            listener.try_clone().map_err(|e| TransportError::Bind { address: *address, reason: e.to_string() })
        };
        let link_tests = Arc::new(Semaphore::new(measure::MOST_AT_ONCE));
        let traces = Arc::new(Traces::default());
        let server = |core| {
            let listeners = listeners.iter().zip(addresses).map(|(l, a)| share(l, a)).collect::<Result<_, _>>()?;
            let (config, options, admission) = (config.clone(), options.clone(), admission.clone());
            let (loads, relay_slots, stop) = (loads.clone(), relay_slots.clone(), stop.clone());
            let (link_tests, traces) = (link_tests.clone(), traces.clone());
            Ok(Server { listeners, config, options, loads, admission, relay_slots, link_tests, traces, core, stop })
        };
        (0..loads.len()).map(server).collect()
    }

    /// Where it listens; tells the port where 0 was asked for.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// The same, for a service that has learned its cluster only after it began to listen.
    pub fn in_cluster(mut self, cluster_id: u128) -> Server {
        self.config.cluster_id = cluster_id;
        self
    }

    /// Ends [`Self::serve`].
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        ShutdownHandle { stop: self.stop.clone() }
    }

    /// Serves until told to stop. Must run in a `LocalSet` on a current-thread runtime.
    pub async fn serve<S: Service>(self, service: Rc<S>) -> Result<(), TransportError> {
        let (mut stop, secret) = (self.stop.subscribe(), self.config.secret.clone());
        let core = Rc::new(Core {
            service,
            buffers: Buffers::new(self.options.kept_buffer_bytes),
            admission: self.admission,
            relay_slots: self.relay_slots,
            link_tests: self.link_tests,
            traces: self.traces,
            config: self.config,
            options: self.options,
            loads: self.loads,
            index: self.core,
        });
        let mut accepting = JoinSet::new();
        for listener in self.listeners {
            let address = listener.local_addr().unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0)));
            let listener =
                TcpListener::from_std(listener).map_err(|e| TransportError::Bind { address, reason: e.to_string() })?;
            accepting.spawn_local(accept_forever(core.clone(), listener));
        }
        tokio::select! {
            // An error means that every sender is gone, which cannot be while `self.stop` lives.
            _ = stop.wait_for(|stopped| *stopped) => {}
            never = follow(&secret) => match never {},
        }
        // Dropping the set ends the accepting tasks and with them their connections.
        drop(accepting);
        Ok(())
    }
}

/// Reads the secret file again when it has changed, so that connections with keys that were retired end.
async fn follow(secret: &Secret) -> Infallible {
    loop {
        tokio::time::sleep(LOOK_AT_SECRET).await;
        secret.refresh();
    }
}

/// What the tasks of one core share.
pub(crate) struct Core<S> {
    pub service: Rc<S>,
    pub config: HandshakeConfig,
    pub options: ServerOptions,
    pub buffers: Buffers,
    pub relay_slots: Arc<Semaphore>,
    pub link_tests: Arc<Semaphore>,
    pub traces: Arc<Traces>,
    admission: Admission,
    loads: Arc<[AtomicUsize]>,
    index: usize,
}

impl<S> Core<S> {
    fn has_fewest(&self) -> bool {
        let mine = self.loads[self.index].load(Ordering::Relaxed);
        self.loads.iter().all(|load| mine <= load.load(Ordering::Relaxed))
    }
}

/// Counts a connection while it lives.
struct Counted {
    loads: Arc<[AtomicUsize]>,
    index: usize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.loads[self.index].fetch_sub(1, Ordering::Relaxed);
    }
}

async fn accept_forever<S: Service>(core: Rc<Core<S>>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        core.admission.wait_room().await;
        if !core.has_fewest() {
            // Another core should take the next one; it has this long, then we do.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tokio::time::sleep(core.admission.accept_failed(&error)).await;
                continue;
            }
        };
        let permit = core.admission.admit(address.ip());
        core.loads[core.index].fetch_add(1, Ordering::Relaxed);
        let counted = Counted { loads: core.loads.clone(), index: core.index };
        let core = core.clone();
        connections.spawn_local(async move {
            let _counted = counted;
            greet_and_serve(core, stream, address, permit).await;
        });
    }
}

async fn greet_and_serve<S: Service>(core: Rc<Core<S>>, stream: TcpStream, address: SocketAddr, mut permit: Permit) {
    if let Err(error) = socket::prepare_accepted(&stream, core.config.dead_after) {
        tracing::debug!(%address, %error, "connection was gone before it began");
        return;
    }
    let greeted = tokio::select! {
        biased;
        greeted = handshake::accept(stream, address, &core.config) => greeted,
        () = permit.shed() => {
            tracing::debug!(%address, "a stranger gave way to others");
            return;
        }
    };
    match greeted {
        Ok(established) => {
            permit.proven();
            server_connection::serve_connection(&core, established).await;
        }
        Err(error) => {
            drop(permit);
            if let Some(more) = core.admission.may_log() {
                tracing::warn!(%address, %error, more, "connection refused");
            }
        }
    }
}
