// SPDX-License-Identifier: Apache-2.0

//! Reads through the io_uring of a connection thread: nothing waits for the disk, and no other thread is woken.
//!
//! **Failure model.** There may be no io_uring: then there is no such ring, and workers read. Whoever asked may be gone
//! when the data comes: buffer and file are kept until then, by the ring and not by the asker. At the end of the thread the
//! kernel may still write to buffers: these are then never freed. An error of a read is not judged here; a worker
//! reads again and says what it is.

use crate::chunk_store::ChunkFile;
use nyala_ring::{Event, Ring};
use nyala_transport::buffers::Buffer;
use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// Reads under way on one thread; more wait in the ring's queue.
const ENTRIES: u32 = 256;

/// The ring of one thread.
pub(super) struct RingReads {
    ring: Ring,
    under_way: RefCell<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    next_tag: u64,
    reads: HashMap<u64, Slot>,
}

struct Slot {
    buffer: Buffer,
    /// Keeps the descriptor open.
    _file: Arc<dyn ChunkFile>,
    state: State,
}

enum State {
    Waiting(Option<Waker>),
    Done(i32),
    Abandoned,
}

impl Drop for RingReads {
    fn drop(&mut self) {
        // The kernel may still write to them.
        self.under_way.take().reads.into_values().for_each(std::mem::forget);
    }
}

impl RingReads {
    /// A ring for this thread, and the task that drives it; `None` where the system has none. Within a local runtime.
    pub fn start() -> Option<Rc<RingReads>> {
        match Ring::attached(ENTRIES) {
            Ok(ring) => {
                let reads = Rc::new(RingReads { ring, under_way: RefCell::default() });
                let driven = Rc::downgrade(&reads);
                tokio::task::spawn_local(async move {
                    // The task ends with the runtime, the only other owner before that is the service.
                    while let Some(reads) = driven.upgrade() {
                        match reads.ring.next().await {
                            Ok(Event::Done { tag, result }) => reads.done(tag, result),
                            Ok(Event::Woken) => {}
                            Err(error) => {
                                tracing::error!(%error, "the io_uring of a network thread fails");
                                return reads.fail();
                            }
                        }
                    }
                });
                Some(reads)
            }
            Err(error) => {
                tracing::info!(%error, "no io_uring: threads read instead");
                None
            }
        }
    }

    /// Reads into the buffer; what came, cut to the buffer's length, or nothing if it did not work.
    pub async fn read(&self, file: &Arc<dyn ChunkFile>, mut buffer: Buffer, offset: u64) -> Option<Buffer> {
        let direct = buffer.is_large() && !file.is_mostly_cached(offset, buffer.len());
        let fd = match file.descriptor(direct) {
            Some(fd) => fd,
            None => file.descriptor(false)?,
        };
        let fd = fd.as_raw_fd();
        let wanted = buffer.len();
        let blocks = if direct { wanted.next_multiple_of(4096) } else { wanted };
        let room = buffer.writable();
        if blocks > room.len() {
            return None;
        }
        let (memory, len) = (room.as_mut_ptr(), u32::try_from(blocks).ok()?);
        let tag = {
            let mut under_way = self.under_way.borrow_mut();
            under_way.next_tag += 1;
            let tag = under_way.next_tag;
            let slot = Slot { buffer, _file: file.clone(), state: State::Waiting(None) };
            under_way.reads.insert(tag, slot);
            tag
        };
        // SAFETY: memory and descriptor are the slot's, which stays until the read is done, and is leaked if the ring goes.
        if unsafe { self.ring.push_read(tag, fd, memory, len, offset) }.is_err() {
            self.under_way.borrow_mut().reads.remove(&tag);
            return None;
        }
        let asker = Asker { reads: self, tag };
        let result = poll_fn(|cx| {
            let mut under_way = self.under_way.borrow_mut();
            let Some(slot) = under_way.reads.get_mut(&tag) else { return Poll::Ready(-libc::EIO) };
            if let State::Done(result) = slot.state {
                return Poll::Ready(result);
            }
            slot.state = State::Waiting(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
        std::mem::forget(asker);
        let mut buffer = self.under_way.borrow_mut().reads.remove(&tag)?.buffer;
        buffer.truncate(usize::try_from(result).ok()?);
        Some(buffer)
    }

    fn done(&self, tag: u64, result: i32) {
        let mut under_way = self.under_way.borrow_mut();
        let Some(slot) = under_way.reads.get_mut(&tag) else { return };
        match std::mem::replace(&mut slot.state, State::Done(result)) {
            State::Waiting(waker) => waker.into_iter().for_each(Waker::wake),
            State::Abandoned => drop(under_way.reads.remove(&tag)),
            State::Done(_) => {}
        }
    }

    /// The ring is of no use any more. Nobody knows what the kernel still does with the memory.
    fn fail(&self) {
        let reads = std::mem::take(&mut self.under_way.borrow_mut().reads);
        for mut slot in reads.into_values() {
            if let State::Waiting(waker) = &mut slot.state {
                waker.take().into_iter().for_each(Waker::wake);
            }
            std::mem::forget(slot);
        }
    }
}

/// Marks the read as nobody's if the asker goes before it is done.
struct Asker<'a> {
    reads: &'a RingReads,
    tag: u64,
}

impl Drop for Asker<'_> {
    fn drop(&mut self) {
        let mut under_way = self.reads.under_way.borrow_mut();
        let Some(slot) = under_way.reads.get_mut(&self.tag) else { return };
        match slot.state {
            State::Done(_) => drop(under_way.reads.remove(&self.tag)),
            _ => slot.state = State::Abandoned,
        }
    }
}
