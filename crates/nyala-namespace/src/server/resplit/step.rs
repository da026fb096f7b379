// SPDX-License-Identifier: Apache-2.0

//! One step of one directory. [`super`] has the failure model.

use super::counting::{Counting, Look, fragments, look};
use super::own_transaction::own_transaction;
use super::servers::Servers;
use super::window::Window;
use crate::ns::fragments::entries::Seen;
use crate::server::look_at_fragment::MOST_ENTRIES;
use crate::server::state::State;
use crate::server::transaction::{self, Transaction};
use crate::server::waits::Wait;
use crate::splitting::{self, Next};
use crate::tx::resplit::{Move, Resplit};
use nyala_wire::fragments::Fragment;
use nyala_wire::meta::MetaRequest;
use nyala_wire::meta_tx::{TxPart, TxReply};
use nyala_wire::{ErrorCode, InodeId, WireError};

/// How far it came.
pub enum Turn {
    /// It goes on later.
    Wait(Wait),
    /// There is nothing to be done, or no directory any more.
    Settled,
    /// It is done; there may be more to do.
    Done,
    /// It came to nothing.
    Again,
}

enum Phase {
    Counting(Counting),
    /// What is to be moved is being looked at.
    Looking(Window, Look),
    Transaction(Box<Transaction>, Box<MetaRequest>),
}

/// One step.
pub struct Step {
    /// Whose.
    pub dir: InodeId,
    fragments: Vec<Fragment>,
    /// What is counted once it is done.
    what: &'static str,
    phase: Phase,
}

impl Step {
    /// Begins, if there is such a directory here.
    pub fn begin(state: &mut State, dir: InodeId) -> Option<Step> {
        if !state.ground.is_usable(dir.slot()) {
            return None;
        }
        let fragments = fragments(state, dir).ok()?;
        let counting = Counting::new(state, dir, &fragments).ok()?;
        Some(Step { dir, fragments, what: "", phase: Phase::Counting(counting) })
    }

    /// Goes on as far as it can.
    pub fn advance(&mut self, state: &mut State) -> Turn {
        loop {
            let next = match &mut self.phase {
                Phase::Counting(counting) => match counting.advance(state) {
                    None => return Turn::Wait(Wait::COMPLETION),
                    Some(Err(_)) => return Turn::Again,
                    Some(Ok(counts)) => self.decide(state, &counts),
                },
                Phase::Looking(window, look) => match look.advance(state) {
                    None => return Turn::Wait(Wait::COMPLETION),
                    Some(Ok(reply)) => {
                        let window = *window;
                        self.looked(state, window, reply)
                    }
                    Some(Err(_)) => return Turn::Again,
                },
                Phase::Transaction(transaction, request) => match transaction.advance(state, request) {
                    transaction::Turn::Wait(wait) => return Turn::Wait(wait),
                    transaction::Turn::Done(_) => {
                        state.count(self.what);
                        return Turn::Done;
                    }
                    transaction::Turn::Failed(_) => return Turn::Again,
                },
            };
            match next {
                Ok(Some(phase)) => self.phase = phase,
                Ok(None) => return Turn::Settled,
                Err(_) => return Turn::Again,
            }
        }
    }

    fn decide(&mut self, state: &mut State, counts: &[u64]) -> Result<Option<Phase>, WireError> {
        let ends: Vec<u64> = self.fragments.iter().map(|fragment| fragment.upto).collect();
        let (map, random) = (state.ground.map().clone(), state.ground.random());
        let servers = Servers::of(&map);
        let next = splitting::next(&ends, counts.iter().sum(), servers.count(), state.ground.split_above);
        match next {
            None => Ok(None),
            Some(Next::Add) => {
                let inodes: Vec<InodeId> = self.fragments.iter().map(|fragment| fragment.inode).collect();
                let slot = servers.slot_besides(state.ground.me, &inodes, random);
                slot.map(|slot| self.transaction(state, Move::Add(slot))).transpose()
            }
            Some(Next::Drop) => self.transaction(state, Move::Drop).map(Some),
            Some(Next::Move { at, to }) => {
                let giver = if to > ends[at] { at + 1 } else { at };
                let entries = counts.get(giver).copied().unwrap_or(0);
                self.look(state, Window::new(&self.fragments, at, to, entries)).map(Some)
            }
        }
    }

    fn inode(&self, at: usize) -> InodeId {
        self.fragments.get(at).map_or(self.dir, |fragment| fragment.inode)
    }

    fn look(&self, state: &mut State, window: Window) -> Result<Phase, WireError> {
        let giver = self.inode(window.between().0);
        let look = look(state, giver, window.range, MOST_ENTRIES)?;
        Ok(Phase::Looking(window, look))
    }

    fn looked(&mut self, state: &mut State, window: Window, reply: TxReply) -> Result<Option<Phase>, WireError> {
        let TxReply::Fragment { entries, end, .. } = reply else {
            return Err(ErrorCode::BAD_MESSAGE.into());
        };
        if !end && let Some(half) = window.half() {
            return self.look(state, half).map(Some);
        }
        let seen = Seen { entries, end };
        let (range, (giver, taker)) = (window.range, window.between());
        let give = TxPart::GiveEntries { inode: self.inode(giver), range, behind: !window.up, digest: seen.digest() };
        let take = TxPart::TakeEntries { inode: self.inode(taker), range, entries: seen.entries };
        let step = Move::Entries { at: window.at, upto: window.end(), parts: Box::new((give, take)) };
        self.transaction(state, step).map(Some)
    }

    fn transaction(&mut self, state: &mut State, step: Move) -> Result<Phase, WireError> {
        self.what = step.name();
        let resplit = Resplit { dir: self.dir, before: self.fragments.clone(), step };
        let (transaction, request) = own_transaction(state, resplit)?;
        Ok(Phase::Transaction(Box::new(transaction), Box::new(request)))
    }
}
