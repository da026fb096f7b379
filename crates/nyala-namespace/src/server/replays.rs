// SPDX-License-Identifier: Apache-2.0

//! What clients of earlier runs have said that is to be done again. [`super::replay`] does it, and has the failure model.

use crate::records::TruncateRecord;
use nyala_wire::meta::{Acknowledged, MetaOp, MetaRequest};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError, codec};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most bytes of all clients that are kept for it. A log that is synced every second holds less.
const MAX_BYTES: usize = 256 << 20;

/// Most open files of all clients.
const MAX_OPEN: usize = 4_000_000;
/// Place in the order in which changes are done again: that of the lost log first.
pub type Place = (u64, SessionId, u64);

/// What clients of earlier runs have to say.
#[derive(Debug, Default)]
pub struct Replays {
    /// Sessions of earlier runs of which nothing may be done before they have said everything.
    pub silent: BTreeSet<SessionId>,
    /// Those that all others wait for.
    pub awaited: BTreeSet<SessionId>,
    /// Those that have said everything, and wait until it is done.
    pub said: BTreeSet<SessionId>,
    /// What is to be done again.
    pub changes: BTreeMap<Place, Acknowledged>,
    /// What they take.
    pub bytes: usize,
    /// Files that clients have open.
    pub open: BTreeSet<(InodeId, SessionId)>,
    /// Truncations that an earlier run left. One is over if its client was told so.
    pub truncations: BTreeMap<InodeId, TruncateRecord>,
    /// Of each session, what could not be done again.
    pub lost: HashMap<SessionId, Vec<u64>>,
    /// All that are awaited have said everything, and it is done.
    pub over: bool,
}

impl Replays {
    /// After a start: all sessions of before, and those that cache.
    pub fn new(
        silent: BTreeSet<SessionId>,
        awaited: BTreeSet<SessionId>,
        truncations: BTreeMap<InodeId, TruncateRecord>,
    ) -> Replays {
        Replays { over: awaited.is_empty(), silent, awaited, truncations, ..Replays::default() }
    }

    /// Whether everything is done again that all wait for.
    pub fn over(&self) -> bool {
        self.over
    }

    /// Whether a session has yet to say what is to be done again.
    pub fn is_silent(&self, session: SessionId) -> bool {
        self.silent.contains(&session)
    }

    /// A session has ended.
    pub fn forget(&mut self, session: SessionId) {
        self.silent.remove(&session);
        self.awaited.remove(&session);
        self.said.remove(&session);
        self.lost.remove(&session);
        self.open.retain(|(_, by)| *by != session);
        let bytes = &mut self.bytes;
        self.changes.retain(|place, change| {
            let goes = place.1 == session;
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

    /// A client says what it was told. An error: it was not, or there is too much.
    pub fn keep(&mut self, session: SessionId, change: Acknowledged) -> Result<(), WireError> {
        let request: MetaRequest = codec::decode(&change.request)?;
        let repair = matches!(request.op, MetaOp::Repair(_) | MetaOp::Spill { .. });
        if request.session != session || request.sequence == 0 || !request.op.is_change() || repair {
            return Err(ErrorCode::BAD_MESSAGE.with("this is nothing that a session's client was told is done"));
        }
        if self.bytes + size(&change) > MAX_BYTES {
            return Err(ErrorCode::TOO_BIG.with("clients have more to be done again than fits into memory"));
        }
        self.bytes += size(&change);
        if let Some(same) = self.changes.insert((change.position, session, request.sequence), change) {
            self.bytes -= size(&same);
        }
        Ok(())
    }
}

fn size(change: &Acknowledged) -> usize {
    /// About what the maps around it take.
    const AROUND: usize = 200;
    AROUND + change.request.len() + change.reply.len()
}
