// SPDX-License-Identifier: Apache-2.0

//! The envelope of Raft messages: who sends, who is meant, and what the receiver has confirmed. Where the peers are.
//!
//! **Failure model.** An address may belong to another node by now, or to the sender itself (loopback, a copied
//! configuration): every message names cluster, sender and receiver, and anybody else refuses it, so that nobody counts
//! an answer of the wrong node. The sender then tries the next address that it knows for the peer. A peer's log may be
//! older than what it has confirmed (a restored copy, a disk that lied): the leader says with each message what the peer
//! has confirmed to it, and the peer notices. A node that was given up may come back: see [`super::recovery`].

use super::LogId;
use super::machine::View;
use super::record::Position;
use super::recovery::{Recovery, check_recovery};
use super::rpc::RaftRequest;
use minicbor::{Decode, Encode};
use nyala_cluster::ClusterState;
use nyala_wire::error::WireError;
use nyala_wire::map::Role;
use nyala_wire::{ClusterId, ErrorCode, NodeId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use tokio::sync::watch;

/// Most addresses that are taken from one message.
const MAX_ADDRESSES: usize = 8;

/// A request with its envelope: the body of a `MGMT_RAFT` frame.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RaftMessage {
    #[n(0)]
    pub cluster: ClusterId,
    /// Raft number of the sender.
    #[n(1)]
    pub from: u64,
    /// Raft number of the only node that may answer.
    #[n(2)]
    pub to: u64,
    /// Where the sender can be reached now, best first.
    #[n(3)]
    pub addresses: Vec<String>,
    /// The last entry that the receiver has confirmed to the sender in the term of this request.
    #[n(4)]
    pub confirmed: Option<Position>,
    #[n(5)]
    pub request: RaftRequest,
    /// The recovery that the sender's state is of; absent while it has none.
    #[n(6)]
    #[cbor(default)]
    pub recovery: Option<Recovery>,
}

/// This node among the management nodes.
pub(crate) struct Peers {
    cluster: ClusterId,
    me: u64,
    addresses: Vec<SocketAddr>,
    /// Further places where any of the others may be.
    hints: Vec<SocketAddr>,
    /// Where peers said that they are; newer than the cluster state while nobody leads.
    announced: Mutex<BTreeMap<u64, Vec<SocketAddr>>>,
    /// What peers confirmed to this node as leader, with the term.
    confirmed: Mutex<BTreeMap<u64, (u64, LogId)>>,
    /// A peer said that management goes on without this node.
    removed: watch::Sender<bool>,
}

impl Peers {
    /// For the node `me`, which is reached at `addresses`; `hints` are tried for peers that are not where they were.
    pub(crate) fn new(cluster: ClusterId, me: u64, addresses: &[SocketAddr], hints: &[SocketAddr]) -> Peers {
        let hints = hints.iter().filter(|hint| !addresses.contains(hint)).copied().collect();
        let (announced, confirmed, removed) = (Mutex::default(), Mutex::default(), watch::Sender::new(false));
        Peers { cluster, me, addresses: addresses.to_vec(), hints, announced, confirmed, removed }
    }

    /// The envelope for a request of `term` to the node `to`.
    pub(crate) fn address(&self, to: u64, term: u64, request: RaftRequest, state: &ClusterState) -> RaftMessage {
        let addresses = self.addresses.iter().map(ToString::to_string).collect();
        let confirmed = self.confirmed(to, term).map(Position::from);
        let recovery = Recovery::of(state);
        RaftMessage { cluster: self.cluster, from: self.me, to, addresses, confirmed, request, recovery }
    }

    /// Refuses what is not for this node, whose state is `state`, and remembers where the sender is.
    pub(crate) fn check(&self, message: &RaftMessage, state: &ClusterState) -> Result<(), WireError> {
        let RaftMessage { cluster, from, to, .. } = message;
        if *cluster != self.cluster {
            return Err(ErrorCode::FOREIGN.with(format!("this is cluster {}, not {cluster}", self.cluster)));
        }
        if *to != self.me {
            return Err(ErrorCode::INVALID.with(format!("this is management node {}, not {to}", self.me)));
        }
        if *from == self.me {
            return Err(ErrorCode::INVALID.with(format!("management node {from} cannot be asked by itself")));
        }
        check_recovery(message.recovery, Recovery::of(state))?;
        let addresses: Vec<SocketAddr> =
            message.addresses.iter().take(MAX_ADDRESSES).filter_map(|text| text.parse().ok()).collect();
        if !addresses.is_empty() {
            self.announced.lock().insert(*from, addresses);
        }
        Ok(())
    }

    /// A peer refused a message, perhaps because management goes on without this node.
    pub(crate) fn refused(&self, error: &WireError) {
        if error.code == ErrorCode::REMOVED {
            self.removed.send_replace(true);
        }
    }

    /// Returns once a peer has said that management goes on without this node.
    pub(crate) async fn is_removed(&self) {
        // An error means that the sender is gone, which cannot be while `self` lives.
        let _ = self.removed.subscribe().wait_for(|removed| *removed).await;
    }

    /// A peer has confirmed everything up to `at` to this node, which leads in `term`.
    pub(crate) fn note_confirmed(&self, peer: u64, term: u64, at: Option<LogId>) {
        let Some(at) = at else { return };
        let mut confirmed = self.confirmed.lock();
        let known = confirmed.entry(peer).or_insert((term, at));
        *known = (*known).max((term, at));
    }

    /// What a peer has confirmed in `term`.
    pub(crate) fn confirmed(&self, peer: u64, term: u64) -> Option<LogId> {
        self.confirmed.lock().get(&peer).filter(|(at_term, _)| *at_term == term).map(|(_, at)| *at)
    }

    /// Lists of addresses at which `peer` may be, the likeliest first; `member_at` is where it became a member.
    pub(crate) fn candidates(&self, peer: u64, view: &View, member_at: &str) -> Vec<Vec<SocketAddr>> {
        let state = view.state();
        let known = u32::try_from(peer).ok().and_then(|id| state.node(NodeId(id)));
        let known = known.filter(|node| node.role == Role::Mgmt).map(|node| node.addresses.clone());
        let announced = self.announced.lock().get(&peer).cloned();
        let begun = if known.is_none() { member_at.parse().ok().map(|at: SocketAddr| vec![at]) } else { None };
        let mut candidates: Vec<Vec<SocketAddr>> = Vec::new();
        let hints = self.hints.iter().map(|hint| vec![*hint]);
        for candidate in announced.into_iter().chain(known).chain(begun).chain(hints) {
            if !candidate.is_empty() && !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn peers(me: u64) -> Peers {
        Peers::new(ClusterId([1; 16]), me, &[at("10.0.0.1:8008")], &[at("10.0.0.1:8008"), at("10.0.0.2:8008")])
    }

    #[test]
    fn only_the_node_that_is_meant_takes_a_message() {
        let request = || RaftRequest::Vote { vote: crate::raft::Vote::new(3, 1).into(), last: None };
        let state = ClusterState::default();
        let message = peers(1).address(2, 3, request(), &state);
        assert!(peers(2).check(&message, &state).is_ok());
        let refused = |me: u64, message: &RaftMessage| peers(me).check(message, &state).unwrap_err().message;
        assert!(refused(3, &message).contains("node 3, not 2"));
        // A node that took its own address for another's.
        assert!(refused(1, &message).contains("node 1, not 2"));
        assert!(refused(1, &RaftMessage { to: 1, ..message.clone() }).contains("by itself"));
        let other = RaftMessage { cluster: ClusterId([2; 16]), ..message };
        assert!(refused(2, &other).contains("cluster"));
    }

    #[tokio::test]
    async fn one_that_was_given_up_is_told() {
        let peers = peers(1);
        peers.refused(&ErrorCode::INVALID.with("another node"));
        assert!(!*peers.removed.borrow());
        peers.refused(&check_recovery(None, Some(Recovery { count: 1, drawn: 5 })).unwrap_err());
        tokio::time::timeout(std::time::Duration::from_secs(5), peers.is_removed()).await.expect("it knows");
    }

    #[test]
    fn what_was_confirmed_counts_in_its_term_only_and_never_goes_back() {
        let peers = peers(1);
        let id = |term, index| LogId::new(openraft::CommittedLeaderId::new(term, 1), index);
        peers.note_confirmed(2, 5, Some(id(5, 9)));
        peers.note_confirmed(2, 5, Some(id(5, 7)));
        peers.note_confirmed(2, 5, None);
        assert_eq!(peers.confirmed(2, 5), Some(id(5, 9)));
        assert_eq!((peers.confirmed(2, 6), peers.confirmed(3, 5)), (None, None));
        peers.note_confirmed(2, 6, Some(id(6, 8)));
        assert_eq!((peers.confirmed(2, 5), peers.confirmed(2, 6)), (None, Some(id(6, 8))));
    }
}
