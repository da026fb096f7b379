// SPDX-License-Identifier: Apache-2.0

//! Moving a file's inline content to storage: one client at a time does it.
//!
//! Failure model: a claim ends with the session that has it, or when its client says that the move is over.

use super::backoff::Backoff;
use super::grants;
use super::held;
use super::io::Token;
use super::recall::Recall;
use super::slots::gate;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::change::Fault;
use crate::sessions::Leave;
use nyala_wire::meta::{MetaReply, MetaRequest};
use nyala_wire::{ErrorCode, WireError};

/// `Spill`: waits until nobody else moves the file's inline content, nor has written something that is not committed; or says
/// that the move is over. A repetition finds its own claim; a copy that comes late is refused by its number.
pub struct Spill {
    token: Token,
    request: MetaRequest,
    leave: Leave,
    done: bool,
    backoff: Backoff,
    recall: Recall,
}

impl Spill {
    /// Begins.
    pub fn new(state: &State, token: Token, request: MetaRequest, leave: Leave, done: bool) -> Spill {
        let recall = Recall::of(&request);
        Spill { token, request, leave, done, backoff: Backoff::new(state.now.ms), recall }
    }

    fn attempt(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        let Some(inode) = self.request.op.routing_inode() else { return Err(ErrorCode::BAD_MESSAGE.into()) };
        if self.done {
            state.delegations.moved(inode, self.request.session);
            state.wake(Event::Delegations);
            return Ok(None);
        }
        // Its session may have ended, or its client given it up, while it waited: such a claim would never end.
        state.sessions.check(self.leave)?;
        match gate::pass(&state.ground, &self.request.op) {
            Ok(()) => {}
            Err(Fault::Refused(error)) => return Err(error),
            Err(_) => return self.backoff.wait(Event::Released, state.now.ms).map(Some),
        }
        match self.recall.claim(state, inode) {
            true if !held::keep(state) => Err(ErrorCode::NO_SPACE.with("no room to note who moves the file's content")),
            true => Ok(None),
            false => self.backoff.wait(Event::Delegations, state.now.ms).map(Some),
        }
    }
}

impl Task for Spill {
    fn step(&mut self, state: &mut State) -> Progress {
        let result = match self.attempt(state) {
            Ok(Some(wait)) => return Progress::Wait(wait),
            Ok(None) => Ok(grants::plain(&MetaReply::Done)),
            Err(error) => Err(error),
        };
        self.recall.end(state);
        state.reply(self.token, result);
        Progress::Done
    }
}
