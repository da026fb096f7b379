// SPDX-License-Identifier: Apache-2.0

//! Who waits for what: tasks by event and by time.

use nyala_wire::{InodeId, SessionId};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// A task of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// What a task can wait for. An event that comes while nobody waits for it is lost: a task looks before it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// A transaction or a truncation has released locks.
    Released,
    /// Delegations came back, or somebody left a queue for them.
    Delegations,
    /// A changing request has ended.
    Finished,
    /// Questions to holders of file locks were answered.
    LockChecks,
    /// The locks of a file have changed.
    FileLocks(InodeId),
    /// A session has something to be told.
    Poll(SessionId),
    /// Clients have said what is to be done again, or it is done.
    Replays,
    /// The cluster map has changed.
    Map,
    /// There is a directory to look at ([`super::resplit`]).
    Considered,
}

/// What a task waits for: the first of these. Completions of what it asked for end every wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    pub(super) event: Option<Event>,
    pub(super) until_ms: Option<u64>,
}

impl Wait {
    /// For completions only.
    pub const COMPLETION: Wait = Wait { event: None, until_ms: None };

    /// For an event.
    pub fn on(event: Event) -> Wait {
        Wait { event: Some(event), ..Wait::COMPLETION }
    }

    /// Until a moment.
    pub fn until(ms: u64) -> Wait {
        Wait { event: None, until_ms: Some(ms) }
    }

    /// Until this moment at the latest.
    pub fn or_until(self, ms: u64) -> Wait {
        Wait { until_ms: Some(ms), ..self }
    }
}

/// The tasks that wait, and those that may go on.
#[derive(Debug, Default)]
pub struct Waits {
    /// Each waiting task once.
    waiting: HashMap<TaskId, Wait>,
    on: BTreeMap<Event, BTreeSet<TaskId>>,
    times: BTreeSet<(u64, TaskId)>,
    ready: VecDeque<TaskId>,
}

impl Waits {
    /// A task waits from now on.
    pub fn park(&mut self, task: TaskId, wait: Wait) {
        let before = self.waiting.insert(task, wait);
        assert!(before.is_none(), "{task:?} waits twice");
        if let Some(event) = wait.event {
            self.on.entry(event).or_default().insert(task);
        }
        if let Some(ms) = wait.until_ms {
            self.times.insert((ms, task));
        }
    }

    /// A new task may begin.
    pub fn begin(&mut self, task: TaskId) {
        self.ready.push_back(task);
    }

    /// Ends a task's wait, if it waits.
    pub fn wake(&mut self, task: TaskId) {
        let Some(wait) = self.waiting.remove(&task) else { return };
        if let Some(event) = wait.event
            && let Some(tasks) = self.on.get_mut(&event)
        {
            tasks.remove(&task);
            if tasks.is_empty() {
                self.on.remove(&event);
            }
        }
        if let Some(ms) = wait.until_ms {
            self.times.remove(&(ms, task));
        }
        self.ready.push_back(task);
    }

    /// An event has come: all who wait for it go on, in the order in which they began.
    #[inline]
    pub fn wake_all(&mut self, event: Event) {
        if !self.on.is_empty() {
            let tasks = self.on.get(&event).cloned().unwrap_or_default();
            tasks.into_iter().for_each(|task| self.wake(task));
        }
    }

    /// The same for the one that began first.
    pub fn wake_one(&mut self, event: Event) {
        if let Some(task) = self.on.get(&event).and_then(|tasks| tasks.first().copied()) {
            self.wake(task);
        }
    }

    /// Whoever waits until now or earlier goes on.
    pub fn pass(&mut self, now_ms: u64) {
        while let Some((_, task)) = self.times.first().copied().filter(|(ms, _)| *ms <= now_ms) {
            self.wake(task);
        }
    }

    /// The earliest moment that somebody waits for.
    #[inline]
    pub fn next_ms(&self) -> Option<u64> {
        self.times.first().map(|(ms, _)| *ms)
    }

    /// A task that may go on.
    #[inline]
    pub fn next_ready(&mut self) -> Option<TaskId> {
        self.ready.pop_front()
    }

    /// Number of tasks that wait.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nobody waits.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(waits: &mut Waits) -> Vec<u64> {
        std::iter::from_fn(|| waits.next_ready()).map(|task| task.0).collect()
    }

    #[test]
    fn a_wait_ends_once_by_whatever_comes_first() {
        let mut waits = Waits::default();
        waits.park(TaskId(1), Wait::on(Event::Released).or_until(50));
        waits.park(TaskId(2), Wait::on(Event::Released));
        waits.park(TaskId(3), Wait::until(40));
        waits.park(TaskId(4), Wait::COMPLETION);
        assert_eq!(waits.next_ms(), Some(40));
        waits.pass(39);
        waits.wake_all(Event::Finished);
        assert!(ready(&mut waits).is_empty());
        waits.wake_all(Event::Released);
        assert_eq!(ready(&mut waits), [1, 2]);
        waits.pass(60);
        assert_eq!(ready(&mut waits), [3], "the first one's time was withdrawn");
        waits.wake(TaskId(4));
        waits.wake(TaskId(4));
        assert_eq!(ready(&mut waits), [4]);
        assert!(waits.is_empty() && waits.on.is_empty() && waits.times.is_empty());
    }

    #[test]
    fn one_of_many_goes_on_the_first_first() {
        let mut waits = Waits::default();
        let poll = Event::Poll(SessionId(7));
        waits.park(TaskId(5), Wait::on(poll));
        waits.park(TaskId(3), Wait::on(poll));
        waits.wake_one(poll);
        waits.wake_one(Event::Poll(SessionId(8)));
        assert_eq!((ready(&mut waits), waits.len()), (vec![3], 1));
    }
}
