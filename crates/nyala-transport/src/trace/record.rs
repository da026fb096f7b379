// SPDX-License-Identifier: Apache-2.0

//! What is known of a request that is answered. Failure model: see the parent module.

use super::clock::{Clock, Moment};
use nyala_wire::InodeId;
use nyala_wire::trace::{TracedPart, TracedRequest};
use std::time::Duration;

/// What a request is about, as far as its service said it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// The operation; empty: not known.
    pub operation: &'static str,
    /// The inode of the file, directory or entry's directory.
    pub inode: Option<InodeId>,
    /// It may take any time.
    pub waits_on_purpose: bool,
}

/// A request that is answered, but whose reply has not left.
#[derive(Debug)]
pub(crate) struct Record {
    /// The trace that it belongs to, if it is followed.
    pub trace: Option<u64>,
    /// When its frame was there.
    pub came: Moment,
    /// When its service took it up.
    pub began: Moment,
    /// When its reply was ready.
    pub answered: Moment,
    /// Time in which its task ran.
    pub ran: Duration,
    /// Parts that have names.
    pub named: Vec<(&'static str, Duration)>,
    /// What it was about.
    pub about: About,
    /// What it was measured with.
    pub clock: Clock,
}

impl Record {
    /// The parts, which add up to the whole: the time before it was taken up, those that have names, what else the task ran and waited,
    /// and until the reply left, in which it waited for `rests_on`.
    pub fn parts(&self, left: Moment, rests_on: &'static str) -> Vec<(&'static str, Duration)> {
        let (whole, named): (Duration, Duration) =
            (self.answered.since(self.began), self.named.iter().map(|(_, time)| *time).sum());
        // Some were measured in whole milliseconds: they share the time that there was.
        let fits = if named > whole { whole.as_secs_f64() / named.as_secs_f64() } else { 1.0 };
        let other = whole.saturating_sub(named);
        // What ran within named parts is theirs: no more than the rest can be told to be work.
        let work = if self.named.is_empty() { self.ran.min(other) } else { other };
        let mut parts: Vec<(&'static str, Duration)> = Vec::with_capacity(self.named.len() + 4);
        let all = [("queue", self.began.since(self.came)), ("work", work)];
        let all = all.into_iter().chain(self.named.iter().map(|(name, time)| (*name, time.mul_f64(fits))));
        for (name, time) in all.chain([("wait", other - work), (rests_on, left.since(self.answered))]) {
            match parts.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known += time,
                None => parts.push((name, time)),
            }
        }
        parts.retain(|(_, time)| !time.is_zero());
        parts
    }

    /// The whole time until it left.
    pub fn whole(&self, left: Moment) -> Duration {
        left.since(self.came)
    }

    /// As it is kept for whoever follows the trace.
    pub fn traced(
        &self,
        left: Moment,
        rests_on: &'static str,
        request: u64,
        message_type: u16,
        sender: u32,
    ) -> TracedRequest {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let parts = self.parts(left, rests_on).into_iter();
        let parts = parts.map(|(name, time)| TracedPart { name: name.to_owned(), ns: ns(time) }).collect();
        let from_node = Some(sender).filter(|node| *node != 0);
        TracedRequest { request, message_type, total_ns: ns(self.whole(left)), parts, from_node }
    }
}
