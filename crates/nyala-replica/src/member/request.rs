// SPDX-License-Identifier: Apache-2.0

//! Clients' requests: who may be served, and what is new.

use super::Member;
use super::work::{Kind, ReplicatedOp, SyncBy, Work};
use crate::clients::{Admission, Asker};
use crate::effect::{Answer, Effect};
use crate::input::{Operation, Request, Ticket};
use crate::role::MemberRole;
use crate::rules::{Rule, broken};
use std::collections::{BTreeMap, BTreeSet};

impl Member {
    pub(super) fn request(&mut self, request: Request) {
        let Request { token, client, seq, lowest, operation, came_us, .. } = request;
        let asker = Asker { token, client, seq };
        if let Err(answer) = self.may(&request) {
            self.drop_payload(operation);
            self.reply(token, answer);
            return;
        }
        if let Operation::Read(file, span) = operation {
            self.read(asker, came_us, file, span);
            return;
        }
        let mut admission = self.clients.admit(client, seq, lowest, self.now_ms);
        if broken(self.broken, Rule::DoOnce) {
            admission = Admission::New;
        }
        if admission != Admission::New {
            self.drop_payload(operation);
        }
        match admission {
            // An old copy, or too many at once: whoever still waits asks again.
            Admission::Void => self.reply(token, Answer::NotReady),
            Admission::Done(answer) => self.reply(token, answer),
            Admission::Running => self.newest_asker(asker),
            Admission::New => self.begin(asker, came_us, operation),
        }
    }

    /// Whether a request can be served here and now.
    fn may(&mut self, request: &Request) -> Result<(), Answer> {
        let Some(view) = &self.view else { return Err(Answer::NotReady) };
        if request.epoch != view.group.epoch {
            if request.epoch > view.group.epoch {
                self.out.push(Effect::FetchMap);
            }
            return Err(Answer::WrongEpoch);
        }
        let reads = matches!(request.operation, Operation::Read(..));
        match self.role {
            MemberRole::Primary => {}
            MemberRole::Secondary if reads => {}
            MemberRole::Recovering => return Err(Answer::NotReady),
            _ => return Err(Answer::WrongEpoch),
        }
        if self.serves() { Ok(()) } else { Err(Answer::NotReady) }
    }

    fn begin(&mut self, asker: Asker, began_us: u64, operation: Operation) {
        let id = self.number();
        let kind = match operation {
            Operation::Change(change, payload) => Kind::Change(ReplicatedOp::new(change, payload), asker),
            _ => {
                Kind::Sync { by: SyncBy::Client(asker), flushed: false, acked: BTreeSet::new(), sent: BTreeMap::new() }
            }
        };
        self.work.insert(id, Work { kind, line: None, job: None, began_us });
        match operation {
            Operation::Change(change, _) => {
                let exclusive = !broken(self.broken, Rule::ChangesInTurn);
                self.enter(id, change.file, change.span, exclusive);
            }
            _ => self.begin_sync(id),
        }
    }

    /// A request that is under way came again: the answer goes to its newest copy.
    fn newest_asker(&mut self, newest: Asker) {
        for work in self.work.values_mut() {
            match &mut work.kind {
                Kind::Change(_, asker) | Kind::Sync { by: SyncBy::Client(asker), .. }
                    if (asker.client, asker.seq) == (newest.client, newest.seq) =>
                {
                    asker.token = newest.token;
                }
                _ => {}
            }
        }
    }

    fn drop_payload(&mut self, operation: Operation) {
        if let Operation::Change(_, ticket) = operation {
            self.drop_ticket(ticket);
        }
    }

    pub(super) fn drop_ticket(&mut self, ticket: Ticket) {
        self.out.push(Effect::Drop(ticket));
    }
}
