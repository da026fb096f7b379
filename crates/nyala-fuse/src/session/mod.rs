// SPDX-License-Identifier: Apache-2.0

//! A mount's life: INIT, serving, the end.
//!
//! **Failure model.** The kernel can be too old, or gone before INIT (unmounted at once): a typed error, or a quiet end.
//! The mount can be unmounted or aborted while handlers work: they get a grace, then are dropped, and the handler is told
//! once. A reader's system error ends the session with that error; the kernel then fails what waits, so nothing hangs.
//! A handler's panic costs its one request (see `dispatch`). A panic of the session itself is caught at the thread's end
//! and reported as an error.

mod config;
mod handshake;
pub(crate) mod negotiate;
mod rings;
mod turn;
mod worker;

pub use config::SessionConfig;
pub use negotiate::Refused;

use crate::buf::BufPool;
use crate::dispatch::Interrupts;
use crate::errno::Errno;
use crate::handler::Handler;
use crate::notifier::Notifier;
use crate::transport::Transport;
use crate::transport::dev::{DevFuse, Device};
use crate::types::Negotiated;
use rings::{Rings, Serving};
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

/// Why a session did not start or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The device or the thread's event loop failed.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// No common version.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The first request was something else.
    #[error("the kernel began with operation {0} instead of INIT: the device is already in use by another session")]
    NoInit(u32),
    /// io_uring was demanded.
    #[error("{0}")]
    NoUring(&'static str),
    /// The handler's `init` said no.
    #[error("the file system refused to start: {0}")]
    Handler(Errno),
    /// A thread died.
    #[error("a FUSE thread panicked; the mount was given up")]
    Panicked,
}

/// Names what failed.
fn io(what: &'static str) -> impl Fn(io::Error) -> SessionError {
    move |source| SessionError::Io { what, source }
}

/// Called when the kernel has agreed and the first request may come.
type OnReady = Box<dyn FnOnce(&Negotiated) + Send>;

/// A mount's device with the handler that is to serve it.
pub struct Session<H> {
    device: Device,
    handler: Arc<H>,
    config: SessionConfig,
    on_ready: Option<OnReady>,
}

impl<H: Handler> Session<H> {
    /// Prepares a session on the device of a mount (`Mount::device`).
    pub fn new(device: Device, handler: Arc<H>, config: SessionConfig) -> Session<H> {
        Session { device, handler, config, on_ready: None }
    }

    /// Calls `ready` once INIT is done, on the session's thread: for telling a parent process, or setting read-ahead.
    pub fn on_ready(mut self, ready: impl FnOnce(&Negotiated) + Send + 'static) -> Session<H> {
        self.on_ready = Some(Box::new(ready));
        self
    }

    /// A handle to withdraw what the kernel caches, usable from any thread and before the session runs.
    pub fn notifier(&self) -> Notifier {
        Notifier::new(self.device.clone())
    }

    /// Serves until the mount is gone, on this thread (and more, if the configuration says so), each with a
    /// current-thread runtime of its own.
    pub fn run(self) -> Result<(), SessionError> {
        worker::runtime()?.block_on(self.serve())
    }

    /// Serves until the mount is gone, inside the caller's tokio runtime, so that a client's connections and the
    /// mount share one thread. The future is not `Send`: give it to `block_on` or to a `LocalSet`.
    pub async fn serve(mut self) -> Result<(), SessionError> {
        let on_ready = self.on_ready.take();
        let channel = self.device.clone();
        let channel = DevFuse::new(channel, self.pool(self.config.max_write_bytes)).map_err(io("epoll"))?;
        let Some((mut negotiated, rings)) = self.handshake(&channel).await? else { return Ok(()) };
        self.handler.init(&negotiated).await.map_err(SessionError::Handler)?;
        let (ends, ended) = mpsc::unbounded_channel();
        let (handler, interrupts) = (Arc::clone(&self.handler), Arc::new(Interrupts::default()));
        let context = worker::WorkerContext { handler, negotiated, interrupts, drain: self.config.drain, ends };
        let serving = self.register(rings, &context, &mut negotiated).await?;
        if let Some(ready) = on_ready {
            ready(&negotiated);
        }
        let rings = serving.is_some();
        let (mut ring, mut _stop) = (None, None);
        match serving {
            Some(Serving::Here(channel)) => ring = Some(context.server(*channel)),
            Some(Serving::Threads(stop)) => _stop = Some(stop),
            None => {
                for number in 1..self.config.threads {
                    let device = self.device.another().map_err(io("FUSE_DEV_IOC_CLONE"))?;
                    let pool = self.pool(negotiated.max_write_bytes);
                    worker::spawn(number, context.clone(), device, pool).map_err(io("starting a thread"))?;
                }
            }
        }
        let (server, drain) = (context.server(channel), self.config.drain);
        drop(context);
        let here = async {
            let ring = async {
                match ring {
                    Some(ring) => worker::serve(ring, drain).await,
                    None => Ok(()),
                }
            };
            tokio::try_join!(worker::serve(server, drain), ring).map(drop)
        };
        let result = LocalSet::new().run_until(worker::all(here, ended, rings)).await;
        self.handler.destroy().await;
        result
    }

    fn pool(&self, max_write_bytes: u32) -> BufPool {
        let SessionConfig { max_write_buffers, kept_buffers, .. } = self.config;
        BufPool::new(max_write_bytes as usize, max_write_buffers.max(2), kept_buffers)
    }

    /// Gives the rings to the kernel, or does without.
    async fn register(
        &self,
        rings: Option<Rings<H>>,
        context: &worker::WorkerContext<H>,
        negotiated: &mut Negotiated,
    ) -> Result<Option<Serving>, SessionError> {
        let serving = match rings {
            None => None,
            Some(rings) => match rings.register(context).await {
                Ok(serving) => Some(serving),
                Err(source) if self.config.transport == Transport::Uring => {
                    return Err(io("registering with FUSE over io_uring")(source));
                }
                Err(error) => {
                    tracing::warn!(%error, "the kernel takes no io_uring for this mount; it is served over /dev/fuse");
                    negotiated.flags &= !crate::abi::init::OVER_IO_URING;
                    None
                }
            },
        };
        tracing::info!(?negotiated, over_io_uring = serving.is_some(), "FUSE session started");
        Ok(serving)
    }
}
