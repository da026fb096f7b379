// SPDX-License-Identifier: Apache-2.0

//! Slow operations: requests that took longer than an operator finds usual are logged with their parts, and counted.
//!
//! **Failure model.** A service in trouble has thousands of them at once: [`LINES`](super::LINES) lines a second are written, and the next one says how
//! many were left out. A request that never ends is not among them, since it has no end to be measured to; one whose client is gone meanwhile is.

use super::clock::{Clock, Moment};
use super::record::Record;
use super::seen::Seen;
use crate::hello::Role;
use parking_lot::Mutex;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Who sends the requests of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// Where it is.
    pub address: SocketAddr,
    /// What it is.
    pub role: Role,
    /// Its node's id; 0 if it is none.
    pub node: u32,
}

/// Finds, logs and counts slow operations of a service. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SlowOperations {
    /// Nothing is slow if it is zero.
    above: Duration,
    seen: Arc<Mutex<Seen>>,
}

impl SlowOperations {
    /// What is slow unless an operator says something else.
    pub const ABOVE: Duration = Duration::from_secs(1);

    /// What takes at least so long is slow; zero: nothing is, and nothing is measured.
    pub fn new(above: Duration) -> SlowOperations {
        SlowOperations { above, seen: Arc::default() }
    }

    /// Whether anything can be slow.
    pub(crate) fn is_on(&self) -> bool {
        !self.above.is_zero()
    }

    /// How many there were so far, by the part that took longest.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.seen.lock().by_part.iter().map(|(part, count)| (*part, *count)).collect()
    }

    /// How many there were in the last minutes.
    pub fn lately(&self) -> u64 {
        self.seen.lock().lately.count(Clock::Coarse.read())
    }

    /// The same as counters by name, as STATS has them.
    pub fn counters(&self) -> Vec<(String, u64)> {
        let (all, lately) = (self.counts().iter().map(|(_, count)| *count).sum(), self.lately());
        vec![("slow.operations".to_owned(), all), ("slow.lately".to_owned(), lately)]
    }

    /// A reply leaves, or would if its peer were still there.
    #[inline]
    pub(crate) fn leaves(&self, record: &Record, left: Moment, rests_on: &'static str, peer: &Sender, kind: u16) {
        if record.whole(left) >= self.above && self.is_on() && !record.about.waits_on_purpose {
            self.slow(record, left, rests_on, peer, kind);
        }
    }

    #[cold]
    fn slow(&self, record: &Record, left: Moment, rests_on: &'static str, peer: &Sender, kind: u16) {
        let parts = record.parts(left, rests_on);
        let longest = parts.iter().max_by_key(|(_, time)| *time).map_or("work", |(name, _)| *name);
        let Some(left_out) = self.seen.lock().take(left, longest) else { return };
        let inode = record.about.inode.map(tracing::field::display);
        let (operation, total_ms) = (Operation(record.about.operation, kind), record.whole(left).as_millis() as u64);
        let Sender { address: client, role, node } = *peer;
        let parts = Shown(&parts);
        tracing::warn!(%operation, inode, %client, ?role, node, total_ms, longest, %parts, left_out, "slow operation");
    }
}

/// An operation's name; where there is none, the message's type.
struct Operation(&'static str, u16);

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { write!(f, "message_{:#06x}", self.1) } else { f.write_str(self.0) }
    }
}

/// Parts as a log line has them: `queue=3ms own_copy=1200ms`.
struct Shown<'a>(&'a [(&'static str, Duration)]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (name, time)) in self.0.iter().enumerate() {
            let space = if n > 0 { " " } else { "" };
            write!(f, "{space}{}={}ms", name.replace(' ', "_"), time.as_millis())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_words() {
        let parts = [("queue", Duration::from_millis(3)), ("own copy", Duration::from_millis(1200))];
        assert_eq!(Shown(&parts).to_string(), "queue=3ms own_copy=1200ms");
        assert_eq!(Operation("", 0x201).to_string(), "message_0x0201");
        assert_eq!(Operation("write", 1).to_string(), "write");
    }
}
