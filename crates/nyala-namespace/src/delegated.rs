// SPDX-License-Identifier: Apache-2.0

//! Who has a delegation of one inode, and who waits for it. [`crate::delegations`] has the rules and the failure model.

use crate::need::Need;
use nyala_wire::SessionId;
use nyala_wire::meta::DelegationMode;
use std::collections::VecDeque;

/// What a holder keeps if this is needed by a session; nothing is said where it need not let go of anything.
pub(crate) fn leaves(need: Need, holder: &Holder, session: SessionId) -> Option<DelegationMode> {
    if holder.session == session { need.leaves_own(holder.mode) } else { need.leaves(holder.mode) }
}

/// A recall under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Revoking {
    pub(crate) keep: DelegationMode,
    pub(crate) seq: u64,
    pub(crate) said_ms: Option<u64>,
}

/// A session that has a delegation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) session: SessionId,
    pub(crate) mode: DelegationMode,
    /// Number of the last grant.
    pub(crate) seq: u64,
    pub(crate) revoking: Option<Revoking>,
}

/// An operation that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedOperation {
    pub(crate) ticket: u64,
    pub(crate) session: SessionId,
    /// Its session cannot let go before this operation is answered.
    pub(crate) pinned: bool,
}

/// All of one inode.
#[derive(Debug, Default)]
pub(crate) struct Delegated {
    pub(crate) holders: Vec<Holder>,
    /// Operations that wait for holders to let go, in order of arrival. While there are any, nothing is given in passing.
    pub(crate) waiting: VecDeque<QueuedOperation>,
    /// Moves the inline content to storage without an exclusive delegation: nobody else gets one meanwhile.
    pub(crate) mover: Option<SessionId>,
    pub(crate) conflicts: u8,
    pub(crate) conflict_ms: u64,
}

impl Delegated {
    pub(crate) fn is_moved_by_another(&self, session: SessionId, need: Need) -> bool {
        need == Need::Grant(DelegationMode::Exclusive) && self.mover.is_some_and(|mover| mover != session)
    }

    pub(crate) fn is_in_the_way(&self, session: SessionId, need: Need) -> bool {
        self.is_moved_by_another(session, need)
            || self.holders.iter().any(|holder| leaves(need, holder, session).is_some())
    }

    pub(crate) fn is_used(&self) -> bool {
        !self.holders.is_empty() || self.mover.is_some()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.holders.is_empty() && self.waiting.is_empty() && self.mover.is_none()
    }
}
