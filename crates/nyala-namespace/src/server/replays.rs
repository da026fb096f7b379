// SPDX-License-Identifier: Apache-2.0

//! What clients of earlier runs have said that is to be done again. [`super::replay`] does it, and has the failure model.

use crate::records::TruncateRecord;
use nyala_wire::meta::{Acknowledged, MetaOp, MetaRequest};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError, codec};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most bytes of all clients that are kept for it. What does not fit is refused, and is lost: its client is told so.
const MAX_BYTES: usize = 256 << 20;

/// Most open files of all clients.
const MAX_OPEN: usize = 4_000_000;

/// ReplayPosition in the order in which changes are done again: that of the lost log first.
pub type ReplayPosition = (u64, SessionId, u64);

/// What clients of earlier runs have to say.
#[derive(Debug, Default)]
pub struct Replays {
    /// Sessions of earlier runs for which nothing else may be done before what all of them say is done again.
    pub silent: BTreeSet<SessionId>,
    /// Those of them that have said everything.
    pub said: BTreeSet<SessionId>,
    /// What is to be done again.
    pub changes: BTreeMap<ReplayPosition, Acknowledged>,
    /// What they take.
    pub bytes: usize,
    /// Files that clients have open.
    pub open: BTreeSet<(InodeId, SessionId)>,
    /// Truncations that an earlier run left, of whatever slots there are rows of. One is over if its client was told so.
    pub truncations: BTreeMap<InodeId, TruncateRecord>,
    /// Of each session, what could not be done again.
    pub lost: HashMap<SessionId, Vec<u64>>,
    /// All have said everything, and it is done.
    pub over: bool,
}

impl Replays {
    /// After a start, with all sessions of before. `all_answered`: there is nothing to be done again, so nobody waits for anybody else.
    pub fn new(
        silent: BTreeSet<SessionId>,
        truncations: BTreeMap<InodeId, TruncateRecord>,
        all_answered: bool,
    ) -> Replays {
        Replays { over: silent.is_empty() || all_answered, silent, truncations, ..Replays::default() }
    }

    /// Whether nobody has anything left to say.
    pub fn have_all_said(&self) -> bool {
        self.silent.is_subset(&self.said)
    }

    /// Whether everything is done again.
    pub fn over(&self) -> bool {
        self.over
    }

    /// Whether nothing else may be done for a session, as what it says is not yet done again.
    pub fn is_silent(&self, session: SessionId) -> bool {
        self.silent.contains(&session)
    }

    /// A session has ended.
    pub fn forget(&mut self, session: SessionId) {
        self.silent.remove(&session);
        self.said.remove(&session);
        self.lost.remove(&session);
        self.open.retain(|(_, by)| *by != session);
        let bytes = &mut self.bytes;
        self.changes.retain(|position, change| {
            let goes = position.1 == session;
            *bytes -= if goes { size(change) } else { 0 };
            !goes
        });
    }

    /// A client says which files it has open.
    pub fn open(&mut self, session: SessionId, files: &[InodeId]) -> Result<(), WireError> {
        if self.open.len() + files.len() > MAX_OPEN {
            return Err(ErrorCode::TOO_BIG.with("clients have more files open than fits into memory"));
        }
        self.open.extend(files.iter().map(|inode| (*inode, session)));
        Ok(())
    }

    /// A client says what it was told. An error: it was not, or there is too much; then nothing of it is kept, as its client takes all of it
    /// for lost.
    pub fn keep(&mut self, session: SessionId, changes: &[Acknowledged]) -> Result<(), WireError> {
        let numbers: Vec<u64> = changes.iter().map(|change| check(session, change)).collect::<Result<_, _>>()?;
        if self.bytes + changes.iter().map(size).sum::<usize>() > MAX_BYTES {
            return Err(ErrorCode::TOO_BIG.with("clients have more to be done again than fits into memory"));
        }
        for (change, number) in changes.iter().zip(numbers) {
            self.bytes += size(change);
            if let Some(same) = self.changes.insert((change.position, session, number), change.clone()) {
                self.bytes -= size(&same);
            }
        }
        Ok(())
    }
}

/// The sequence number of a change that a session's client says it was told is done.
pub fn check(session: SessionId, change: &Acknowledged) -> Result<u64, WireError> {
    let request: MetaRequest = codec::decode(&change.request)?;
    let repair = matches!(request.op, MetaOp::Repair(_) | MetaOp::Spill { .. });
    if request.session != session || request.sequence == 0 || !request.op.is_change() || repair {
        return Err(ErrorCode::BAD_MESSAGE.with("this is nothing that a session's client was told is done"));
    }
    Ok(request.sequence)
}

fn size(change: &Acknowledged) -> usize {
    /// About what the maps around it take.
    const AROUND: usize = 200;
    AROUND + change.request.len() + change.reply.len()
}
