// SPDX-License-Identifier: Apache-2.0

//! The seam between the client and the network: one call, one reply. Tests put a faulty cluster behind it.
//!
//! **Failure model.** As the transport's: a call may be refused, lost before or after it was executed, or never
//! answered. Nothing is repeated here.

use nyala_transport::{Endpoint, Frame, HandshakeConfig, Pool, PoolOptions, Request, Role, Secret, TransportError};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// A call under way.
pub type RpcFuture<'a> = Pin<Box<dyn Future<Output = Result<Frame, TransportError>> + Send + 'a>>;

/// Something that carries requests to services.
pub trait Rpc: Send + Sync + 'static {
    /// Sends a request to whoever listens at the endpoint and waits for the reply, which may be an error reply.
    fn call<'a>(&'a self, endpoint: &'a Endpoint, request: Request) -> RpcFuture<'a>;
}

/// The real network. Every thread has connections of its own, so that no reply has to change cores and no connection
/// depends on another thread's runtime.
pub struct Network {
    id: u64,
    config: HandshakeConfig,
    pools: Mutex<Vec<Arc<Pool>>>,
}

thread_local! {
    static POOLS: RefCell<Vec<(u64, Weak<Pool>)>> = const { RefCell::new(Vec::new()) };
}

impl Network {
    /// No connections yet.
    pub fn new(secret: Secret, encrypt: bool) -> Network {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut config = HandshakeConfig::new(secret, 0, Role::Client, 0);
        config.encrypt = encrypt;
        Network { id: NEXT.fetch_add(1, Ordering::Relaxed), config, pools: Mutex::default() }
    }

    fn pool(&self) -> Arc<Pool> {
        POOLS.with_borrow_mut(|mine| {
            if let Some(pool) = mine.iter().find(|(id, _)| *id == self.id).and_then(|(_, pool)| pool.upgrade()) {
                return pool;
            }
            mine.retain(|(_, pool)| pool.strong_count() > 0);
            let pool = Arc::new(Pool::new(self.config.clone(), PoolOptions::default()));
            mine.push((self.id, Arc::downgrade(&pool)));
            self.pools.lock().push(pool.clone());
            pool
        })
    }
}

impl Rpc for Network {
    fn call<'a>(&'a self, endpoint: &'a Endpoint, request: Request) -> RpcFuture<'a> {
        let pool = self.pool();
        Box::pin(async move { pool.call(endpoint, request).await })
    }
}
