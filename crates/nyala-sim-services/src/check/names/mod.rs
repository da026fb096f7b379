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
        self.0.push(Entry { client, op, begun: now, ended: Nanos::MAX, told: Outcome::Unknown(Nanos::MAX) });
        self.0.len() - 1
    }

    /// It is told.
    pub fn end(&mut self, number: usize, now: Nanos, told: Outcome) {
        let ended = if let Outcome::Unknown(until) = told { until } else { now };
        (self.0[number].told, self.0[number].ended) = (told, ended);
    }

    /// The same once more, since it may be done twice.
    pub fn again(&mut self, number: usize) {
        self.0.push(self.0[number]);
    }

    /// What is under way of a client comes about until then, or never.
    pub fn gone(&mut self, client: u32, until: Nanos) {
        let of = self.0.iter_mut().filter(|entry| entry.client == client && entry.told == Outcome::Unknown(Nanos::MAX));
        of.for_each(|entry| (entry.told, entry.ended) = (Outcome::Unknown(until), until));
    }

    /// Whatever there was may be lost at this time, also what is under way and will be said to be done.
    pub fn shake(&mut self, now: Nanos) {
        let entry = Entry { client: 0, op: Op::Shake, begun: now, ended: now, told: Outcome::Done(0) };
        self.0.push(entry);
    }

    /// Whether there is such an order.
    pub fn judge(&self) -> Verdict {
        let mut entries = self.0.clone();
        let shakes: Vec<Nanos> =
            entries.iter().filter(|entry| entry.op == Op::Shake).map(|entry| entry.begun).collect();
        for entry in entries.iter_mut().filter(|entry| entry.op != Op::Shake) {
            let shaken = shakes.iter().any(|at| (entry.begun..=entry.ended).contains(at));
            if shaken && !matches!(entry.told, Outcome::Unknown(_)) {
                entry.told = Outcome::Unknown(entry.ended);
            }
        }
        // What changes nothing and was not told is nothing.
        entries.retain(|entry| !matches!((entry.op, entry.told), (Op::Lookup(_), Outcome::Unknown(_))));
        entries.sort_by_key(|entry| entry.begun);
        search::judge(&entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Client, operation, beginning, end, what was told.
    fn judged(entries: &[(u32, Op, Nanos, Nanos, Outcome)]) -> Verdict {
        let mut history = History::default();
        for (client, op, begun, ended, told) in entries {
            let number = history.begin(*client, *op, *begun);
            history.end(number, *ended, *told);
        }
        history.judge()
    }

    fn is_wrong(entries: &[(u32, Op, Nanos, Nanos, Outcome)]) -> bool {
        matches!(judged(entries), Verdict::Wrong(_))
    }

    const RENAME: Op = Op::Rename { from: 0, to: 1, no_replace: false };

    #[test]
    fn one_of_two_makes_a_name() {
        let made = (1, Op::Create(0), 1, 5, Outcome::Done(7));
        assert_eq!(judged(&[made, (2, Op::Create(0), 2, 4, Outcome::Exists)]), Verdict::Fine);
        assert!(is_wrong(&[made, (2, Op::Create(0), 2, 4, Outcome::Done(8))]));
        assert!(is_wrong(&[(2, Op::Create(0), 1, 2, Outcome::Exists)]), "nobody had made it");
        assert!(is_wrong(&[made, (2, Op::Lookup(0), 6, 7, Outcome::Missing)]), "stale");
        assert_eq!(judged(&[made, (2, Op::Lookup(0), 4, 7, Outcome::Missing)]), Verdict::Fine, "at the same time");
        assert!(is_wrong(&[made, (2, Op::Lookup(0), 6, 7, Outcome::Done(9))]), "another file");
    }

    #[test]
    fn a_rename_is_one_step() {
        let made = (1, Op::Create(0), 1, 2, Outcome::Done(7));
        let renamed = (1, RENAME, 3, 10, Outcome::Done(0));
        let neither = [(2, Op::Lookup(1), 4, 5, Outcome::Missing), (2, Op::Lookup(0), 6, 7, Outcome::Missing)];
        assert_eq!(judged(&[made, renamed, neither[0], neither[1]]), Verdict::Fine, "it came between");
        let both = [(2, Op::Lookup(0), 6, 7, Outcome::Missing), (2, Op::Lookup(1), 8, 9, Outcome::Missing)];
        assert!(is_wrong(&[made, renamed, both[0], both[1]]), "it was nowhere");
        let linked = (1, Op::Link { inode: 7, to: 1 }, 3, 4, Outcome::Done(0));
        let again = (1, RENAME, 5, 6, Outcome::Done(0));
        assert_eq!(judged(&[made, linked, again, (1, Op::Lookup(0), 7, 8, Outcome::Done(7))]), Verdict::Fine);
        assert!(is_wrong(&[made, linked, again, (1, Op::Lookup(0), 7, 8, Outcome::Missing)]), "names of one file stay");
        let kept = Op::Rename { from: 0, to: 1, no_replace: true };
        assert!(is_wrong(&[made, linked, (1, kept, 5, 6, Outcome::Done(0))]));
        assert_eq!(judged(&[made, linked, (1, kept, 5, 6, Outcome::Exists)]), Verdict::Fine);
        let gone =
            [(1, Op::Unlink(0), 3, 4, Outcome::Done(0)), (1, Op::Link { inode: 7, to: 1 }, 5, 6, Outcome::Missing)];
        assert_eq!(judged(&[made, gone[0], gone[1]]), Verdict::Fine);
        assert!(is_wrong(&[made, gone[1]]), "the file has a name");
    }

    #[test]
    fn what_was_not_told_may_come_about_once_until_its_time_is_over() {
        let made = (1, Op::Create(0), 1, 2, Outcome::Done(7));
        let removed = (2, Op::Unlink(0), 3, 4, Outcome::Unknown(50));
        let later = |at| (1, Op::Lookup(0), at, at + 1, Outcome::Missing);
        assert_eq!(judged(&[made, removed]), Verdict::Fine);
        assert_eq!(judged(&[made, removed, (1, Op::Lookup(0), 20, 21, Outcome::Done(7)), later(30)]), Verdict::Fine);
        assert!(is_wrong(&[made, removed, (1, Op::Lookup(0), 60, 61, Outcome::Done(7)), later(70)]), "too late");
        let twice = [later(30), (1, Op::Create(0), 32, 33, Outcome::Done(8)), later(34)];
        assert!(is_wrong(&[made, removed, twice[0], twice[1], twice[2]]), "it was done twice");
    }

    #[test]
    fn after_a_loss_names_are_what_is_seen() {
        let mut history = History::default();
        let mut add = |op, at, told| {
            let number = history.begin(1, op, at);
            history.end(number, at + 1, told);
        };
        add(Op::Create(0), 1, Outcome::Done(7));
        add(Op::Lookup(0), 11, Outcome::Missing);
        assert!(matches!(history.judge(), Verdict::Wrong(_)));
        history.shake(5);
        assert_eq!(history.judge(), Verdict::Fine);
        let number = history.begin(1, Op::Lookup(0), 13);
        history.end(number, 14, Outcome::Done(7));
        assert!(matches!(history.judge(), Verdict::Wrong(_)), "once it is known to be gone, it stays so");
    }

    #[test]
    fn of_the_dead_what_was_under_way_may_come() {
        let mut history = History::default();
        history.begin(1, Op::Create(0), 1);
        history.gone(1, 40);
        let number = history.begin(2, Op::Create(0), 10);
        history.end(number, 11, Outcome::Exists);
        assert_eq!(history.judge(), Verdict::Fine);
        let number = history.begin(2, Op::Lookup(0), 50);
        history.end(number, 51, Outcome::Missing);
        assert!(matches!(history.judge(), Verdict::Wrong(_)));
    }

    #[test]
    fn a_long_history_is_looked_at_in_time() {
        let mut history = History::default();
        for round in 0..100 {
            let at = round * 100;
            for client in 0..3 {
                let number = history.begin(client, Op::Create(client as usize), at + u64::from(client));
                history.end(number, at + 20, Outcome::Done(round * 3 + u64::from(client)));
                let number = history.begin(client, Op::Unlink(client as usize), at + 30 + u64::from(client));
                history.end(number, at + 60, Outcome::Done(0));
            }
        }
        assert_eq!(history.judge(), Verdict::Fine);
    }
}
