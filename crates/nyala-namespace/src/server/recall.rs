// SPDX-License-Identifier: Apache-2.0

//! An operation's way past other clients' delegations: they are recalled, and the operation queues for the inodes.
//!
//! Failure model: that of [`crate::delegations`]. A recall that is dropped without [`Recall::end`] would keep its places in the
//! queues, and nobody would be given those inodes any more.

use super::state::State;
use super::waits::Event;
use crate::delegations::{Delegations, Need, Ticket};
use nyala_wire::meta::{DelegationMode, MetaRequest, Want};
use nyala_wire::{InodeId, SessionId};

/// The inodes that one operation queues for.
#[derive(Debug)]
pub struct Recall {
    session: SessionId,
    pinned: bool,
    queued: Vec<(InodeId, Ticket)>,
}

impl Recall {
    /// For a session; 0 for one whose own delegations count too.
    pub fn new(session: SessionId) -> Recall {
        Recall { session, pinned: false, queued: Vec::new() }
    }

    /// For a client's request.
    pub fn of(request: &MetaRequest) -> Recall {
        Recall { session: request.session, pinned: request.want.has(Want::PINNED), queued: Vec::new() }
    }

    /// Leaves the queues: others may be given something again.
    #[inline]
    pub fn end(&mut self, state: &mut State) {
        if !self.queued.is_empty() {
            for (inode, ticket) in self.queued.drain(..) {
                state.delegations.leave(inode, ticket);
            }
            state.wake(Event::Delegations);
        }
    }

    /// Whether nobody is in the way of any; otherwise they are told, and nobody else is given anything meanwhile.
    pub fn clear(&mut self, state: &mut State, inodes: &[InodeId], need: Need) -> bool {
        if inodes.is_empty() {
            return true;
        }
        let now_ms = state.now.ms;
        let (mut clear, mut pinned) = (true, false);
        for inode in inodes {
            let delegations = &mut state.delegations;
            if delegations.clear(*inode, self.session, need, now_ms) {
                continue;
            }
            let (ticket, new) = self.queue(delegations, *inode);
            pinned |= new && self.pinned;
            // Never to see or to claim something: what others have not committed is not to be passed by.
            clear &= self.pinned && need == Need::Change && state.delegations.passes(*inode, ticket);
        }
        let news = state.delegations.take_news();
        state.ring(news);
        if pinned {
            // It may be what another one, which waits for this session, can pass for.
            state.wake(Event::Delegations);
        }
        clear
    }

    /// Whether this session alone moves an inode's inline content from now on.
    pub fn claim(&mut self, state: &mut State, inode: InodeId) -> bool {
        if self.clear(state, &[inode], Need::Read) && state.delegations.claim(inode, self.session) {
            return true;
        }
        if self.queue(&mut state.delegations, inode).1 {
            // For the one that does: it may be waiting for this session's delegation.
            state.wake(Event::Delegations);
        }
        false
    }

    /// [`Recall::clear`] for a delegation of one inode, in order of arrival.
    pub fn clear_for_grant(&mut self, state: &mut State, inode: InodeId, mode: DelegationMode) -> bool {
        let delegations = &mut state.delegations;
        let first = match self.queued.iter().find(|(queued, _)| *queued == inode) {
            Some((_, ticket)) => delegations.is_next(inode, *ticket),
            None if delegations.is_awaited(inode) => {
                self.queued.push((inode, delegations.queue(inode, self.session, false)));
                false
            }
            None => true,
        };
        first && self.clear(state, &[inode], Need::Grant(mode))
    }

    /// The place in an inode's queue, and whether it is a new one.
    fn queue(&mut self, delegations: &mut Delegations, inode: InodeId) -> (Ticket, bool) {
        if let Some((_, ticket)) = self.queued.iter().find(|(queued, _)| *queued == inode) {
            return (*ticket, false);
        }
        let ticket = delegations.queue(inode, self.session, self.pinned);
        self.queued.push((inode, ticket));
        (ticket, true)
    }
}
