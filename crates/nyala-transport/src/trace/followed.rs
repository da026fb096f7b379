// SPDX-License-Identifier: Apache-2.0

//! A request that is being answered, and measured. Failure model: see the parent module.

use super::clock::{Clock, Moment};
use super::parts::{NOW, Parts};
use super::record::Record;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A request that is answered, and measured if there are parts.
pub(crate) struct Followed<F> {
    inner: F,
    parts: Option<Rc<Parts>>,
    trace: Option<u64>,
    came: Moment,
    began: Moment,
    /// The next time that it runs is the first.
    is_new: bool,
    /// Time in which the task ran.
    ran: Duration,
}

impl<F> Followed<F> {
    /// A request that is taken up now, which is when its frame `came` if that `is_new`. That is of the coarse clock: one that is
    /// measured exactly came when it begins.
    pub(crate) fn new(
        inner: F,
        trace: Option<u64>,
        (came, is_new): (Moment, bool),
        parts: Option<Rc<Parts>>,
    ) -> Followed<F> {
        let (came, began) = match &parts {
            Some(parts) if parts.clock == Clock::Exact => {
                let now = Clock::Exact.read();
                (now, now)
            }
            Some(_) if !is_new => (came, Clock::Coarse.read()),
            _ => (came, came),
        };
        Followed { inner, parts, trace, came, began, is_new: true, ran: Duration::ZERO }
    }
}

/// Puts back what the thread worked on before, whatever happens.
struct Restore(Option<Rc<Parts>>);

impl Drop for Restore {
    fn drop(&mut self) {
        NOW.set(self.0.take());
    }
}

impl<F: Future + Unpin> Future for Followed<F> {
    type Output = (F::Output, Option<Record>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(parts) = self.parts.clone() else {
            return Pin::new(&mut self.inner).poll(context).map(|output| (output, None));
        };
        let from = if std::mem::take(&mut self.is_new) { self.began } else { parts.clock.read() };
        let before = Restore(NOW.replace(Some(parts.clone())));
        let polled = Pin::new(&mut self.inner).poll(context);
        drop(before);
        let ended = parts.clock.read();
        self.ran += ended.since(from);
        polled.map(|output| {
            let (named, about) = parts.take();
            let Followed { trace, came, began, ran, .. } = *self;
            let record = Record { trace, came, began, answered: ended, ran, named, about, clock: parts.clock };
            (output, Some(record))
        })
    }
}
