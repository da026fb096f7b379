// SPDX-License-Identifier: Apache-2.0

//! One thread's loop: read, serve at once what can be, give the rest a task.

use super::turn::next;
use super::{SessionError, io};
use crate::buf::BufPool;
use crate::dispatch::{self, Interrupts, Server};
use crate::handler::Handler;
use crate::transport::Channel;
use crate::transport::dev::{DevFuse, Device};
use crate::types::Negotiated;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::{JoinSet, LocalSet};

/// After so many requests in a row the tasks and the event loop get their turn.
const BURST: u32 = 16;

/// How a thread ended.
pub(super) type End = Result<(), SessionError>;

/// What a thread needs to serve, whatever it serves.
pub(super) struct WorkerContext<H> {
    pub(super) handler: Arc<H>,
    pub(super) negotiated: Negotiated,
    pub(super) interrupts: Arc<Interrupts>,
    pub(super) drain: Duration,
    /// Where a thread tells its end.
    pub(super) ends: UnboundedSender<End>,
}

impl<H> Clone for WorkerContext<H> {
    fn clone(&self) -> WorkerContext<H> {
        WorkerContext {
            handler: Arc::clone(&self.handler),
            negotiated: self.negotiated,
            interrupts: Arc::clone(&self.interrupts),
            drain: self.drain,
            ends: self.ends.clone(),
        }
    }
}

impl<H: Handler> WorkerContext<H> {
    /// What the requests of one thread share.
    pub(super) fn server<C: Channel>(&self, channel: C) -> Rc<Server<H, C>> {
        let (handler, interrupts, turn) = (Arc::clone(&self.handler), Arc::clone(&self.interrupts), Default::default());
        Rc::new(Server { handler, channel: Rc::new(channel), negotiated: self.negotiated, interrupts, turn })
    }

    /// Does a thread's work and tells how it ended, also if it panicked.
    pub(super) fn tell_end(self, work: impl FnOnce(&WorkerContext<H>) -> End) {
        let mut telling = Telling { ends: self.ends.clone(), end: Some(Err(SessionError::Panicked)) };
        telling.end = Some(work(&self));
    }
}

struct Telling {
    ends: UnboundedSender<End>,
    end: Option<End>,
}

impl Drop for Telling {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            // Nobody listens any more if the session gave up; there is nothing left to do then.
            let _ = self.ends.send(end);
        }
    }
}

/// A runtime for one FUSE thread.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, SessionError> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io("starting the event loop"))
}

/// Starts a further thread on the device.
pub(super) fn spawn<H: Handler>(
    number: usize,
    context: WorkerContext<H>,
    device: Device,
    pool: BufPool,
) -> std::io::Result<()> {
    let serve = move |context: &WorkerContext<H>| {
        runtime()?.block_on(async {
            let channel = DevFuse::new(device, pool).map_err(io("epoll"))?;
            LocalSet::new().run_until(serve(context.server(channel), context.drain)).await
        })
    };
    std::thread::Builder::new().name(format!("nyala-fuse-{number}")).spawn(|| context.tell_end(serve)).map(drop)
}

/// Serves here until the mount is gone, and waits for the other threads. With rings nobody can do another's work, so an
/// error of one is the end.
pub(super) async fn all(here: impl Future<Output = End>, mut ends: UnboundedReceiver<End>, rings: bool) -> End {
    let mut here = pin!(here);
    let (mut here_ended, mut others_ended) = (false, false);
    let mut result = Ok(());
    while !(here_ended && others_ended) {
        let end = tokio::select! {
            end = &mut here, if !here_ended => {
                here_ended = true;
                end
            }
            end = ends.recv(), if !others_ended => end.unwrap_or_else(|| {
                others_ended = true;
                Ok(())
            }),
        };
        if rings && end.is_err() {
            return end;
        }
        result = result.and(end);
    }
    result
}

/// Serves until the mount is gone. Runs inside a `LocalSet`.
pub(super) async fn serve<H: Handler, C: Channel>(server: Rc<Server<H, C>>, drain: Duration) -> End {
    let mut tasks = JoinSet::new();
    let mut burst = 0;
    let ended = loop {
        match next(&server).await {
            Ok(Some(request)) => {
                if let Some(pending) = dispatch::serve(&server, request) {
                    tasks.spawn_local(pending);
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(io("reading requests from the kernel")(error)),
        }
        burst += 1;
        if burst >= BURST {
            burst = 0;
            server.turn.set(None);
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
