// SPDX-License-Identifier: Apache-2.0

//! When each other management node answered us last, and whether that makes a majority. Pure.
//!
//! **Failure model.** This process may stand still for any time between two lines: openraft's own figure ("milliseconds
//! since a quorum answered") is then as old as the pause, and a leader that was replaced meanwhile would go on granting
//! leases. So each acceptance of our leadership is kept here with the time at which its question was *sent*, on the clock
//! that never stands still. An acceptance of an earlier term proves nothing for this one.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, Default)]
struct Contact {
    /// Sending time of the last question that was answered at all, milliseconds.
    answered_ms: Option<u64>,
    /// Sending time of the last question that was answered by accepting us as leader, and our term then.
    accepted: Option<(u64, u64)>,
    /// The last question got no answer.
    silent: bool,
}

/// What the other nodes answered.
#[derive(Debug, Default)]
pub(crate) struct Contacts {
    peers: Mutex<BTreeMap<u64, Contact>>,
}

impl Contacts {
    /// A node answered what was sent at `sent_ms`. Whether it had been silent.
    pub(crate) fn answered(&self, peer: u64, sent_ms: u64) -> bool {
        let mut peers = self.peers.lock();
        let contact = peers.entry(peer).or_default();
        contact.answered_ms = contact.answered_ms.max(Some(sent_ms));
        std::mem::take(&mut contact.silent)
    }

    /// A node did not answer. Whether that is news.
    pub(crate) fn failed(&self, peer: u64) -> bool {
        let mut peers = self.peers.lock();
        let contact = peers.entry(peer).or_default();
        !std::mem::replace(&mut contact.silent, true)
    }

    /// A node accepted us as leader of `term`.
    pub(crate) fn accepted(&self, peer: u64, term: u64, sent_ms: u64) {
        let mut peers = self.peers.lock();
        let contact = peers.entry(peer).or_default();
        contact.accepted = contact.accepted.max(Some((term, sent_ms)));
    }

    /// When the last question was sent that this node has answered.
    pub(crate) fn last_ms(&self, peer: u64) -> Option<u64> {
        self.peers.lock().get(&peer).and_then(|contact| contact.answered_ms)
    }

    /// The latest time at which a majority of each set of voters is known to have had us for its leader. We ourselves
    /// count as of `now_ms`.
    pub(crate) fn quorum_ms(&self, voters: &[BTreeSet<u64>], me: u64, term: u64, now_ms: u64) -> Option<u64> {
        let peers = self.peers.lock();
        let of = |id: &u64| match peers.get(id).and_then(|contact| contact.accepted) {
            _ if *id == me => Some(now_ms),
            Some((at_term, sent_ms)) if at_term == term => Some(sent_ms),
            _ => None,
        };
        let of_set = |set: &BTreeSet<u64>| {
            let mut times: Vec<Option<u64>> = set.iter().map(of).collect();
            times.sort_unstable();
            // Earliest first, the silent before all: from here on there is a majority.
            let majority = times.len() / 2 + 1;
            times.len().checked_sub(majority).and_then(|at| times[at])
        };
        voters.iter().map(of_set).min().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(all: &[&[u64]]) -> Vec<BTreeSet<u64>> {
        all.iter().map(|set| set.iter().copied().collect()).collect()
    }

    #[test]
    fn a_majority_of_every_set_counts() {
        let contacts = Contacts::default();
        let quorum = |all: &[&[u64]]| contacts.quorum_ms(&sets(all), 1, 7, 1000);
        assert_eq!(quorum(&[&[1]]), Some(1000), "alone");
        assert_eq!(quorum(&[&[1, 2]]), None);
        assert_eq!(quorum(&[]), None);
        contacts.accepted(2, 7, 900);
        contacts.accepted(3, 7, 500);
        contacts.accepted(4, 7, 400);
        contacts.accepted(5, 7, 300);
        assert_eq!(quorum(&[&[1, 2]]), Some(900), "of two, both");
        assert_eq!(quorum(&[&[1, 2, 3]]), Some(900));
        assert_eq!(quorum(&[&[1, 2, 3, 4]]), Some(500));
        assert_eq!(quorum(&[&[1, 2, 3, 4, 5]]), Some(500));
        assert_eq!(quorum(&[&[2, 3, 4]]), Some(500), "without us");
        assert_eq!(quorum(&[&[1, 2, 3], &[1, 4, 5]]), Some(400), "in a joint configuration, the slower set");
        assert_eq!(quorum(&[&[1, 2, 3], &[1, 8, 9]]), None);
    }

    #[test]
    fn what_was_accepted_in_an_earlier_term_proves_nothing() {
        let contacts = Contacts::default();
        contacts.accepted(2, 6, 900);
        assert_eq!(contacts.quorum_ms(&sets(&[&[1, 2]]), 1, 7, 1000), None);
        contacts.accepted(2, 7, 100);
        assert_eq!(contacts.quorum_ms(&sets(&[&[1, 2]]), 1, 7, 1000), Some(100));
        contacts.accepted(2, 6, 950);
        assert_eq!(contacts.quorum_ms(&sets(&[&[1, 2]]), 1, 7, 1000), Some(100), "a late reply of before");
        assert_eq!(contacts.last_ms(2), None);
        assert_eq!((contacts.failed(2), contacts.failed(2)), (true, false), "said once");
        assert_eq!((contacts.answered(2, 10), contacts.answered(2, 11)), (true, false));
        contacts.answered(2, 70);
        contacts.answered(2, 60);
        assert_eq!(contacts.last_ms(2), Some(70));
    }
}
