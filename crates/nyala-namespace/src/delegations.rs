// SPDX-License-Identifier: Apache-2.0

//! Delegations: which client may cache which inode, and how. Time is an argument; [`Delegations::poll`] returns what to send. (A lease is
//! something else: a server's right to serve.)
//!
//! Failure model: grants, recalls and returns may be lost, late, repeated or overtake each other; a client may be silent, slow, or
//! gone. Numbers of one counter order the grants and recalls of an inode; a recall is repeated until the delegation is back; a
//! return counts only for grants up to its number. The delegations of a client that does not answer end with its session. After a
//! restart nothing is known: every session that caches counts as holding everything until it confirms what it still holds
//! ([`Delegations::confirm`]); in a primary that has everything the one before answered for, as holding what there is in the slots that
//! the tables name ([`crate::held_slots`]). A client that lies there keeps others out of files, as it could by asking for delegations.

use crate::delegated::{Delegated, Holder, QueuedOperation, Revoking, leaves};
use crate::held_slots::{HeldSlots, MayHold};
pub use crate::need::Need;
use crate::recalls::{Recalls, Unanswered};
use crate::sharded_map::ShardedMap;
use nyala_wire::meta::{DelegationMode, MAX_DELEGATIONS, Returned, Revocation};
use nyala_wire::{InodeId, SessionId, Slot};
use std::collections::HashMap;

/// A recall that is not answered is repeated after so long.
const AGAIN_MS: u64 = 3_000;
/// Conflicts count as contention when they follow each other faster than this.
const CONTENTION_MS: u64 = 1_000;
/// From so many conflicts in a row on nothing is given that nobody insists on.
const CONTENTION: u8 = 3;
/// Most delegations of all clients together; beyond, nobody is given more.
const MAX_HELD: usize = 4_000_000;

/// A place in the queue of an inode; to be given back with [`Delegations::leave`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

/// The delegations of one run of a server.
#[derive(Debug, Default)]
pub struct Delegations {
    inodes: ShardedMap<Delegated>,
    /// Revocations under way.
    recalls: Recalls,
    /// Sessions of earlier runs that may still keep something.
    unconfirmed: HashMap<SessionId, MayHold>,
    /// Sequence numbers from here on are this run's.
    from: u64,
    /// Where sessions hold any.
    pub slots: HeldSlots,
    /// Sessions that have something to be told since the last [`Delegations::take_news`].
    news: Vec<SessionId>,
    held: usize,
    seq: u64,
    tickets: u64,
    revocations: u64,
}

impl Delegations {
    /// After a restart: these sessions hold delegations of an earlier run. What has a sequence number of `from` or more is made by this one.
    pub fn recover(&mut self, sessions: HashMap<SessionId, MayHold>, from: u64) {
        (self.unconfirmed, self.from) = (sessions, from);
    }

    /// Whether it is known what sessions of earlier runs may hold, so that work on anything else need not wait for them.
    pub fn are_bounded(&self) -> bool {
        self.unconfirmed.values().all(|held| *held != MayHold::Anything)
    }

    /// Whether another session of an earlier run may be in the way, and has not confirmed yet what it holds.
    fn is_unknown(&self, inode: InodeId, session: SessionId, need: Need) -> bool {
        if self.unconfirmed.is_empty() || inode.sequence() >= self.from {
            return false;
        }
        let mut others = self.unconfirmed.iter().filter(|(other, _)| **other != session);
        others.any(|(_, held)| held.hinders(inode.slot(), need))
    }

    /// Whether all sessions of earlier runs have let go.
    pub fn recovered(&self) -> bool {
        self.unconfirmed.is_empty()
    }

    /// Whether this session still has to confirm delegations of an earlier run.
    pub fn is_unconfirmed(&self, session: SessionId) -> bool {
        self.unconfirmed.contains_key(&session)
    }

    /// A session has let go of everything of earlier runs but what it keeps, which counts as granted now; whether it was the
    /// last one. Nobody is given anything that it may hold before that, so what was granted then is in nobody's way.
    ///
    /// What it is moving it goes on moving: no other had claimed that in the run before.
    pub fn confirm(&mut self, session: SessionId, kept: &[Returned], moving: &[InodeId]) -> bool {
        if self.unconfirmed.remove(&session).is_none() {
            return false;
        }
        self.slots.confirmed(session);
        for inode in moving {
            self.claim(*inode, session);
        }
        for one in kept {
            // Who has not confirmed yet is not in its way: it was given. Number 0, as whatever number of the earlier run it is returned with has to count.
            let others =
                self.inodes.get(one.inode).is_some_and(|entry| entry.is_in_the_way(session, Need::Grant(one.keep)));
            if one.keep != DelegationMode::None && !others {
                self.hold(one.inode, session, one.keep, 0);
            }
        }
        self.unconfirmed.is_empty()
    }

    /// Number of delegations held, and of recalls so far.
    pub fn figures(&self) -> (usize, u64) {
        (self.held, self.revocations)
    }

    /// Sessions that have not let go of what they were asked to, in no order.
    pub fn unanswered(&self) -> impl Iterator<Item = Unanswered> + '_ {
        self.recalls.unanswered()
    }

    /// Number of recalls that were answered, and how long that took, milliseconds for all together.
    pub fn answer_times(&self) -> (u64, u64) {
        self.recalls.figures()
    }

    /// Number of grants and revocations so far: what a reply that grants carries.
    pub fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// Whether nobody but `session` stands in the way; otherwise they are being told.
    pub fn clear(&mut self, inode: InodeId, session: SessionId, need: Need, now_ms: u64) -> bool {
        let known = !self.is_unknown(inode, session, need);
        let Some(entry) = self.inodes.get_mut(inode) else { return known };
        let mut clear = known && !entry.is_moved_by_another(session, need);
        let mut conflict = false;
        for holder in &mut entry.holders {
            let Some(keep) = leaves(need, holder, session) else { continue };
            clear = false;
            if holder.revoking.is_some_and(|revoking| revoking.keep <= keep) {
                continue;
            }
            self.seq += 1;
            self.revocations += 1;
            conflict |= holder.session != session;
            holder.revoking = Some(Revoking { keep, seq: self.seq, said_ms: None });
            self.recalls.insert(holder.session, inode, now_ms);
            self.news.push(holder.session);
        }
        if conflict {
            let quick = now_ms.saturating_sub(entry.conflict_ms) < CONTENTION_MS;
            entry.conflicts = if quick { entry.conflicts.saturating_add(1) } else { 1 };
            entry.conflict_ms = now_ms;
        }
        clear
    }

    /// Sessions that have something new to be told.
    pub fn take_news(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.news)
    }

    /// Whether [`Delegations::clear`] would find somebody in the way, without telling anybody.
    pub fn in_the_way(&self, inode: InodeId, session: SessionId, need: Need) -> bool {
        self.is_unknown(inode, session, need)
            || self.inodes.get(inode).is_some_and(|entry| entry.is_in_the_way(session, need))
    }

    /// Queues for an inode; `pinned`: the session cannot let go of it before it is answered.
    pub fn queue(&mut self, inode: InodeId, session: SessionId, pinned: bool) -> Ticket {
        self.tickets += 1;
        let waiting = QueuedOperation { ticket: self.tickets, session, pinned };
        self.inodes.or_default(inode).waiting.push_back(waiting);
        Ticket(self.tickets)
    }

    /// Whether a pinned change goes on although others have not let go: when each of those itself waits with a pinned
    /// operation, all would wait for ever. The one that came first goes on, and with its answer its session lets go.
    pub fn passes(&self, inode: InodeId, ticket: Ticket) -> bool {
        let Some(entry) = self.inodes.get(inode) else { return false };
        let pinned = || entry.waiting.iter().filter(|waiting| waiting.pinned);
        let goes = |waiting: &&QueuedOperation| entry.mover.is_none_or(|mover| mover == waiting.session);
        let Some(first) = pinned().find(goes).filter(|first| first.ticket == ticket.0) else { return false };
        if self.is_unknown(inode, first.session, Need::Change) {
            return false;
        }
        let mut in_the_way =
            entry.holders.iter().filter(|holder| leaves(Need::Change, holder, first.session).is_some());
        in_the_way.all(|holder| pinned().any(|waiting| waiting.session == holder.session))
    }

    /// From now on this session alone moves the inode's inline content. `false`: another one does.
    pub fn claim(&mut self, inode: InodeId, session: SessionId) -> bool {
        let mover = &mut self.inodes.or_default(inode).mover;
        if mover.is_none() {
            self.slots.add(session, inode.slot(), DelegationMode::Exclusive);
        }
        *mover.get_or_insert(session) == session
    }

    /// It no longer does.
    pub fn moved(&mut self, inode: InodeId, session: SessionId) {
        if let Some(entry) = self.inodes.get_mut(inode)
            && entry.mover == Some(session)
        {
            entry.mover = None;
            self.slots.remove(session, inode.slot());
        }
        self.tidy(inode);
    }

    /// Whether it is this one's turn.
    pub fn is_next(&self, inode: InodeId, ticket: Ticket) -> bool {
        self.inodes.get(inode).is_some_and(|entry| entry.waiting.front().is_some_and(|front| front.ticket == ticket.0))
    }

    /// Leaves the queue.
    pub fn leave(&mut self, inode: InodeId, ticket: Ticket) {
        if let Some(entry) = self.inodes.get_mut(inode) {
            entry.waiting.retain(|waiting| waiting.ticket != ticket.0);
        }
        self.tidy(inode);
    }

    /// Whether somebody waits for this inode.
    pub fn is_awaited(&self, inode: InodeId) -> bool {
        self.inodes.get(inode).is_some_and(|entry| !entry.waiting.is_empty())
    }

    /// What a file's reader or writer is best given: [`DelegationMode::Uncached`] where delegations went to and fro lately, or
    /// where others work like that already; unless it insists on a `cached` one.
    pub fn best(&self, inode: InodeId, session: SessionId, write: bool, cached: bool, now_ms: u64) -> DelegationMode {
        let wanted = if write { DelegationMode::Exclusive } else { DelegationMode::Shared };
        let Some(entry) = self.inodes.get(inode).filter(|_| !cached) else { return wanted };
        let others = |mode| entry.holders.iter().any(|holder| holder.session != session && holder.mode == mode);
        let open_to_many = others(DelegationMode::Uncached) && !others(DelegationMode::Shared);
        let conflict = entry.holders.iter().any(|h| h.session != session && !wanted.agrees(h.mode));
        if open_to_many || (conflict && Self::is_contended(entry, now_ms)) { DelegationMode::Uncached } else { wanted }
    }

    /// Whether a session that only looks would be given a reader's delegation at once, by the same rules as [`Delegations::give`], or
    /// has it already: it may have forgotten the content.
    pub fn is_free_to_read(&self, inode: InodeId, session: SessionId, now_ms: u64) -> bool {
        if self.is_unknown(inode, session, Need::Grant(DelegationMode::Shared)) {
            return false;
        }
        let Some(entry) = self.inodes.get(inode) else { return self.held < MAX_HELD };
        let reads = |holder: &Holder| match holder.session == session {
            true => holder.mode != DelegationMode::Uncached && holder.revoking.is_none(),
            false => holder.mode == DelegationMode::Shared,
        };
        entry.waiting.is_empty() && !Self::is_contended(entry, now_ms) && entry.holders.iter().all(reads)
    }

    fn is_contended(entry: &Delegated, now_ms: u64) -> bool {
        entry.conflicts >= CONTENTION && now_ms.saturating_sub(entry.conflict_ms) < CONTENTION_MS
    }

    /// Gives what is asked for if nobody else has, waits for, or lately conflicted over it. What the session has
    /// already it keeps; the answer is what it has now, `None` too if that is being taken away.
    pub fn give(
        &mut self,
        inode: InodeId,
        session: SessionId,
        mode: DelegationMode,
        seq: u64,
        now_ms: u64,
    ) -> DelegationMode {
        if let Some(entry) = self.inodes.get(inode) {
            let lowers = entry.holders.iter().any(|h| h.session == session && h.mode == DelegationMode::Uncached);
            if lowers || !entry.waiting.is_empty() || Self::is_contended(entry, now_ms) {
                return DelegationMode::None;
            }
        }
        self.insist(inode, session, mode, seq)
    }

    /// The same for one whose turn it is.
    pub fn insist(&mut self, inode: InodeId, session: SessionId, mode: DelegationMode, seq: u64) -> DelegationMode {
        let is_full = self.held >= MAX_HELD && self.mode(inode, session) == DelegationMode::None;
        match is_full || mode == DelegationMode::None || self.in_the_way(inode, session, Need::Grant(mode)) {
            true => DelegationMode::None,
            false => self.hold(inode, session, mode, seq),
        }
    }

    fn hold(&mut self, inode: InodeId, session: SessionId, mode: DelegationMode, seq: u64) -> DelegationMode {
        let entry = self.inodes.or_default(inode);
        match entry.holders.iter_mut().find(|holder| holder.session == session) {
            Some(holder) if holder.revoking.is_some() => DelegationMode::None,
            Some(holder) => {
                holder.mode = if holder.mode == DelegationMode::Exclusive { holder.mode } else { mode };
                holder.seq = seq;
                self.slots.raise(session, inode.slot(), holder.mode);
                holder.mode
            }
            None => {
                entry.holders.push(Holder { session, mode, seq, revoking: None });
                self.held += 1;
                self.slots.add(session, inode.slot(), mode);
                mode
            }
        }
    }

    /// What a session has.
    pub fn mode(&self, inode: InodeId, session: SessionId) -> DelegationMode {
        let mut of = self.inodes.get(inode).into_iter().flat_map(|entry| &entry.holders);
        of.find(|holder| holder.session == session).map_or(DelegationMode::None, |holder| holder.mode)
    }

    /// The session here of the client that has this session elsewhere, if it holds the inode: a client has another one with each server.
    pub fn session_of_client(&self, inode: InodeId, elsewhere: SessionId) -> Option<SessionId> {
        let holders = &self.inodes.get(inode)?.holders;
        holders.iter().map(|holder| holder.session).find(|session| session.client() == elsewhere.client())
    }

    /// A delegation came back; whether anybody may go on because of that.
    pub fn returned(&mut self, session: SessionId, returned: &Returned, now_ms: u64) -> bool {
        let Some(entry) = self.inodes.get_mut(returned.inode) else { return false };
        let Some(at) = entry.holders.iter().position(|holder| holder.session == session) else { return false };
        let holder = &mut entry.holders[at];
        if returned.seq < holder.seq {
            return false;
        }
        let keep = returned.keep.min(holder.mode);
        let recalled = holder.revoking;
        let done = recalled.is_some_and(|revoking| keep <= revoking.keep);
        if done {
            holder.revoking = None;
        }
        // Somebody who writes cannot keep half of it.
        holder.mode = if keep == DelegationMode::Uncached && holder.mode != DelegationMode::Uncached {
            DelegationMode::None
        } else {
            keep
        };
        let gone = holder.mode == DelegationMode::None;
        if gone {
            entry.holders.swap_remove(at);
            self.held -= 1;
            self.slots.remove(session, returned.inode.slot());
        }
        // What is given back unasked answers nothing.
        if recalled.is_some() && (done || gone) {
            self.recalls.answer(session, returned.inode, now_ms);
        }
        self.tidy(returned.inode);
        true
    }

    /// Recalls to tell a session now.
    pub fn poll(&mut self, session: SessionId, now_ms: u64) -> Vec<Revocation> {
        let mut say = Vec::new();
        for inode in self.recalls.of(session) {
            let entry = self.inodes.get_mut(inode);
            let holder = entry.and_then(|entry| entry.holders.iter_mut().find(|holder| holder.session == session));
            let Some(revoking) = holder.and_then(|holder| holder.revoking.as_mut()) else { continue };
            if revoking.said_ms.is_none_or(|said| now_ms.saturating_sub(said) >= AGAIN_MS) {
                revoking.said_ms = Some(now_ms);
                say.push(Revocation { inode, keep: revoking.keep, seq: revoking.seq });
                if say.len() == MAX_DELEGATIONS {
                    break;
                }
            }
        }
        say
    }

    /// Sessions that were asked to let go of something longer ago than `limit_ms`.
    pub fn overdue(&self, now_ms: u64, limit_ms: u64) -> Vec<SessionId> {
        let late = self.recalls.unanswered().filter(|one| now_ms.saturating_sub(one.since_ms) > limit_ms);
        let mut sessions: Vec<SessionId> = late.map(|one| one.session).collect();
        sessions.sort_unstable();
        sessions
    }

    /// Whether a session holds anything that it may have written under.
    pub fn may_write(&self, session: SessionId) -> bool {
        let writes = |holder: &Holder| holder.session == session && holder.mode > DelegationMode::Shared;
        self.is_unconfirmed(session) || self.inodes.values().any(|entry| entry.holders.iter().any(writes))
    }

    /// What a session may have written alone.
    pub fn written_alone(&self, session: SessionId) -> Vec<InodeId> {
        let alone = |holder: &Holder| holder.session == session && holder.mode == DelegationMode::Exclusive;
        let writes = |entry: &Delegated| entry.mover == Some(session) || entry.holders.iter().any(alone);
        self.inodes.iter().filter(|(_, entry)| writes(entry)).map(|(inode, _)| inode).collect()
    }

    /// A session ended: all it had is free.
    pub fn end_session(&mut self, session: SessionId) {
        self.unconfirmed.remove(&session);
        self.slots.confirmed(session);
        self.recalls.end_session(session);
        self.drop_all(session, &|_| true);
    }

    /// A session was not told after all of what it was given in a slot where it had nothing before.
    pub fn take_back(&mut self, session: SessionId, slot: Slot) {
        self.drop_all(session, &|inode: InodeId| inode.slot() == slot);
        self.slots.not_written((session, slot));
    }

    fn drop_all(&mut self, session: SessionId, of: &dyn Fn(InodeId) -> bool) {
        let (held, slots) = (&mut self.held, &mut self.slots);
        self.inodes.retain(|inode, entry| {
            if of(inode) {
                let before = entry.holders.len();
                entry.holders.retain(|holder| holder.session != session);
                let mover = entry.mover.take_if(|mover| *mover == session);
                let gone = before - entry.holders.len();
                *held -= gone;
                (0..gone + usize::from(mover.is_some())).for_each(|_| slots.remove(session, inode.slot()));
            }
            !entry.is_idle()
        });
    }

    /// Whether anybody has a delegation of an inode, or moves its inline content.
    pub fn is_used(&self, inode: InodeId) -> bool {
        self.inodes.get(inode).is_some_and(Delegated::is_used)
    }

    /// The inodes of a slot that somebody has a delegation of, or whose inline content somebody moves.
    pub fn used_in(&self, slot: Slot) -> Vec<InodeId> {
        let used = self.inodes.iter().filter(|(inode, entry)| inode.slot() == slot && entry.is_used());
        let mut inodes: Vec<InodeId> = used.map(|(inode, _)| inode).collect();
        // In an order that does not depend on this run.
        inodes.sort_unstable();
        inodes
    }

    /// An inode is gone, and all delegations of it.
    pub fn end_inode(&mut self, inode: InodeId) {
        let Some(entry) = self.inodes.get_mut(inode) else { return };
        for holder in entry.holders.drain(..) {
            self.held -= 1;
            self.recalls.remove(holder.session, inode);
            self.slots.remove(holder.session, inode.slot());
        }
        self.tidy(inode);
    }

    fn tidy(&mut self, inode: InodeId) {
        // The count of conflicts goes with the last holder: whoever comes then finds nobody to conflict with.
        if self.inodes.get(inode).is_some_and(Delegated::is_idle) {
            self.inodes.remove(inode);
        }
    }
}
