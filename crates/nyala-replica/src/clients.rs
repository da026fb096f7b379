// SPDX-License-Identifier: Apache-2.0

//! Requests that come twice. A client sends again under the same number; the network may bring an old copy late. An old copy
//! names an old epoch and is refused for that, unless the epoch is still the same: the primary remembers what it has seen. A
//! change that is sent again to a new primary may have taken effect, been seen and overwritten since: so every member notes
//! whose changes it has, and a new primary gives its notes to all.

mod silent;

use crate::effect::Answer;
use crate::input::Token;
use crate::message::Origin;
use std::collections::BTreeMap;

/// Most clients that are remembered, those with something under way apart.
pub const MAX_CLIENTS: usize = 16_384;
/// Most requests of one client that are under way or may be sent again.
pub const MAX_WINDOW: usize = 1024;

/// What is known about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Running,
    Done(Answer),
}

#[derive(Clone, Debug, Default)]
struct Window {
    lowest: u64,
    heard_ms: u64,
    seen: BTreeMap<u64, Seen>,
}

impl Window {
    /// Nobody waits for what has a lower number. One by one: there are few each time.
    fn raise(&mut self, lowest: u64) {
        self.lowest = self.lowest.max(lowest);
        while let Some(first) = self.seen.first_entry().filter(|first| *first.key() < lowest) {
            first.remove();
        }
    }
}

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is new: do it.
    New,
    /// It is being done; the answer goes to the newest copy.
    Running,
    /// It was done: answer so.
    Done(Answer),
    /// Nobody waits for it any more, or the client has more under way than is allowed: no answer.
    Void,
}

/// All clients of a term.
#[derive(Clone, Debug, Default)]
pub struct Clients {
    windows: BTreeMap<u64, Window>,
}

impl Clients {
    /// A request arrived; if it is new it is remembered as running.
    pub fn admit(&mut self, client: u64, seq: u64, lowest: u64, now_ms: u64) -> Admission {
        let window = self.windows.entry(client).or_default();
        window.heard_ms = now_ms;
        window.raise(lowest);
        if seq < window.lowest {
            return Admission::Void;
        }
        match window.seen.get(&seq) {
            Some(Seen::Running) => Admission::Running,
            Some(Seen::Done(answer)) => Admission::Done(*answer),
            None if window.seen.len() >= MAX_WINDOW => Admission::Void,
            None => {
                window.seen.insert(seq, Seen::Running);
                Admission::New
            }
        }
    }

    /// It was done.
    pub fn done(&mut self, client: u64, seq: u64, answer: Answer) {
        if let Some(seen) = self.windows.get_mut(&client).and_then(|window| window.seen.get_mut(&seq)) {
            *seen = Seen::Done(answer);
        }
    }

    /// A change of a client's is in our file.
    pub fn note(&mut self, origin: Origin, now_ms: u64) {
        let window = self.windows.entry(origin.client).or_default();
        window.heard_ms = now_ms;
        window.raise(origin.lowest);
        if origin.seq >= window.lowest && (window.seen.len() < MAX_WINDOW || window.seen.contains_key(&origin.seq)) {
            window.seen.insert(origin.seq, Seen::Done(Answer::Done));
        }
    }

    /// It is not any more.
    pub fn unnote(&mut self, origin: Origin) {
        if let Some(window) = self.windows.get_mut(&origin.client) {
            window.seen.remove(&origin.seq);
        }
    }

    /// All changes that are known to be done.
    pub fn notes(&self) -> Vec<Origin> {
        let of = |(client, window): (&u64, &Window)| {
            let (client, lowest) = (*client, window.lowest);
            let done = window.seen.iter().filter(|(_, seen)| **seen == Seen::Done(Answer::Done));
            done.map(|(seq, _)| Origin { client, seq: *seq, lowest }).collect::<Vec<_>>()
        };
        self.windows.iter().flat_map(of).collect()
    }

    /// The lowest number whose answer a client waits for.
    pub fn lowest(&self, client: u64) -> u64 {
        self.windows.get(&client).map_or(0, |window| window.lowest)
    }

    /// An office is left: what was under way is not known to be done.
    pub fn drop_running(&mut self) {
        self.windows.values_mut().for_each(|window| window.seen.retain(|_, seen| *seen != Seen::Running));
    }

    /// Nothing that is known counts any more.
    pub fn clear(&mut self) {
        self.windows.clear();
    }
}

/// Who waits for a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Where the answer goes.
    pub token: Token,
    /// The client.
    pub client: u64,
    /// Its number.
    pub seq: u64,
}

#[cfg(test)]
mod tests;
