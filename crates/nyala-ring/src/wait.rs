// SPDX-License-Identifier: Apache-2.0

//! Waiting for a ring, in a runtime and without one.

use crate::ring::{Event, Ring};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};

impl Ring {
    /// The next event.
    pub async fn next(&self) -> io::Result<Event> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The next event, for those who wait for something else as well.
    pub fn poll_next(&self, cx: &mut Context<'_>) -> Poll<io::Result<Event>> {
        if let Some(event) = self.take_event() {
            return Poll::Ready(Ok(event));
        }
        let Some(readable) = &self.readable else {
            self.waiter.set(Some(cx.waker().clone()));
            return Poll::Pending;
        };
        loop {
            self.enter(0)?;
            if let Some(event) = self.take_event() {
                return Poll::Ready(Ok(event));
            }
            self.waker.set_waiter(cx.waker());
            if self.waker.sleep.take() {
                return Poll::Ready(Ok(Event::Woken));
            }
            // Readiness is cleared first and looked for afterwards, so that what comes in between is not missed.
            ready!(readable.poll_read_ready(cx))?.clear_ready();
        }
    }

    /// Hands in what was pushed and gathers what is done, without waiting.
    pub fn flush(&self) -> io::Result<()> {
        self.enter(0)
    }

    /// Drives a future, and this ring with it, on a thread that does nothing else.
    pub fn block_on<F: Future>(&self, future: F) -> io::Result<F::Output> {
        assert!(self.readable.is_none(), "a ring inside a runtime is driven by the runtime");
        let waker = Waker::from(self.waker());
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        self.waker.notify();
        loop {
            if self.waker.sleep.take()
                && let Poll::Ready(output) = future.as_mut().poll(&mut cx)
            {
                self.enter(0)?;
                return Ok(output);
            }
            let sleeps = self.waker.sleep.may_sleep();
            let entered = self.enter(u32::from(sleeps));
            self.waker.sleep.awake();
            entered?;
            if self.has_events()
                && let Some(waiter) = self.waiter.take()
            {
                waiter.wake();
            }
        }
    }
}
