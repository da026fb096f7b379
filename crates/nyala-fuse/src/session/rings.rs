// SPDX-License-Identifier: Apache-2.0

//! The rings of a mount: one in the session's own thread, or one on every CPU.
//!
//! **Failure model.** A ring's thread can fail to start, to make its ring or to register: see `handshake`. Later its system error
//! or panic ends the session, since the requests of its CPU would wait for ever. When the session is dropped,
//! the threads are told to end and drop what they have in hand.

use super::worker::{self, WorkerContext};
use super::{SessionConfig, io};
use crate::handler::Handler;
use crate::transport::dev::Device;
use crate::transport::uring::UringFuse;
use crate::transport::uring::cpus::{self, Share};
use nyala_ring::RingWaker;
use std::future::poll_fn;
use std::io::Result;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

/// What a thread says when its ring is there.
type Made = Result<Arc<RingWaker>>;

/// Rings that are made and not yet registered.
pub(super) enum Rings<H> {
    Here(Box<UringFuse>),
    Threads(Vec<Thread<H>>, Stop),
}

/// Ends the threads of the rings when dropped.
pub(super) struct Stop {
    stopped: Arc<AtomicBool>,
    wakers: Vec<Arc<RingWaker>>,
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        self.wakers.iter().for_each(|waker| waker.notify());
    }
}

/// A ring's thread, which waits for the word to go.
pub(super) struct Thread<H> {
    go: mpsc::Sender<WorkerContext<H>>,
    registered: oneshot::Receiver<Result<()>>,
}

/// What serves after registration.
pub(super) enum Serving {
    Here(Box<UringFuse>),
    Threads(Stop),
}

impl<H: Handler> Rings<H> {
    /// Makes the rings and their memory.
    pub(super) async fn prepare(device: &Device, config: &SessionConfig, max_write_bytes: u32) -> Result<Rings<H>> {
        let payload_bytes = max_write_bytes as usize;
        let shares = cpus::shares(config.threads > 1, config.ring_entries)?;
        if let [share @ Share { cpu: None, .. }] = &shares[..] {
            return Ok(Rings::Here(Box::new(UringFuse::new(device.clone(), share, payload_bytes, false)?)));
        }
        let stopped = Arc::new(AtomicBool::new(false));
        let (mut threads, mut all_made) = (Vec::new(), Vec::new());
        for share in shares {
            let (make, made) = oneshot::channel();
            let (go, gone) = mpsc::channel();
            let (register, registered) = oneshot::channel();
            let (device, stopped, runtime) = (device.clone(), Arc::clone(&stopped), Handle::current());
            let name = share.cpu.map_or_else(String::new, |cpu| format!("nyala-fuse-c{cpu}"));
            std::thread::Builder::new().name(name).spawn(move || {
                let ring = Ring { device, share, payload_bytes, stopped, runtime };
                ring.live(make, &gone, register);
            })?;
            threads.push(Thread { go, registered });
            all_made.push(made);
        }
        let mut stop = Stop { stopped, wakers: Vec::new() };
        for made in all_made {
            stop.wakers.push(made.await.unwrap_or_else(|_| Err(std::io::Error::other("a FUSE thread panicked")))?);
        }
        Ok(Rings::Threads(threads, stop))
    }

    /// Gives the entries to the kernel; requests come as soon as all have been given.
    pub(super) async fn register(self, context: &WorkerContext<H>) -> Result<Serving> {
        match self {
            Rings::Here(channel) => channel.register().map(|()| Serving::Here(channel)),
            Rings::Threads(threads, stop) => {
                let lost = || std::io::Error::other("a FUSE thread panicked");
                for thread in threads {
                    thread.go.send(context.clone()).map_err(|_| lost())?;
                    thread.registered.await.unwrap_or_else(|_| Err(lost()))?;
                }
                Ok(Serving::Threads(stop))
            }
        }
    }
}

/// What a ring's thread begins with.
struct Ring {
    device: Device,
    share: Share,
    payload_bytes: usize,
    stopped: Arc<AtomicBool>,
    runtime: Handle,
}

impl Ring {
    /// A thread's life.
    fn live<H: Handler>(
        self,
        make: oneshot::Sender<Made>,
        go: &mpsc::Receiver<WorkerContext<H>>,
        register: oneshot::Sender<Result<()>>,
    ) {
        if let Some(cpu) = self.share.cpu
            && let Err(error) = cpus::pin(cpu)
        {
            tracing::warn!(cpu, %error, "a FUSE thread cannot be kept on its CPU; it will be slower");
        }
        let made = UringFuse::new(self.device, &self.share, self.payload_bytes, true);
        let channel = match made {
            Ok(channel) => channel,
            Err(error) => {
                // Whoever does not listen has given up already, here and below.
                let _ = make.send(Err(error));
                return;
            }
        };
        if make.send(Ok(channel.waker())).is_err() {
            return;
        }
        // The session may give up before it comes to this.
        let Ok(context) = go.recv() else { return };
        let registered = channel.register();
        let failed = registered.is_err();
        if register.send(registered).is_err() || failed {
            return;
        }
        let _entered = self.runtime.enter();
        let stopped = self.stopped;
        context.tell_end(|context| {
            let (server, local) = (context.server(channel), LocalSet::new());
            let ended = server.channel.block_on(async {
                let mut serving = pin!(local.run_until(worker::serve(Rc::clone(&server), context.drain)));
                poll_fn(|cx| match stopped.load(Ordering::Acquire) {
                    true => Poll::Ready(Ok(())),
                    false => serving.as_mut().poll(cx),
                })
                .await
            });
            ended.map_err(io("waiting in io_uring")).and_then(|ended| ended)
        });
    }
}
