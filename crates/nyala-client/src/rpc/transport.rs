// SPDX-License-Identifier: Apache-2.0

//! The seam between the client and the network: one call, one reply. Tests put a faulty cluster behind it.
//!
//! **Failure model.** As the transport's: a call may be refused, lost before or after it was executed, or never
//! answered. Nothing is repeated here.

use crate::config::ClientConfig;
use nyala_transport::{Endpoint, Frame, HandshakeConfig, Pool, PoolOptions, Request, TransportError};
use nyala_wire::map::ClusterMap;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;

/// A call under way.
pub type RpcFuture<'a> = Pin<Box<dyn Future<Output = Result<Frame, TransportError>> + Send + 'a>>;

/// A probe of a host.
pub type ReachFuture<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// Something that carries requests to services.
pub trait Rpc: Send + Sync + 'static {
    /// Sends a request to whoever listens at the endpoint and waits for the reply, which may be an error reply.
    fn call<'a>(&'a self, endpoint: &'a Endpoint, request: Request) -> RpcFuture<'a>;

    /// Whether the host of an endpoint answers at all, whatever its service does.
    fn is_reachable<'a>(&'a self, endpoint: &'a Endpoint) -> ReachFuture<'a>;

    /// The servers of the cluster, any of which may be needed to get to another one.
    fn learn(&self, _map: &ClusterMap) {}
}

/// The real network. Every thread has connections of its own, so that no reply has to change cores; and every runtime,
/// since the tasks of a connection end with the runtime that it was made on.
pub struct Network {
    id: u64,
    config: HandshakeConfig,
    pools: Mutex<HashMap<ThreadId, Arc<Pool>>>,
}

/// The pool of one client on this thread.
struct Mine {
    client: u64,
    runtime: tokio::runtime::Id,
    pool: Weak<Pool>,
}

thread_local! {
    static POOLS: RefCell<Vec<Mine>> = const { RefCell::new(Vec::new()) };
}

impl Network {
    /// No connections yet. Management nodes are known before there is a map.
    pub fn new(client: &ClientConfig) -> Network {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut config = HandshakeConfig::new(client.secret.clone(), 0, client.role, 0);
        config.encrypt = client.encrypt;
        config.tracer = client.tracer.clone();
        config.relays.seed(&client.mgmt);
        Network { id: NEXT.fetch_add(1, Ordering::Relaxed), config, pools: Mutex::default() }
    }

    /// The pool of this thread and runtime. Called within a runtime.
    fn pool(&self) -> Arc<Pool> {
        let runtime = tokio::runtime::Handle::current().id();
        POOLS.with_borrow_mut(|all| {
            let mine = all.iter().find(|mine| mine.client == self.id && mine.runtime == runtime);
            if let Some(pool) = mine.and_then(|mine| mine.pool.upgrade()) {
                return pool;
            }
            let pool = Arc::new(Pool::new(self.config.clone(), PoolOptions::default()));
            self.pools.lock().insert(std::thread::current().id(), pool.clone());
            all.retain(|mine| mine.client != self.id && mine.pool.strong_count() > 0);
            all.push(Mine { client: self.id, runtime, pool: Arc::downgrade(&pool) });
            pool
        })
    }
}

impl Rpc for Network {
    fn learn(&self, map: &ClusterMap) {
        self.config.relays.learn(map);
    }

    fn call<'a>(&'a self, endpoint: &'a Endpoint, request: Request) -> RpcFuture<'a> {
        // Within the future: it knows the runtime that it runs on.
        Box::pin(async move { self.pool().call(endpoint, request).await })
    }

    fn is_reachable<'a>(&'a self, endpoint: &'a Endpoint) -> ReachFuture<'a> {
        Box::pin(async move { self.pool().is_reachable(endpoint).await })
    }
}
