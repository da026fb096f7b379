// SPDX-License-Identifier: Apache-2.0

//! To whom a move of data yields.
//!
//! **Failure model.** A recall of the file's delegation waits for the move. One that somebody here waits for goes on for a while: a file that others
//! read all the time could not be written to otherwise. Whoever asks is never kept waiting for as long as it takes to end a session.

use crate::error::{Error, Result};
use crate::file::ops::FileOps;
use crate::file::state::File;
use nyala_wire::ErrorCode;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// What a move is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An administrator's, or to encode the file: it yields to whoever asks for it, and to whoever has it open here or is about to change it.
    Move,
    /// To encode one again that is encoded already: others may have it open and read it, here too.
    Repair,
    /// Somebody here is about to write: those who ask wait for it, for a while.
    Write,
    /// What was written in whole stripes would be lost otherwise.
    Rescue,
}

/// A recall of the delegation is answered after this part of the time in which a session is ended, at the latest.
const KEPT_WAITING: u32 = 4;

/// Whether a move goes on although others want the file.
pub(super) struct Yielding {
    purpose: Purpose,
    /// Since when somebody else asks for the file.
    asked: Mutex<Option<Instant>>,
}

impl Yielding {
    pub(super) fn new(purpose: Purpose) -> Yielding {
        Yielding { purpose, asked: Mutex::default() }
    }

    /// Refuses to go on where others want the file.
    pub(super) fn check(&self, ops: &FileOps, file: &File) -> Result<()> {
        let wanted = match self.purpose {
            Purpose::Move => file.move_lock.is_wanted() || file.state.lock().open().handles() > 0,
            Purpose::Repair => file.move_lock.is_wanted(),
            Purpose::Write | Purpose::Rescue => false,
        };
        let asked = ops.delegations.lock(file.inode).is_going(file.inode);
        let since = {
            let mut since = self.asked.lock();
            *since = since.or(asked.then(Instant::now));
            *since
        };
        let timeout = Duration::from_millis(ops.cluster.maps.view().map.settings.session_timeout_ms.into());
        let longest = if self.purpose == Purpose::Write { timeout / KEPT_WAITING } else { Duration::ZERO };
        let over = self.purpose != Purpose::Rescue && since.is_some_and(|since| since.elapsed() >= longest);
        if wanted || over { Err(in_use()) } else { Ok(()) }
    }
}

/// Somebody else has it, or wants it.
pub(super) fn in_use() -> Error {
    Error::refused(ErrorCode::AGAIN, "others use the file; try again when they have closed it")
}
