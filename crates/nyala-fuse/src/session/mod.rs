// SPDX-License-Identifier: Apache-2.0

//! A mount's life: INIT, serving, the end.
//!
//! **Failure model.** The kernel can be too old, or gone before INIT (unmounted at once): a typed error, or a quiet end.
//! The mount can be unmounted or aborted while handlers work: they get a grace, then are dropped, and the handler is told
//! once. A reader's system error ends the session with that error; the kernel then fails what waits, so nothing hangs.
//! A handler's panic costs its one request (see `dispatch`). A panic of the session itself is caught at the thread's end
//! and reported as an error.

mod config;
mod negotiate;
mod worker;

pub use config::SessionConfig;
pub use negotiate::Refused;

use crate::buf::BufPool;
use crate::dispatch::Interrupts;
use crate::errno::Errno;
use crate::handler::Handler;
use crate::notifier::Notifier;
use crate::transport::dev::{DevFuse, Device};
use crate::transport::{Channel, Request};
use crate::types::Negotiated;
use negotiate::{Answer, negotiate};
use std::io::{self, IoSlice};
use std::sync::Arc;
use tokio::task::LocalSet;
use zerocopy::IntoBytes;

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
        let pool = |max_write: u32| {
            BufPool::new(max_write as usize, self.config.max_write_buffers.max(2), self.config.kept_buffers)
        };
        let channel = DevFuse::new(self.device.clone(), pool(self.config.max_write_bytes)).map_err(io("epoll"))?;
        let Some(negotiated) = self.handshake(&channel).await? else { return Ok(()) };
        self.handler.init(&negotiated).await.map_err(SessionError::Handler)?;
        if let Some(ready) = on_ready {
            ready(&negotiated);
        }
        let interrupts = Arc::new(Interrupts::default());
        let mut others = Vec::new();
        for number in 1..self.config.threads {
            let device = self.device.another().map_err(io("FUSE_DEV_IOC_CLONE"))?;
            let job = worker::Job {
                device,
                pool: pool(negotiated.max_write_bytes),
                handler: Arc::clone(&self.handler),
                negotiated,
                interrupts: Arc::clone(&interrupts),
                drain: self.config.drain,
            };
            others.push(worker::spawn(number, job).map_err(io("starting a thread"))?);
        }
        let server = worker::server(&self.handler, channel, negotiated, &interrupts);
        let mut result = LocalSet::new().run_until(worker::serve(server, self.config.drain)).await;
        for other in others {
            let ended = other.await.unwrap_or(Err(SessionError::Panicked));
            result = result.and(ended);
        }
        self.handler.destroy().await;
        result
    }

    /// Answers INIT; none when the mount was gone before.
    async fn handshake(&self, channel: &DevFuse) -> Result<Option<Negotiated>, SessionError> {
        let features = self.handler.features();
        loop {
            let Some(request) = channel.next().await.map_err(io("reading INIT from /dev/fuse"))? else {
                return Ok(None);
            };
            if request.header.opcode != crate::abi::opcode::Opcode::Init as u32 {
                return Err(SessionError::NoInit(request.header.opcode));
            }
            match negotiate(request.args(), &self.config, &features) {
                Answer::Agreed(out, negotiated) => {
                    answer(channel, &request, 0, out.as_bytes())?;
                    tracing::info!(?negotiated, "FUSE session started");
                    return Ok(Some(negotiated));
                }
                Answer::Again(out) => answer(channel, &request, 0, out.as_bytes())?,
                Answer::Refused(refused) => {
                    answer(channel, &request, -libc::EPROTO, &[])?;
                    return Err(refused.into());
                }
            }
        }
    }
}

fn answer(channel: &DevFuse, request: &Request, error: i32, body: &[u8]) -> Result<(), SessionError> {
    channel.reply(request.ticket(), error, &[IoSlice::new(body)]).map_err(io("answering INIT"))
}
