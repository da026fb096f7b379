// SPDX-License-Identifier: Apache-2.0

//! Names are linearisable: there is an order of all that clients did to the names of a directory, each at a moment between its beginning and its
//! answer, in which every answer is right. Pure. Times are nanoseconds of the simulation.
//!
//! An outcome that nobody was told may come about at any time until it cannot any more, or never. What a power cut may have taken makes the names
//! anything: from there on, they are what the answers say.

mod operation;
mod search;
mod state;

use operation::{Entry, Nanos};
pub use operation::{NAMES, Op, Outcome};
pub use search::Verdict;

/// All that was done to the names of one directory.
#[derive(Clone, Debug, Default)]
pub struct History(Vec<Entry>);

impl History {
    /// A client begins; its number is for [`History::end`]. Until then nobody knows what comes of it.
    pub fn begin(&mut self, client: u32, op: Op, now: Nanos) -> usize {
        self.0.push(Entry { client, op, begun: now, ended: Nanos::MAX, outcome: Outcome::Unknown(Nanos::MAX) });
        self.0.len() - 1
    }

    /// It is told.
    pub fn end(&mut self, number: usize, now: Nanos, outcome: Outcome) {
        let ended = if let Outcome::Unknown(until) = outcome { until } else { now };
        (self.0[number].outcome, self.0[number].ended) = (outcome, ended);
    }

    /// The same once more, since it may be done twice.
    pub fn again(&mut self, number: usize) {
        self.0.push(self.0[number]);
    }

    /// What is under way of a client comes about until then, or never.
    pub fn gone(&mut self, client: u32, until: Nanos) {
        let of =
            self.0.iter_mut().filter(|entry| entry.client == client && entry.outcome == Outcome::Unknown(Nanos::MAX));
        of.for_each(|entry| (entry.outcome, entry.ended) = (Outcome::Unknown(until), until));
    }

    /// Whatever there was may be lost at this time, also what is under way and will be said to be done.
    pub fn shake(&mut self, now: Nanos) {
        let entry = Entry { client: 0, op: Op::Shake, begun: now, ended: now, outcome: Outcome::Done(0) };
        self.0.push(entry);
    }

    /// Whether there is such an order.
    pub fn judge(&self) -> Verdict {
        let mut entries = self.0.clone();
        let shakes: Vec<Nanos> =
            entries.iter().filter(|entry| entry.op == Op::Shake).map(|entry| entry.begun).collect();
        for entry in entries.iter_mut().filter(|entry| entry.op != Op::Shake) {
            let shaken = shakes.iter().any(|at| (entry.begun..=entry.ended).contains(at));
            if shaken && !matches!(entry.outcome, Outcome::Unknown(_)) {
                entry.outcome = Outcome::Unknown(entry.ended);
            }
        }
        // What changes nothing and was not told is nothing.
        entries.retain(|entry| !matches!((entry.op, entry.outcome), (Op::Lookup(_), Outcome::Unknown(_))));
        entries.sort_by_key(|entry| entry.begun);
        search::judge(&entries)
    }
}

#[cfg(test)]
mod tests;
