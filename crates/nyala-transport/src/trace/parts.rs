// SPDX-License-Identifier: Apache-2.0

//! The parts of a request that is being answered. Failure model: see the parent module.

use super::traces::Traces;
use nyala_wire::trace::{TracedPart, TracedRequest};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Most named parts of a request.
const MOST_PARTS: usize = 16;

/// Named parts of a request that is under way.
type Parts = Rc<RefCell<Vec<(&'static str, Duration)>>>;

thread_local! {
    /// Of the request that this thread works on now, if it is followed.
    static NOW: Cell<Option<Parts>> = const { Cell::new(None) };
}

/// Does something that is a part of the request that this task answers. Parts do not lie within each other.
pub async fn part<T>(name: &'static str, work: impl Future<Output = T>) -> T {
    let Some(parts) = now() else { return work.await };
    let began = Instant::now();
    let done = work.await;
    let mut parts = parts.borrow_mut();
    if parts.len() < MOST_PARTS {
        parts.push((name, began.elapsed()));
    }
    done
}

pub(super) fn now() -> Option<Parts> {
    NOW.with(|cell| {
        let parts = cell.take();
        cell.set(parts.clone());
        parts
    })
}

/// A followed request that is answered.
pub(crate) struct Followed<F> {
    inner: Pin<Box<F>>,
    parts: Parts,
    /// Time in which the task ran.
    ran: Duration,
    began: Instant,
}

impl<F> Followed<F> {
    pub(crate) fn new(inner: F) -> Followed<F> {
        Followed { inner: Box::pin(inner), parts: Parts::default(), ran: Duration::ZERO, began: Instant::now() }
    }
}

/// Puts back what the thread worked on before, whatever happens.
struct Restore(Option<Parts>);

impl Drop for Restore {
    fn drop(&mut self) {
        NOW.set(self.0.take());
    }
}

impl<F: Future> Future for Followed<F> {
    type Output = (F::Output, Record);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let before = Restore(NOW.replace(Some(self.parts.clone())));
        let began = Instant::now();
        let polled = self.inner.as_mut().poll(context);
        let ended = Instant::now();
        drop(before);
        self.ran += ended - began;
        polled.map(|output| {
            let named = std::mem::take(&mut *self.parts.borrow_mut());
            (output, Record { began: self.began, answered: ended, ran: self.ran, named })
        })
    }
}

/// A followed request that is answered, but whose reply has not left.
pub(crate) struct Record {
    pub(super) began: Instant,
    pub(super) answered: Instant,
    pub(super) ran: Duration,
    pub(super) named: Vec<(&'static str, Duration)>,
}

/// What an answered request is recorded as.
pub(crate) struct Leaving {
    pub trace: u64,
    pub record: Record,
    /// The reply rests on something that may have to be written first.
    pub rests: bool,
}

impl Leaving {
    /// The reply is given to the socket.
    pub(crate) fn leaves(self, traces: &Traces, request: u64, message_type: u16) {
        let Leaving { trace, record, rests } = self;
        traces.add(trace, record.finish(Instant::now(), rests, request, message_type));
    }
}

impl Record {
    /// The parts, which add up to the whole: those that have names, what else the task ran and waited, and until the reply left.
    pub(super) fn finish(self, left: Instant, rests: bool, request: u64, message_type: u16) -> TracedRequest {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let named: Duration = self.named.iter().map(|(_, time)| *time).sum();
        let other = (self.answered - self.began).saturating_sub(named);
        // What ran within named parts is theirs: no more than the rest can be told to be work.
        let work = if self.named.is_empty() { self.ran.min(other) } else { other };
        let all = [("work", work)]
            .into_iter()
            .chain(self.named.iter().copied())
            .chain([("wait", other - work), (if rests { "log" } else { "reply" }, left - self.answered)]);
        let parts = all.filter(|(_, time)| !time.is_zero());
        let parts = parts.map(|(name, time)| TracedPart { name: name.to_owned(), ns: ns(time) }).collect();
        TracedRequest { request, message_type, total_ns: ns(left - self.began), parts }
    }
}
