// SPDX-License-Identifier: Apache-2.0

//! Counts the entries of a directory's fragments. [`super`] has the failure model.

use crate::change::Fault;
use crate::server::io::Ticket;
use crate::server::look_at_fragment;
use crate::server::state::State;
use nyala_wire::fragments::{CookieRange, Fragment};
use nyala_wire::meta_tx::{TxAction, TxId, TxReply};
use nyala_wire::{ErrorCode, InodeId, WireError};

/// Asks for no entries.
const NONE: CookieRange = CookieRange { from: 0, upto: 0 };

/// The fragments of a directory that is here, in the order of their ranges.
pub fn fragments(state: &mut State, dir: InodeId) -> Result<Vec<Fragment>, WireError> {
    let found = state.ground.look(None, |mut change| Ok(change.dir(dir)?.1.fragments().to_vec()));
    found.map_err(Fault::refusal)
}

/// Asks about a fragment that may be anywhere; what is here is answered at once.
pub fn look(state: &mut State, inode: InodeId, range: CookieRange, most: u32) -> Result<Look, WireError> {
    let target = state.ground.map().slot_target(inode.slot()).ok_or_else(|| WireError::from(ErrorCode::BUSY))?;
    if target == state.ground.me {
        return look_at_fragment::answer(state, inode, range, most).map(|reply| Look::Known(Box::new(reply)));
    }
    let tx = TxId { coordinator: state.ground.me, number: 0 };
    Ok(Look::Asked(state.ask(target, tx, TxAction::LookAtFragment { inode, range, most })))
}

/// A question about a fragment.
pub enum Look {
    /// It is answered.
    Known(Box<TxReply>),
    /// Another server is asked.
    Asked(Ticket),
}

impl Look {
    /// The answer, once it is there.
    pub fn advance(&mut self, state: &mut State) -> Option<Result<TxReply, WireError>> {
        match self {
            Look::Known(reply) => Some(Ok((**reply).clone())),
            Look::Asked(ticket) => state.heard(*ticket),
        }
    }
}

/// Counts, as of different moments.
pub struct Counting {
    looks: Vec<Look>,
    counts: Vec<u64>,
}

impl Counting {
    /// Begins with the directory itself, which is the last of its fragments.
    pub fn new(state: &mut State, dir: InodeId, fragments: &[Fragment]) -> Result<Counting, WireError> {
        let all = fragments.iter().map(|fragment| fragment.inode).chain([dir]);
        let looks = all.map(|inode| look(state, inode, NONE, 0)).collect::<Result<Vec<Look>, WireError>>()?;
        Ok(Counting { looks, counts: Vec::new() })
    }

    /// The numbers of entries, in the order of the ranges.
    pub fn advance(&mut self, state: &mut State) -> Option<Result<Vec<u64>, WireError>> {
        while let Some(look) = self.looks.get_mut(self.counts.len()) {
            match look.advance(state)? {
                Ok(TxReply::Fragment { count, .. }) => self.counts.push(count),
                Ok(_) => return Some(Err(ErrorCode::BAD_MESSAGE.into())),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(std::mem::take(&mut self.counts)))
    }
}
