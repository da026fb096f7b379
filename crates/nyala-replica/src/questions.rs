// SPDX-License-Identifier: Apache-2.0

//! Questions between members: which message is one, which one answers it, and which are on their way.
//!
//! **Failure model.** Messages are lost, and the member asks again. A question that is on its way over a connection that lives is
//! not sent a second time, since it would only make a slow disk slower. An answer that is owed for long is a sign that what
//! lies between two members fails.

use crate::member::Member;
use crate::message::{Body, Envelope};
use crate::numbers::ByNumber;
use crate::role::MemberRole;
use nyala_wire::TargetId;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

/// A question: between us and whom, of which kind, which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Question {
    /// The other member.
    pub with: TargetId,
    kind: Kind,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Change,
    Sync,
    Gather,
}

impl Question {
    /// The question that a message from or to `with` asks.
    pub fn asked_by(with: TargetId, body: &Body) -> Option<Question> {
        let (kind, number) = match body {
            Body::Forward { seq, .. } | Body::Copy { seq, .. } => (Kind::Change, *seq),
            Body::Sync { id, .. } => (Kind::Sync, *id),
            Body::Gather { .. } => (Kind::Gather, 0),
            _ => return None,
        };
        Some(Question { with, kind, number })
    }

    /// The question that a message from or to `with` answers.
    pub fn answered_by(with: TargetId, body: &Body) -> Option<Question> {
        let (kind, number) = match body {
            Body::Forwarded { seq, .. } => (Kind::Change, *seq),
            Body::Synced { id, .. } => (Kind::Sync, *id),
            Body::Gathered { .. } => (Kind::Gather, 0),
            _ => return None,
        };
        Some(Question { with, kind, number })
    }

    /// The question of `from` that `member` may answer later. One in another epoch, or of a member that does not follow, gets no
    /// answer, and whoever asked is to know that at once.
    pub fn to(member: &Member, from: TargetId, envelope: &Envelope) -> Option<Question> {
        let follows = matches!(member.role(), MemberRole::Secondary | MemberRole::Resyncing);
        let same = member.epoch().is_some_and(|(epoch, _)| epoch == envelope.epoch);
        Question::asked_by(from, &envelope.body).filter(|_| follows && same)
    }
}

/// Questions of ours that are on their way, each in its epoch.
#[derive(Clone, Debug, Default)]
pub struct QuestionsUnderWay {
    since_ms: ByNumber<(Question, u32), u64>,
}

impl QuestionsUnderWay {
    /// A question is to go out now; `false`: it is on its way already.
    pub fn begin(&mut self, question: Question, epoch: u32, now_ms: u64) -> bool {
        match self.since_ms.entry((question, epoch)) {
            Entry::Vacant(new) => {
                new.insert(now_ms);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// It was answered, or its connection failed.
    pub fn end(&mut self, question: Question, epoch: u32) {
        self.since_ms.remove(&(question, epoch));
    }

    /// Members that have owed an answer for `for_ms`.
    pub fn owing(&self, for_ms: u64, now_ms: u64) -> BTreeSet<TargetId> {
        let late = self.since_ms.iter().filter(|(_, since_ms)| now_ms.saturating_sub(**since_ms) >= for_ms);
        late.map(|((question, _), _)| question.with).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TargetId = TargetId(1);
    const B: TargetId = TargetId(2);

    fn question(with: TargetId, number: u64) -> Question {
        Question { with, kind: Kind::Change, number }
    }

    #[test]
    fn a_question_is_on_its_way_once_in_an_epoch() {
        let mut under_way = QuestionsUnderWay::default();
        assert!(under_way.begin(question(A, 1), 5, 0));
        assert!(!under_way.begin(question(A, 1), 5, 10));
        assert!(under_way.begin(question(A, 1), 6, 10), "in another epoch it is another one");
        assert!(under_way.begin(question(B, 1), 5, 10) && under_way.begin(question(A, 2), 5, 10));
        under_way.end(question(A, 1), 5);
        assert!(under_way.begin(question(A, 1), 5, 20));
    }

    #[test]
    fn who_owes_an_answer_is_known_from_when_it_was_asked_first() {
        let mut under_way = QuestionsUnderWay::default();
        under_way.begin(question(A, 1), 5, 0);
        under_way.begin(question(B, 1), 5, 300);
        under_way.begin(question(A, 1), 5, 400);
        assert_eq!(under_way.owing(800, 799), BTreeSet::new());
        assert_eq!(under_way.owing(800, 800), BTreeSet::from([A]));
        assert_eq!(under_way.owing(800, 1100), BTreeSet::from([A, B]));
        under_way.end(question(A, 1), 5);
        assert_eq!(under_way.owing(800, 1100), BTreeSet::from([B]));
    }
}
