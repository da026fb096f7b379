// SPDX-License-Identifier: Apache-2.0

//! Wakes a ring's thread from any other.
//!
//! **Failure model.** A wake-up must not get lost: see [`crate::sleep`]. Whoever writes to the descriptor after the sleep has
//! ended makes the next sleep a short one.

use crate::sleep::Sleep;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Wakes the thread of one ring: whoever waits for the ring's events looks again, mostly because of an
/// [`crate::Event::Woken`].
#[derive(Debug)]
pub struct RingWaker {
    /// Whether the thread sleeps in the ring, and was called.
    pub(crate) sleep: Sleep,
    /// Wakes a thread that sleeps in the ring.
    fd: OwnedFd,
    /// Wakes a task that waits in a runtime.
    waiter: Mutex<Option<Waker>>,
}

impl RingWaker {
    pub(crate) fn new() -> io::Result<RingWaker> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(RingWaker { sleep: Sleep::new(), fd, waiter: Mutex::default() })
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Whom to wake in a runtime. To be followed by a look at [`Sleep::take`].
    pub(crate) fn set_waiter(&self, waker: &Waker) {
        let mut waiter = self.waiter.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiter.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *waiter = Some(waker.clone());
        }
    }

    /// Wakes the task that waits in a runtime.
    pub(crate) fn wake_waiter(&self) {
        // The lock is let go before the waker runs, whatever that does.
        let waiter = self.waiter.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Wakes the thread.
    #[expect(clippy::host_endian_bytes, reason = "the kernel's counter is host-endian")]
    pub fn notify(&self) {
        if self.sleep.call() {
            // A full counter (EAGAIN) wakes as well, and the descriptor is ours, so there is no other error.
            let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
        }
        self.wake_waiter();
    }

    /// Makes the descriptor quiet again.
    pub(crate) fn drain(&self) {
        // Nothing to read (EAGAIN) is quiet too.
        let _ = rustix::io::read(&self.fd, &mut [0u8; 8]);
    }
}

impl Wake for RingWaker {
    fn wake(self: Arc<RingWaker>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<RingWaker>) {
        self.notify();
    }
}
