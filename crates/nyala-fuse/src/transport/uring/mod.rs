// SPDX-License-Identifier: Apache-2.0

//! Requests and replies through io_uring (Linux 6.14), one thread's share of a mount's queues.
//!
//! An entry is given to the kernel once; from then on each reply goes back together with the entry, which comes again
//! with the next request. The reply's body is copied into the entry. All replies that are ready when the thread runs
//! out of work go to the kernel in one system call, which brings the next requests as well.
//!
//! **Failure model.** *Registering* can fail (too old a kernel, switched off meanwhile, no memory): the kernel then sends
//! everything over the device, which is served anyway. *The mount can end* (unmount, abort): every entry comes
//! back with an error and the channel ends; a reply after that finds nobody. *A request can be gone* when its reply
//! comes: the entry is lost to the kernel and registered anew. *Handlers can wait* while they hold all entries of a queue, perhaps for
//! the very request that finds none left (a lock for its unlock): see `queues`. *A handler can keep a write's data*: see `entry`. A reply that the kernel finds
//! malformed fails its request with EINVAL; it does not come back to us as it does on the device.

mod abi;
pub(crate) mod cpus;
mod entry;
mod kick;
mod queues;

pub(crate) use entry::EntryBuf;

use super::{Channel, Request, Ticket};
use crate::transport::dev::Device;
use cpus::Share;
use nyala_ring::{Event, Ring, RingWaker};
use queues::Queues;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// How long requests may wait in the kernel behind others before they are fetched.
const BEHIND: Duration = Duration::from_millis(10);

/// One thread's door to its queues.
pub(crate) struct UringFuse {
    // Before the entries: no request may come once their memory is gone.
    ring: Ring,
    queues: RefCell<Queues>,
    fetch_at: RefCell<Option<Pin<Box<Sleep>>>>,
    ended: Cell<bool>,
}

impl UringFuse {
    /// Makes room for a share of the queues, in the runtime or on the thread alone. Nothing is asked of the kernel's FUSE.
    pub(crate) fn new(device: Device, share: &Share, payload_bytes: usize, alone: bool) -> io::Result<UringFuse> {
        let entries: usize = share.queues.iter().map(|(_, entries)| entries).sum();
        let room = u32::try_from(entries * 2).unwrap_or(u32::MAX); // Twice the entries, since more of them may come.
        let ring = if alone { Ring::own_thread(room)? } else { Ring::attached(room)? };
        let queues = RefCell::new(Queues::new(device, &share.queues, payload_bytes)?);
        Ok(UringFuse { ring, queues, fetch_at: RefCell::default(), ended: Cell::new(false) })
    }

    /// Gives all entries to the kernel. Requests come once every queue of the mount has done so.
    pub(crate) fn register(&self) -> io::Result<()> {
        self.queues.borrow_mut().register_all(&self.ring)?;
        self.ring.flush()?;
        // Whatever is wrong with an entry is said at once; a good one says nothing until it has a request.
        match self.ring.failed() {
            Some(result) => Err(io::Error::from_raw_os_error(-result)),
            None => Ok(()),
        }
    }

    /// Drives a future and this channel on a thread that has nothing else.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> io::Result<F::Output> {
        self.ring.block_on(future)
    }

    /// Wakes the thread from elsewhere.
    pub(crate) fn waker(&self) -> Arc<RingWaker> {
        self.ring.waker()
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Request>>> {
        loop {
            if self.ended.get() {
                return Poll::Ready(Ok(None));
            }
            match self.ring.poll_next(cx)? {
                Poll::Ready(Event::Done { tag, result }) => match self.done(tag, result)? {
                    Poll::Ready(outcome) => return Poll::Ready(Ok(outcome)),
                    Poll::Pending => {}
                },
                Poll::Ready(Event::Woken) => {}
                Poll::Pending if self.fetch_late(cx)? => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Fetches requests that have waited in the kernel for a while. Says whether it did.
    fn fetch_late(&self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut queues = self.queues.borrow_mut();
        let mut fetch_at = self.fetch_at.borrow_mut();
        if fetch_at.is_none() && !queues.any_to_fetch() {
            return Ok(false);
        }
        let timer = fetch_at.get_or_insert_with(|| Box::pin(tokio::time::sleep(BEHIND)));
        if timer.as_mut().poll(cx).is_pending() {
            return Ok(false);
        }
        *fetch_at = None;
        queues.fetch(&self.ring).map(|()| true)
    }

    /// An entry came back: with a request, or with the reason why it never will again.
    fn done(&self, tag: u64, result: i32) -> io::Result<Poll<Option<Request>>> {
        match -result {
            _ if result >= 0 => Ok(match self.queues.borrow_mut().arrived(tag, &self.ring)? {
                Some((header, buf)) => Poll::Ready(Some(Request { header, buf, args_at: 0 })),
                None => Poll::Pending,
            }),
            libc::ENOTCONN | libc::ENODEV | libc::ECANCELED => {
                self.ended.set(true);
                Ok(Poll::Ready(None))
            }
            libc::ECONNABORTED => {
                tracing::warn!("the mount was aborted");
                self.ended.set(true);
                Ok(Poll::Ready(None))
            }
            libc::ENOENT => {
                tracing::debug!(entry = tag, "the request was gone before its reply");
                self.queues.borrow_mut().lost(tag, &self.ring)?;
                Ok(Poll::Pending)
            }
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

impl Channel for UringFuse {
    async fn next(&self) -> io::Result<Option<Request>> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn reply(&self, ticket: Ticket, error: i32, body: &[IoSlice<'_>]) -> io::Result<()> {
        if self.ended.get() {
            return Err(io::Error::from_raw_os_error(libc::ENOTCONN));
        }
        self.queues.borrow_mut().reply(ticket.unique, error, body, &self.ring)
    }
}
