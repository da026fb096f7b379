// SPDX-License-Identifier: Apache-2.0

//! Raft's membership against the cluster state: the record in the cluster state is the decision, Raft's membership follows.
//!
//! **Failure model.** A predecessor died in the middle of a change and left a joint configuration behind: it is completed
//! first. A change that would leave a set of voters without a majority that answers is not made, for it could never be
//! completed or undone.

use std::collections::BTreeSet;

/// Raft's membership as it is in the log of this leader. Nodes have their numbers in Raft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// Who votes, in either of two sets if there are two.
    pub voters: BTreeSet<u64>,
    /// Who votes in each of them.
    pub voters_of_each: BTreeSet<u64>,
    /// Voters and learners.
    pub nodes: BTreeSet<u64>,
    /// Two sets of voters have to agree at the moment.
    pub joint: bool,
    /// It is decided, not just written.
    pub decided: bool,
}

/// A change of Raft's membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembershipChange {
    /// Ends a joint configuration.
    Complete,
    /// Drops nodes without a vote.
    DropLearners(BTreeSet<u64>),
    /// Takes votes away.
    DropVoters(BTreeSet<u64>),
}

/// Why a voter cannot be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepsVoter {
    /// It is the only one.
    Only,
    /// Those that would remain have no majority that answers.
    NoMajority,
}

impl Membership {
    /// Whether a node can be counted on when this leader dies. A vote that was given to it is worth nothing before that is decided, or
    /// known to the node itself: the others may go on with the voters from before. `knows`: it has stored this membership.
    pub fn counts(&self, id: u64, knows: bool) -> bool {
        self.voters_of_each.contains(&id) && (self.decided || knows)
    }

    /// Whether the voters that remain without `gone` have a majority that answers.
    pub fn can_lose(&self, gone: &BTreeSet<u64>, answers: impl Fn(u64) -> bool) -> bool {
        let remain: Vec<u64> = self.voters.difference(gone).copied().collect();
        let alive = remain.iter().filter(|id| answers(**id)).count();
        !remain.is_empty() && alive > remain.len() / 2
    }

    /// Refuses the removal of a node without which nothing could be decided.
    pub fn check_removal(&self, id: u64, answers: impl Fn(u64) -> bool) -> Result<(), KeepsVoter> {
        match self.voters.contains(&id) {
            false => Ok(()),
            true if self.voters.len() == 1 => Err(KeepsVoter::Only),
            true if !self.can_lose(&BTreeSet::from([id]), answers) => Err(KeepsVoter::NoMajority),
            true => Ok(()),
        }
    }

    /// The next change towards what the cluster state has (`belong`), if one is due and can be completed.
    pub fn next_change(&self, belong: &BTreeSet<u64>, answers: impl Fn(u64) -> bool) -> Option<MembershipChange> {
        if self.joint {
            return Some(MembershipChange::Complete);
        }
        let gone: BTreeSet<u64> = self.nodes.difference(belong).copied().collect();
        if belong.is_empty() || gone.is_empty() {
            return None;
        }
        let votes: BTreeSet<u64> = gone.intersection(&self.voters).copied().collect();
        if votes.is_empty() {
            return Some(MembershipChange::DropLearners(gone));
        }
        self.can_lose(&votes, answers).then_some(MembershipChange::DropVoters(votes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ids: &[u64]) -> BTreeSet<u64> {
        ids.iter().copied().collect()
    }

    fn membership(voters: &[u64], nodes: &[u64]) -> Membership {
        let voters = set(voters);
        Membership { voters_of_each: voters.clone(), voters, nodes: set(nodes), joint: false, decided: true }
    }

    #[test]
    fn a_vote_counts_once_all_go_by_it() {
        let joint = Membership { voters_of_each: set(&[1]), joint: true, ..membership(&[1, 2, 3], &[1, 2, 3]) };
        assert!(joint.counts(1, true) && !joint.counts(2, true), "without 1 nobody is elected");
        let written = Membership { decided: false, ..membership(&[1, 2, 3], &[1, 2, 3]) };
        assert!(written.counts(2, true), "it can be elected by 3");
        assert!(!written.counts(3, false), "it may be asked by nobody who knows that it votes");
        assert!(membership(&[1, 2, 3], &[1, 2, 3, 4]).counts(3, false), "it is behind, or away");
        assert!(!membership(&[1, 2, 3], &[1, 2, 3, 4]).counts(4, true), "a learner");
    }

    #[test]
    fn what_the_state_does_not_have_goes_learners_first() {
        let all = |_| true;
        let three = membership(&[1, 2, 3], &[1, 2, 3, 4]);
        assert_eq!(three.next_change(&set(&[1, 2, 3]), all), Some(MembershipChange::DropLearners(set(&[4]))));
        assert_eq!(three.next_change(&set(&[1, 2, 4]), all), Some(MembershipChange::DropVoters(set(&[3]))));
        assert_eq!(three.next_change(&set(&[1, 2, 3, 4]), all), None);
        assert_eq!(three.next_change(&set(&[]), all), None, "a state without management nodes decides nothing");
        let joint = Membership { joint: true, ..three };
        assert_eq!(joint.next_change(&set(&[1, 2, 3, 4]), all), Some(MembershipChange::Complete));
    }

    #[test]
    fn nobody_goes_without_whom_nothing_is_decided() {
        let only_first = |id| id == 1;
        let three = membership(&[1, 2, 3], &[1, 2, 3]);
        assert_eq!(three.next_change(&set(&[1, 2]), only_first), None, "1 of 2 is no majority");
        assert_eq!(three.check_removal(3, only_first), Err(KeepsVoter::NoMajority));
        assert_eq!(three.check_removal(3, |id| id != 3), Ok(()), "it need not answer itself");
        assert_eq!(three.check_removal(9, only_first), Ok(()), "it has no vote");
        assert_eq!(membership(&[1], &[1]).check_removal(1, |_| true), Err(KeepsVoter::Only));
    }
}
