// SPDX-License-Identifier: Apache-2.0

//! A client's request to make an empty directory whole again, since it is to be removed. [`super`] has the failure model.

use super::counting::{Counting, fragments};
use crate::server::backoff::Backoff;
use crate::server::consider::consider;
use crate::server::grants;
use crate::server::io::Token;
use crate::server::slots::gate;
use crate::server::state::{Progress, State, Task};
use crate::server::waits::{Event, Wait};
use nyala_wire::meta::{MetaOp, MetaReply};
use nyala_wire::{ErrorCode, InodeId, WireError};

/// One such request.
pub struct MergeDir {
    token: Token,
    dir: InodeId,
    backoff: Backoff,
    counting: Option<Counting>,
    empty: bool,
}

impl MergeDir {
    /// Begins.
    pub fn new(state: &State, token: Token, dir: InodeId) -> MergeDir {
        MergeDir { token, dir, backoff: Backoff::new(state.now.ms), counting: None, empty: false }
    }

    fn advance(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        match gate::pass(&state.ground, &MetaOp::MergeDir(self.dir)) {
            Ok(()) => {}
            Err(crate::change::Fault::Refused(error)) => return Err(error),
            Err(_) => return self.backoff.wait(Event::Released, state.now.ms).map(Some),
        }
        let now = match fragments(state, self.dir) {
            Err(error) if error.code == ErrorCode::BUSY => {
                return self.backoff.wait(Event::Released, state.now.ms).map(Some);
            }
            other => other?,
        };
        if now.is_empty() {
            return Ok(None);
        }
        if !self.empty {
            if self.counting.is_none() {
                self.counting = Some(Counting::new(state, self.dir, &now)?);
            }
            match self.counting.as_mut().and_then(|counting| counting.advance(state)) {
                None => return Ok(Some(Wait::COMPLETION)),
                Some(counts) if counts.as_ref().is_ok_and(|counts| counts.iter().sum::<u64>() > 0) => {
                    return Err(ErrorCode::NOT_EMPTY.into());
                }
                Some(Ok(_)) => self.empty = true,
                // One of them went, or is locked, for a moment.
                Some(Err(_)) => {
                    self.counting = None;
                    return self.backoff.wait(Event::Released, state.now.ms).map(Some);
                }
            }
        }
        consider(state, self.dir);
        self.backoff.wait(Event::Released, state.now.ms).map(Some)
    }
}

impl Task for MergeDir {
    fn step(&mut self, state: &mut State) -> Progress {
        let result = match self.advance(state) {
            Ok(Some(wait)) => return Progress::Wait(wait),
            Ok(None) => Ok(grants::plain(&MetaReply::Done)),
            Err(error) => Err(error),
        };
        state.reply(self.token, result);
        Progress::Done
    }
}
