// SPDX-License-Identifier: Apache-2.0

//! The ring itself: what goes in, what comes out. See the crate's failure model.

use crate::command::Command;
use crate::waker::RingWaker;
use io_uring::squeue::Entry128;
use io_uring::{EnterFlags, IoUring, cqueue, opcode, types};
use rustix::event::{EventfdFlags, eventfd};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The waker's tag.
const WAKER_TAG: u64 = u64::MAX;

type Uring = IoUring<Entry128, cqueue::Entry>;

/// What a ring has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A command is done.
    Done {
        /// The command's.
        tag: u64,
        /// Zero or positive as the driver says, or a negative errno.
        result: i32,
    },
    /// The [`RingWaker`] was notified: what others may have left for this thread should be looked at.
    Woken,
}

/// One thread's io_uring. One future at a time may wait for its events.
pub struct Ring {
    /// In a runtime: written to by the kernel when there is something to do. Every write is a new edge, so it is never
    /// read.
    pub(crate) readable: Option<AsyncFd<OwnedFd>>,
    uring: RefCell<Uring>,
    events: RefCell<VecDeque<Event>>,
    pub(crate) waiter: Cell<Option<Waker>>,
    pub(crate) waker: Arc<RingWaker>,
}

impl Ring {
    /// A ring inside the running tokio runtime, for about so many commands at once.
    pub fn attached(entries: u32) -> io::Result<Ring> {
        let mut ring = Ring::new(entries)?;
        // The ring's own descriptor does not become readable when there is work that was put off; this one does.
        let signal = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        ring.uring.borrow().submitter().register_eventfd(signal.as_raw_fd())?;
        // SAFETY: the AsyncFd owns the descriptor, which is never replaced.
        let readable = unsafe { AsyncFd::register_with_interest(signal, Interest::READABLE) };
        ring.readable = Some(readable.map_err(io::Error::from)?);
        Ok(ring)
    }

    /// A ring for a thread of its own, which waits by [`Ring::block_on`].
    pub fn own_thread(entries: u32) -> io::Result<Ring> {
        let ring = Ring::new(entries)?;
        ring.listen()?;
        Ok(ring)
    }

    fn new(entries: u32) -> io::Result<Ring> {
        let entries = entries.clamp(8, 4096).next_power_of_two();
        let mut builder = Uring::builder();
        // Only this thread hands commands in, and the kernel works on them only when it is asked to: nothing interrupts
        // the thread, and what has gathered is done together.
        builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all().setup_clamp();
        let uring = builder.setup_cqsize(entries * 2).build(entries)?;
        let waker = Arc::new(RingWaker::new()?);
        Ok(Ring {
            readable: None,
            uring: RefCell::new(uring),
            events: RefCell::default(),
            waiter: Cell::new(None),
            waker,
        })
    }

    /// Wakes this ring's thread from elsewhere.
    pub fn waker(&self) -> Arc<RingWaker> {
        Arc::clone(&self.waker)
    }

    /// Takes a command; it is handed to the kernel when events are next waited for.
    ///
    /// # Safety
    ///
    /// The memory that the command names must be what its driver expects, and stay so, untouched by anybody else, until
    /// the command is done or the ring is gone.
    pub unsafe fn push(&self, command: &Command) -> io::Result<()> {
        debug_assert_ne!(command.tag, WAKER_TAG);
        self.push_entry(&command.entry())?;
        // In a runtime, whoever waits has to hand it in; a thread of its own does that before it sleeps.
        if self.readable.is_some() {
            self.waker.wake_waiter();
        }
        Ok(())
    }

    pub(crate) fn push_entry(&self, entry: &Entry128) -> io::Result<()> {
        loop {
            // SAFETY: the waker's entry names no memory; for others the caller of `push` has promised.
            if unsafe { self.uring.borrow_mut().submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.enter(0)?;
        }
    }

    /// Has the waker's descriptor watched.
    fn listen(&self) -> io::Result<()> {
        let poll = opcode::PollAdd::new(types::Fd(self.waker.raw_fd()), libc::POLLIN as u32).multi(true).build();
        self.push_entry(&poll.user_data(WAKER_TAG).into())
    }

    /// Hands in what was pushed, waits for so many completions, and gathers all there are.
    pub(crate) fn enter(&self, wait_for: u32) -> io::Result<()> {
        let relisten = {
            let mut uring = self.uring.borrow_mut();
            let (submitter, mut queue, mut completions) = uring.split();
            queue.sync();
            let to_submit = u32::try_from(queue.len()).unwrap_or(u32::MAX);
            if to_submit > 0 || wait_for > 0 || queue.taskrun() || queue.cq_overflow() {
                let flags = EnterFlags::GETEVENTS.bits();
                // SAFETY: no argument structure is passed, and the entries are those that `push` was given.
                let entered = unsafe { submitter.enter::<libc::sigset_t>(to_submit, wait_for, flags, None) };
                match entered.as_ref().map_err(io::Error::raw_os_error) {
                    Ok(_) | Err(Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
                    Err(_) => return entered.map(drop),
                }
            }
            completions.sync();
            self.gather(&mut completions)
        };
        if relisten { self.listen() } else { Ok(()) }
    }

    /// Takes all completions over; says whether the waker has to be watched anew.
    fn gather(&self, completions: &mut cqueue::CompletionQueue<'_, cqueue::Entry>) -> bool {
        let mut events = self.events.borrow_mut();
        let mut relisten = false;
        for completion in completions {
            events.push_back(match completion.user_data() {
                WAKER_TAG => {
                    self.waker.drain();
                    relisten |= !cqueue::more(completion.flags());
                    Event::Woken
                }
                tag => Event::Done { tag, result: completion.result() },
            });
        }
        relisten
    }

    /// The error of a command that is done and whose event nobody has taken yet, as a negative errno.
    pub fn failed(&self) -> Option<i32> {
        self.events.borrow().iter().find_map(|event| match event {
            Event::Done { result, .. } if *result < 0 => Some(*result),
            _ => None,
        })
    }

    pub(crate) fn take_event(&self) -> Option<Event> {
        self.events.borrow_mut().pop_front()
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.borrow().is_empty()
    }
}
