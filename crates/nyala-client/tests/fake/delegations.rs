// SPDX-License-Identifier: Apache-2.0

//! Delegations of one metadata target: what is in the way of a request, and what its reply grants.

use super::meta::*;
use nyala_wire::*;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// A revocation that was not answered is said again after this.
const AGAIN: Duration = Duration::from_millis(300);

#[derive(Clone, Copy)]
pub enum Need {
    Read,
    Change,
    Delegation(DelegationMode),
}

#[derive(Default)]
pub struct Delegations {
    held: HashMap<(InodeId, SessionId), (DelegationMode, u64)>,
    revoking: HashMap<(InodeId, SessionId), (DelegationMode, u64, Option<Instant>)>,
    /// Who waits with a request before which it cannot let go, in order of arrival.
    pinned: Vec<(InodeId, SessionId)>,
    pub unconfirmed: HashSet<SessionId>,
    pub seq: u64,
    /// Files of several clients are given out `Uncached` to whoever takes that.
    pub contended: bool,
    /// Nobody gets an exclusive delegation, as while others ask for the same all the time.
    pub never_exclusive: bool,
    pub revocations: usize,
    pub returns: usize,
}

impl Delegations {
    fn leaves(need: Need, mode: DelegationMode) -> Option<DelegationMode> {
        match (need, mode) {
            (_, DelegationMode::None) | (Need::Read | Need::Change, DelegationMode::Uncached) => None,
            (Need::Read, DelegationMode::Shared) => None,
            (Need::Delegation(wanted), mode) if wanted.agrees(mode) => None,
            (Need::Read | Need::Delegation(DelegationMode::Shared), DelegationMode::Exclusive) => {
                Some(DelegationMode::Shared)
            }
            _ => Some(DelegationMode::None),
        }
    }

    /// Whether nobody else is in the way; otherwise they are told.
    pub fn clear(&mut self, inode: InodeId, session: SessionId, need: Need) -> bool {
        let mut clear = true;
        let others: Vec<_> = self.held.iter().filter(|((i, s), _)| *i == inode && *s != session).collect();
        let others: Vec<_> = others.into_iter().map(|((_, s), (mode, _))| (*s, *mode)).collect();
        for (other, mode) in others {
            let Some(keep) = Self::leaves(need, mode) else { continue };
            clear = false;
            let known = self.revoking.get(&(inode, other));
            if known.is_none_or(|(known, ..)| *known > keep) {
                self.seq += 1;
                self.revocations += 1;
                self.revoking.insert((inode, other), (keep, self.seq, None));
            }
        }
        clear
    }

    /// Whether a pinned change that is not clear goes on all the same: it came first, and all others wait like it.
    pub fn passes(&mut self, inode: InodeId, session: SessionId) -> bool {
        if !self.pinned.contains(&(inode, session)) {
            self.pinned.push((inode, session));
        }
        let mut holders = self.held.iter().filter(|((held, other), (mode, _))| {
            *held == inode && *other != session && Self::leaves(Need::Change, *mode).is_some()
        });
        let all = holders.all(|((_, other), _)| self.pinned.contains(&(inode, *other)));
        let first = self.pinned.iter().find(|(waiting, _)| *waiting == inode) == Some(&(inode, session));
        first && all
    }

    /// A session's pinned request was answered.
    pub fn unpin(&mut self, session: SessionId) {
        self.pinned.retain(|(_, waiting)| *waiting != session);
    }

    pub fn give(&mut self, inode: InodeId, session: SessionId, mode: DelegationMode) -> DelegationMode {
        let in_the_way =
            self.held.iter().any(|((i, s), (held, _))| *i == inode && *s != session && !mode.agrees(*held));
        let refused = self.never_exclusive && mode == DelegationMode::Exclusive;
        if mode == DelegationMode::None || refused || in_the_way || self.revoking.keys().any(|(i, _)| *i == inode) {
            return DelegationMode::None;
        }
        let seq = self.seq;
        let entry = self.held.entry((inode, session)).or_insert((mode, seq));
        if entry.0 != DelegationMode::Exclusive {
            entry.0 = mode;
        }
        entry.1 = seq;
        entry.0
    }

    pub fn best(&self, inode: InodeId, session: SessionId, want: Want) -> DelegationMode {
        let wanted = if want.has(Want::WRITE) { DelegationMode::Exclusive } else { DelegationMode::Shared };
        let mut others = self.held.iter().filter(|((i, s), _)| *i == inode && *s != session);
        let uncached = others.any(|(_, (mode, _))| *mode == DelegationMode::Uncached);
        if (uncached || self.contended) && !want.has(Want::CACHED) { DelegationMode::Uncached } else { wanted }
    }

    pub fn is_free_to_read(&self, inode: InodeId, session: SessionId) -> bool {
        let reads = |(key, (mode, _)): (&(InodeId, SessionId), &(DelegationMode, u64))| match key {
            (held, _) if *held != inode => true,
            (_, own) if *own == session => *mode != DelegationMode::Uncached && !self.revoking.contains_key(key),
            _ => *mode == DelegationMode::Shared,
        };
        !self.contended && self.held.iter().all(reads)
    }

    pub fn returned(&mut self, session: SessionId, returned: &Returned) {
        self.returns += 1;
        let key = (returned.inode, session);
        if self.held.get(&key).is_none_or(|(_, seq)| returned.seq < *seq) {
            return;
        }
        if self.revoking.get(&key).is_some_and(|(keep, ..)| returned.keep <= *keep) {
            self.revoking.remove(&key);
        }
        if returned.keep == DelegationMode::None {
            self.held.remove(&key);
            self.revoking.remove(&key);
        } else if let Some(held) = self.held.get_mut(&key) {
            held.0 = returned.keep.min(held.0);
        }
    }

    pub fn poll(&mut self, session: SessionId) -> Vec<Revocation> {
        let mut list = Vec::new();
        for ((inode, holder), (keep, seq, said)) in &mut self.revoking {
            if *holder == session && said.is_none_or(|said| said.elapsed() > AGAIN) {
                *said = Some(Instant::now());
                list.push(Revocation { inode: *inode, keep: *keep, seq: *seq });
            }
        }
        list
    }

    pub fn end_session(&mut self, session: SessionId) {
        self.held.retain(|(_, holder), _| *holder != session);
        self.revoking.retain(|(_, holder), _| *holder != session);
        self.unconfirmed.remove(&session);
    }

    pub fn restart(&mut self, sessions: impl Iterator<Item = SessionId>) {
        let unconfirmed = sessions.collect();
        *self = Delegations { unconfirmed, contended: self.contended, ..Delegations::default() };
    }

    pub fn mode(&self, inode: InodeId, session: SessionId) -> DelegationMode {
        self.held.get(&(inode, session)).map_or(DelegationMode::None, |(mode, _)| *mode)
    }

    pub fn holders(&self, inode: InodeId) -> usize {
        self.held.keys().filter(|(held, _)| *held == inode).count()
    }

    pub fn len(&self) -> usize {
        self.held.len()
    }
}
