// SPDX-License-Identifier: Apache-2.0

//! Clients' requests: who may be served, and what is new.

use super::Member;
use super::work::{Kind, Spread, SyncBy, Work};
use crate::clients::{Admission, Asker};
use crate::effect::{Answer, Effect};
use crate::input::{Request, Ticket, Wish};
use crate::rules::{Rule, broken};
use crate::standing::Standing;
use std::collections::{BTreeMap, BTreeSet};

impl Member {
    pub(super) fn request(&mut self, request: Request) {
        let Request { token, client, seq, lowest, wish, came_us, .. } = request;
        let asker = Asker { token, client, seq };
        if let Err(answer) = self.may(&request) {
            self.drop_payload(wish);
            self.reply(token, answer);
            return;
        }
        if let Wish::Read(file, span) = wish {
            self.read(asker, came_us, file, span);
            return;
        }
        let mut admission = self.clients.admit(client, seq, lowest, self.now_ms);
        if broken(self.broken, Rule::DoOnce) {
            admission = Admission::New;
        }
        if admission != Admission::New {
            self.drop_payload(wish);
        }
        match admission {
            // An old copy, or too many at once: whoever still waits asks again.
            Admission::Void => self.reply(token, Answer::NotReady),
            Admission::Done(answer) => self.reply(token, answer),
            Admission::Running => self.newest_asker(asker),
            Admission::New => self.begin(asker, came_us, wish),
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
        let reads = matches!(request.wish, Wish::Read(..));
        match self.standing {
            Standing::Leading => {}
            Standing::Following if reads => {}
            Standing::Taking => return Err(Answer::NotReady),
            _ => return Err(Answer::WrongEpoch),
        }
        if self.serves() { Ok(()) } else { Err(Answer::NotReady) }
    }

    fn begin(&mut self, asker: Asker, began_us: u64, wish: Wish) {
        let id = self.number();
        let kind = match wish {
            Wish::Change(change, payload) => Kind::Change(Spread::new(change, payload), asker),
            _ => {
                Kind::Sync { by: SyncBy::Client(asker), flushed: false, acked: BTreeSet::new(), sent: BTreeMap::new() }
            }
        };
        self.work.insert(id, Work { kind, line: None, job: None, began_us });
        match wish {
            Wish::Change(change, _) => {
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

    fn drop_payload(&mut self, wish: Wish) {
        if let Wish::Change(_, ticket) = wish {
            self.drop_ticket(ticket);
        }
    }

    pub(super) fn drop_ticket(&mut self, ticket: Ticket) {
        self.out.push(Effect::Drop(ticket));
    }
}
