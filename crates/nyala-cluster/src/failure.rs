// SPDX-License-Identifier: Apache-2.0

//! The failure detector: from when which service was last heard, who is online.
//!
//! **Failure model.** Heartbeats are late, lost, or come from a run that was replaced. What proves that a
//! process is dead (a goodbye; a connection that its kernel closed, and no new ones) is believed at once. A management service that has just become leader has heard
//! nobody: it waits a full lease before it declares anybody down for silence, because a predecessor may have renewed
//! their leases an instant before. Times are milliseconds of one monotonic clock, given as arguments.

use nyala_wire::NodeId;
use nyala_wire::map::Reachability;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heard {
    incarnation: u64,
    at_ms: u64,
    /// Proven dead, or it said goodbye.
    dead: bool,
}

/// A service that the cluster state knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The service.
    pub node: NodeId,
    /// Its current run.
    pub incarnation: u64,
    /// What the cluster state says of it.
    pub reachability: Reachability,
}

/// The detector of one leader; a new leader begins with a new one.
#[derive(Clone, Debug)]
pub struct FailureDetector {
    leader_since_ms: u64,
    heard: BTreeMap<NodeId, Heard>,
}

impl FailureDetector {
    /// For a leader that has led since `leader_since_ms`.
    pub fn new(leader_since_ms: u64) -> FailureDetector {
        FailureDetector { leader_since_ms, heard: BTreeMap::new() }
    }

    /// A registration or heartbeat arrived.
    pub fn heard(&mut self, node: NodeId, incarnation: u64, now_ms: u64) {
        self.heard.insert(node, Heard { incarnation, at_ms: now_ms, dead: false });
    }

    /// The run `incarnation` is proven dead, or it said goodbye. A heartbeat that arrives
    /// later shows that the proof was about nothing (another port, a service that was just starting).
    pub fn dead(&mut self, node: NodeId, incarnation: u64) {
        let at_ms = self.leader_since_ms;
        let heard = self.heard.entry(node).or_insert(Heard { incarnation, at_ms, dead: true });
        if heard.incarnation == incarnation {
            heard.dead = true;
        }
    }

    /// This process itself stood still for `gap_ms`: what arrived meanwhile has not been looked at yet, so the silence
    /// is ours, not theirs.
    pub fn excuse(&mut self, gap_ms: u64, now_ms: u64) {
        self.leader_since_ms = (self.leader_since_ms + gap_ms).min(now_ms);
        self.heard.values_mut().for_each(|heard| heard.at_ms = (heard.at_ms + gap_ms).min(now_ms));
    }

    /// The node is no longer part of the cluster.
    pub fn forget(&mut self, node: NodeId) {
        self.heard.remove(&node);
    }

    /// Milliseconds since the run was heard last, or since this leader began.
    pub fn silence_ms(&self, watched: &Watched, now_ms: u64) -> u64 {
        let heard = self.heard.get(&watched.node).filter(|h| h.incarnation == watched.incarnation);
        now_ms.saturating_sub(heard.map_or(self.leader_since_ms, |h| h.at_ms))
    }

    /// What the node is now, with leases of `lease_ms`.
    pub fn verdict(&self, watched: &Watched, lease_ms: u64, now_ms: u64) -> Reachability {
        let heard = self.heard.get(&watched.node).filter(|h| h.incarnation == watched.incarnation);
        if heard.is_some_and(|h| h.dead) {
            return Reachability::Offline;
        }
        let silence_ms = self.silence_ms(watched, now_ms);
        let silent = if silence_ms > lease_ms {
            Reachability::Offline
        } else if silence_ms > lease_ms / 2 {
            Reachability::ProbablyOffline
        } else {
            Reachability::Online
        };
        match heard {
            Some(_) if watched.reachability == Reachability::Offline && silent != Reachability::Online => {
                Reachability::Offline
            }
            Some(_) => silent,
            // Not heard by this leader: what its predecessor found stands until a full lease has gone by.
            None if silent == Reachability::Offline => Reachability::Offline,
            None => watched.reachability,
        }
    }

    /// The verdicts that differ from what the cluster state says.
    pub fn changes<'a>(
        &'a self,
        nodes: impl IntoIterator<Item = Watched> + 'a,
        lease_ms: u64,
        now_ms: u64,
    ) -> impl Iterator<Item = (Watched, Reachability)> + 'a {
        nodes.into_iter().filter_map(move |watched| {
            let verdict = self.verdict(&watched, lease_ms, now_ms);
            (verdict != watched.reachability).then_some((watched, verdict))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Reachability::*;

    const T: u64 = 3000;

    fn watched(incarnation: u64, reachability: Reachability) -> Watched {
        Watched { node: NodeId(7), incarnation, reachability }
    }

    #[test]
    fn silence_leads_from_online_to_offline() {
        let mut detector = FailureDetector::new(0);
        detector.heard(NodeId(7), 1, 10_000);
        let at = |now| detector.verdict(&watched(1, Online), T, now);
        assert_eq!((at(10_000), at(11_500), at(11_501)), (Online, Online, ProbablyOffline));
        assert_eq!((at(13_000), at(13_001), at(99_999)), (ProbablyOffline, Offline, Offline));
        assert_eq!(detector.verdict(&watched(1, Offline), T, 12_000), Offline, "late is no news of one that is down");
        detector.heard(NodeId(7), 1, 13_500);
        assert_eq!(detector.verdict(&watched(1, Offline), T, 13_600), Online);
    }

    #[test]
    fn proof_of_death_is_believed_at_once_and_only_for_its_run() {
        let mut detector = FailureDetector::new(0);
        detector.heard(NodeId(7), 1, 5000);
        detector.dead(NodeId(7), 9);
        assert_eq!(detector.verdict(&watched(1, Online), T, 5001), Online, "another run refused");
        detector.dead(NodeId(7), 1);
        assert_eq!(detector.verdict(&watched(1, Online), T, 5001), Offline);
        detector.heard(NodeId(7), 2, 5002);
        assert_eq!(detector.verdict(&watched(2, Offline), T, 5003), Online, "the next run is alive");
        let mut fresh = FailureDetector::new(5000);
        fresh.dead(NodeId(7), 1);
        assert_eq!(fresh.verdict(&watched(1, Online), T, 5001), Offline, "also under a new leader");
    }

    #[test]
    fn a_new_leader_waits_a_full_lease() {
        let detector = FailureDetector::new(20_000);
        for before in [Online, ProbablyOffline, Offline] {
            assert_eq!(detector.verdict(&watched(1, before), T, 20_000), before);
            assert_eq!(detector.verdict(&watched(1, before), T, 23_000), before);
            assert_eq!(detector.verdict(&watched(1, before), T, 23_001), Offline);
        }
    }

    #[test]
    fn a_heartbeat_of_a_replaced_run_does_not_keep_the_new_one_alive() {
        let mut detector = FailureDetector::new(0);
        detector.heard(NodeId(7), 1, 9000);
        assert_eq!(detector.verdict(&watched(2, Online), T, 9001), Offline);
    }

    #[test]
    fn our_own_standstill_is_not_held_against_others() {
        let mut detector = FailureDetector::new(0);
        detector.heard(NodeId(7), 1, 1000);
        detector.excuse(20_000, 21_500);
        assert_eq!(detector.verdict(&watched(1, Online), T, 21_500), Online);
        assert_eq!(detector.verdict(&watched(1, Online), T, 24_001), Offline, "but their silence after it is");
        let mut fresh = FailureDetector::new(1000);
        fresh.excuse(20_000, 21_500);
        assert_eq!(fresh.verdict(&watched(1, Online), T, 24_000), Online);
    }

    #[test]
    fn only_changes_are_reported() {
        let mut detector = FailureDetector::new(0);
        detector.heard(NodeId(7), 1, 1000);
        let nodes = |r| [watched(1, r)];
        assert_eq!(detector.changes(nodes(Online), T, 1500).count(), 0);
        let change: Vec<_> = detector.changes(nodes(Online), T, 4001).collect();
        assert_eq!(change, [(watched(1, Online), Offline)]);
        assert_eq!(detector.changes(nodes(Offline), T, 4001).count(), 0);
        detector.forget(NodeId(7));
        assert_eq!(detector.silence_ms(&watched(1, Online), 4001), 4001);
    }
}
