// SPDX-License-Identifier: Apache-2.0

//! The parts of a request that is being answered. Failure model: see the parent module.

use super::clock::Clock;
use super::record::About;
use nyala_wire::InodeId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Most named parts of a request.
const MOST_PARTS: usize = 16;

/// Named parts of a request that is under way, and what it is about.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(super) clock: Clock,
    /// The trace that the request belongs to, if it is followed.
    trace: Option<u64>,
    named: RefCell<Vec<(&'static str, Duration)>>,
    /// Of all named parts.
    sum: Cell<Duration>,
    about: Cell<About>,
}

thread_local! {
    /// Of the request that this thread works on now, if it is measured.
    pub(super) static NOW: Cell<Option<Rc<Parts>>> = const { Cell::new(None) };
}

/// Does something that is a part of the request that this task answers. What lies within another part counts for itself only.
pub async fn part<T>(name: &'static str, work: impl Future<Output = T>) -> T {
    let Some((began, before)) = with(|parts| (parts.clock.read(), parts.sum.get())) else { return work.await };
    let done = work.await;
    with(|parts| {
        let within = parts.sum.get().saturating_sub(before);
        parts.add(name, parts.clock.read().since(began).saturating_sub(within));
    });
    done
}

/// Says how long a part of the request took that another thread has measured.
pub fn measured_part(name: &'static str, time: Duration) {
    with(|parts| parts.add(name, time));
}

/// The trace that the request belongs to that this thread works on now; none if it is not followed. Requests to other servers that it
/// needs go on under the same id: see [`Request::followed`](crate::Request::followed).
pub fn current() -> Option<u64> {
    with(|parts| parts.trace).flatten()
}

/// Says which operation the request is that this task answers.
pub fn operation(name: &'static str) {
    with(|parts| parts.about.set(About { operation: name, ..parts.about.get() }));
}

/// Says which inode the request is about that this task answers.
pub fn inode(inode: InodeId) {
    with(|parts| parts.about.set(About { inode: Some(inode), ..parts.about.get() }));
}

/// Says that the request waits on purpose, for news or for somebody who may take as long as he likes: it is never slow.
pub fn waits_on_purpose() {
    with(|parts| parts.about.set(About { waits_on_purpose: true, ..parts.about.get() }));
}

/// Looks at the parts of the request that this thread works on.
pub(super) fn with<T>(look: impl FnOnce(&Parts) -> T) -> Option<T> {
    NOW.with(|cell| {
        let parts = cell.take()?;
        let seen = look(&parts);
        cell.set(Some(parts));
        Some(seen)
    })
}

impl Parts {
    /// Of a request that is not followed.
    pub(crate) fn new(clock: Clock) -> Rc<Parts> {
        Parts::of(clock, None)
    }

    /// Of one that is.
    pub(crate) fn of(clock: Clock, trace: Option<u64>) -> Rc<Parts> {
        let (named, sum, about) = (RefCell::default(), Cell::default(), Cell::default());
        Rc::new(Parts { clock, trace, named, sum, about })
    }

    fn add(&self, name: &'static str, time: Duration) {
        if time.is_zero() {
            return;
        }
        let mut named = self.named.borrow_mut();
        let is_room = named.len() < MOST_PARTS;
        match named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known += time,
            None if is_room => named.push((name, time)),
            None => return,
        }
        self.sum.set(self.sum.get() + time);
    }

    /// What was recorded; nothing is, then.
    pub(super) fn take(&self) -> (Vec<(&'static str, Duration)>, About) {
        self.sum.set(Duration::ZERO);
        (self.named.take(), self.about.take())
    }
}
