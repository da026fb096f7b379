// SPDX-License-Identifier: Apache-2.0

//! One thread's loop: read, serve at once what can be, give the rest a task.

use super::{SessionError, io};
use crate::buf::BufPool;
use crate::dispatch::{self, Interrupts, Server};
use crate::handler::Handler;
use crate::transport::Channel;
use crate::transport::dev::{DevFuse, Device};
use crate::types::Negotiated;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, LocalSet};

/// After so many requests in a row the tasks and the event loop get their turn.
const BURST: u32 = 16;

/// What a further thread needs.
pub(super) struct Job<H> {
    pub(super) device: Device,
    pub(super) pool: BufPool,
    pub(super) handler: Arc<H>,
    pub(super) negotiated: Negotiated,
    pub(super) interrupts: Arc<Interrupts>,
    pub(super) drain: Duration,
}

/// A runtime for one FUSE thread.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, SessionError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io("starting the event loop"))
}

/// What the requests of one thread share.
pub(super) fn server<H>(
    handler: &Arc<H>,
    channel: DevFuse,
    negotiated: Negotiated,
    interrupts: &Arc<Interrupts>,
) -> Rc<Server<H, DevFuse>> {
    let (handler, interrupts) = (Arc::clone(handler), Arc::clone(interrupts));
    Rc::new(Server { handler, channel: Rc::new(channel), negotiated, interrupts })
}

/// Starts a further thread. The receiver gets its end, or an error of its own if it panicked.
pub(super) fn spawn<H: Handler>(
    number: usize,
    job: Job<H>,
) -> std::io::Result<oneshot::Receiver<Result<(), SessionError>>> {
    let (sender, receiver) = oneshot::channel();
    std::thread::Builder::new().name(format!("nyala-fuse-{number}")).spawn(move || {
        let ended = runtime().and_then(|runtime| {
            runtime.block_on(async {
                let channel = DevFuse::new(job.device, job.pool).map_err(io("epoll"))?;
                let server = server(&job.handler, channel, job.negotiated, &job.interrupts);
                LocalSet::new().run_until(serve(server, job.drain)).await
            })
        });
        // Nobody listens any more if the first thread gave up; there is nothing left to do then.
        let _ = sender.send(ended);
    })?;
    Ok(receiver)
}

/// Serves until the mount is gone. Runs inside a `LocalSet`.
pub(super) async fn serve<H: Handler, C: Channel>(
    server: Rc<Server<H, C>>,
    drain: Duration,
) -> Result<(), SessionError> {
    let mut tasks = JoinSet::new();
    let mut burst = 0;
    let ended = loop {
        match server.channel.next().await {
            Ok(Some(request)) => {
                if let Some(pending) = dispatch::serve(&server, request) {
                    tasks.spawn_local(pending);
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(io("reading requests from /dev/fuse")(error)),
        }
        burst += 1;
        if burst >= BURST {
            burst = 0;
            while tasks.try_join_next().is_some() {}
            tokio::task::yield_now().await;
        }
    };
    let left = tasks.len();
    let drained = tokio::time::timeout(drain, async { while tasks.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        tracing::warn!(requests = left, "the mount is gone; requests that did not end in time are dropped");
    }
    ended
}
