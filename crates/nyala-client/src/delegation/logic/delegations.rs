// SPDX-License-Identifier: Apache-2.0

//! What this client may keep of which inode, and for how long. Time and messages are arguments.
//!
//! A delegation is held, or on its way back ([`Delegations::revoke`]): new operations wait at its gate, those under way end, the
//! layer above forgets, what was written goes out, and the delegation is returned. The layer above may be unable to forget
//! before an operation at the gate is through (a page that is just being read is locked): then the gate opens, and what
//! passes it *taints* the withdrawal, which is done again. Grants and revocations overtake each other: a grant with a
//! lower number than a revocation is void. A server that was silent for too long may have given the delegation to others: its
//! delegations are no good until it answers; one that was restarted (another *boot*) knows of no delegation.
//!
//! One [`Delegations`] is a shard: it has the delegations of some inodes, and all that is decided about one of them is decided here.
//! What shards have in common is in [`Shared`].

#[cfg(test)]
mod tests;

use super::shared::{KnownServer, Shared};
use nyala_wire::meta::{DelegationMode, Returned};
use nyala_wire::{InodeId, TargetId};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// A grant that is older than this was not on its way all the time: revocations are remembered for so long.
const VOID_MS: u64 = 60_000;

/// What an operation on a file's content needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// To write, or only to read.
    pub write: bool,
    /// A delegation under which nothing may be kept will not do.
    pub cached: bool,
    /// It has to have the delegation: it waits however long the gate is closed, and passes no open one.
    pub patient: bool,
}

/// How an operation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Under the delegation; the number is for [`Delegations::leave`].
    Cached(u64),
    /// Keeping nothing: it asks first, and what it writes is at the servers before it returns.
    Direct,
    /// Later: at the gate.
    Wait,
    /// No delegation that would do: ask for one.
    Ask,
}

/// What a revocation found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// No delegation, or not so much of one.
    NotHeld,
    /// It is on its way back from now on.
    Started,
    /// It was on its way back already.
    UnderWay,
}

#[derive(Clone, Copy, Debug)]
struct Back {
    keep: DelegationMode,
    seq: u64,
    open: bool,
    tainted: bool,
    /// Given up here; the server is being told.
    returning: bool,
}

#[derive(Debug)]
struct Record<K> {
    target: TargetId,
    server: Arc<KnownServer>,
    mode: DelegationMode,
    seq: u64,
    stamp: u64,
    readers: u32,
    writers: u32,
    back: Option<Back>,
    cached: K,
    used: u64,
    /// The layer above may keep something: by the delegation, or by one that it took the place of.
    covers: bool,
    /// The server was restarted since, and has been told that this one is still held.
    carried: bool,
}

impl<K: Default> Record<K> {
    fn new(target: TargetId, server: Arc<KnownServer>, mode: DelegationMode, seq: u64, tick: u64) -> Record<K> {
        let covers = mode != DelegationMode::Uncached;
        let cached = K::default();
        Record {
            target,
            server,
            mode,
            seq,
            stamp: tick,
            readers: 0,
            writers: 0,
            back: None,
            cached,
            used: tick,
            covers,
            carried: false,
        }
    }

    /// Whether it is not on its way back, or something of it stays.
    fn keeps_something(&self) -> bool {
        self.back.is_none_or(|back| back.keep != DelegationMode::None)
    }
}

/// The delegations of a client for some inodes, with what is kept under each.
#[derive(Debug)]
pub struct Delegations<K> {
    /// Each in memory of its own: to make a large table larger would else move, and have the kernel zero, megabytes, while
    /// every other operation waits.
    records: HashMap<InodeId, Box<Record<K>>>,
    void: HashMap<InodeId, (u64, TargetId)>,
    void_order: VecDeque<(u64, InodeId, u64)>,
    order: BTreeMap<u64, InodeId>,
    shared: Arc<Shared>,
}

fn suffices(mode: DelegationMode, need: Need) -> bool {
    mode == DelegationMode::Exclusive || (mode == DelegationMode::Shared && !need.write)
}

impl<K: Default> Delegations<K> {
    /// None yet.
    pub fn new(shared: Arc<Shared>) -> Delegations<K> {
        let (records, void, void_order, order) = Default::default();
        Delegations { records, void, void_order, order, shared }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Another run of the server is greeted ([`Shared::set_boot`]), whose numbers begin anew. What is held of it was let go.
    pub fn begin_run(&mut self, server: TargetId) {
        self.void.retain(|_, (_, revoker)| *revoker != server);
    }

    /// A reply grants `mode`; `boot` is the run that the server was thought to be in when it was asked. Returns whether
    /// it counts; `true` as well if more was held already.
    pub fn grant(&mut self, inode: InodeId, target: TargetId, boot: u64, mode: DelegationMode, seq: u64) -> bool {
        if mode == DelegationMode::None || self.void.get(&inode).is_some_and(|(void, _)| seq < *void) {
            return false;
        }
        let Some(server) = self.shared.server(target).filter(|server| server.boot() == boot) else { return false };
        let tick = self.shared.next_use();
        let fresh = Record::new(target, server, mode, seq, tick);
        let Some(record) = self.records.get_mut(&inode) else {
            self.records.insert(inode, Box::new(fresh));
            self.order.insert(tick, inode);
            self.shared.added();
            return true;
        };
        if let Some(back) = record.back {
            if !back.returning || seq <= back.seq {
                return false;
            }
            let (used, covers) = (record.used, fresh.covers || back.keep != DelegationMode::None);
            **record = Record { used, covers, ..fresh };
            return true;
        }
        let newer = seq > record.seq;
        record.seq = record.seq.max(seq);
        match (record.mode, mode) {
            (DelegationMode::Exclusive, _) => true,
            (DelegationMode::Shared, DelegationMode::Exclusive) => {
                record.mode = mode;
                true
            }
            (old, new) if old == new => true,
            _ if newer => {
                // Who was admitted before is under way with something else, which nobody has to wait for.
                let (used, covers) = (record.used, fresh.covers || record.covers);
                **record = Record { seq: record.seq, used, covers, ..fresh };
                true
            }
            _ => false,
        }
    }

    /// What is held and good, also while it is on its way back but not given up yet.
    pub fn holds(&self, inode: InodeId, now_ms: u64) -> DelegationMode {
        match self.records.get(&inode) {
            Some(record) if record.server.is_good(now_ms) => record.mode,
            _ => DelegationMode::None,
        }
    }

    /// What others may be told that is held: nothing while it is on its way back.
    pub fn mode(&self, inode: InodeId, now_ms: u64) -> DelegationMode {
        match self.records.get(&inode) {
            Some(record) if record.back.is_none() => self.holds(inode, now_ms),
            Some(record) if record.back.is_some_and(|back| back.keep == DelegationMode::Shared) => {
                self.holds(inode, now_ms).min(DelegationMode::Shared)
            }
            _ => DelegationMode::None,
        }
    }

    /// What is kept of an inode, if it may be used.
    pub fn cached(&mut self, inode: InodeId, now_ms: u64) -> Option<&mut K> {
        if !matches!(self.holds(inode, now_ms), DelegationMode::Shared | DelegationMode::Exclusive) {
            return None;
        }
        self.touch(inode);
        self.records.get_mut(&inode).map(|record| &mut record.cached)
    }

    fn touch(&mut self, inode: InodeId) {
        let lazily = self.shared.held() as u64 / 8;
        let Some(record) = self.records.get_mut(&inode) else { return };
        if self.shared.last_use().saturating_sub(record.used) > lazily {
            self.order.remove(&record.used);
            record.used = self.shared.next_use();
            self.order.insert(record.used, inode);
        }
    }

    /// Changes whenever the delegation was gone in between.
    pub fn stamp(&self, inode: InodeId) -> Option<u64> {
        self.records.get(&inode).map(|record| record.stamp)
    }

    /// May an operation on a file's content begin?
    pub fn admit(&mut self, inode: InodeId, need: Need, now_ms: u64) -> Verdict {
        let Some(record) = self.records.get_mut(&inode) else { return Verdict::Ask };
        let (mode, good) = (record.mode, record.server.is_good(now_ms));
        if let Some(back) = &mut record.back {
            let stays = back.keep == DelegationMode::Shared && !need.write && good;
            if !stays && (back.returning || !back.open || need.patient) {
                return Verdict::Wait;
            }
            back.tainted |= !stays;
            if !good || !suffices(mode, need) {
                return Verdict::Direct;
            }
        } else if !good {
            return Verdict::Ask;
        } else if mode == DelegationMode::Uncached && !need.cached && !need.patient {
            return Verdict::Direct;
        } else if !suffices(mode, need) {
            return Verdict::Ask;
        }
        if need.write {
            record.writers += 1;
        } else {
            record.readers += 1;
        }
        Verdict::Cached(record.stamp)
    }

    /// An operation admitted under the delegation with this stamp is over. Whether somebody may wait for that.
    pub fn leave(&mut self, inode: InodeId, write: bool, stamp: u64) -> bool {
        let Some(record) = self.records.get_mut(&inode).filter(|record| record.stamp == stamp) else { return false };
        let count = if write { &mut record.writers } else { &mut record.readers };
        *count = count.saturating_sub(1);
        record.back.is_some()
    }

    /// Whether operations that were admitted are still under way and in the way of giving the delegation up.
    pub fn is_busy(&self, inode: InodeId) -> bool {
        self.records.get(&inode).is_some_and(|record| {
            let keeps = record.back.is_some_and(|back| back.keep == DelegationMode::Shared);
            record.writers > 0 || (!keeps && record.readers > 0)
        })
    }

    /// The server, or this client itself, wants a delegation back down to `keep`.
    pub fn revoke(&mut self, inode: InodeId, by: TargetId, keep: DelegationMode, seq: u64, now_ms: u64) -> Revoked {
        while self.void_order.front().is_some_and(|(at, ..)| now_ms.saturating_sub(*at) > VOID_MS) {
            if let Some((_, inode, seq)) = self.void_order.pop_front()
                && self.void.get(&inode).is_some_and(|(void, _)| *void == seq)
            {
                self.void.remove(&inode);
            }
        }
        let void = self.void.entry(inode).or_insert((0, by));
        if seq > void.0 {
            *void = (seq, by);
            self.void_order.push_back((now_ms, inode, seq));
        }
        let Some(record) = self.records.get_mut(&inode) else { return Revoked::NotHeld };
        if let Some(back) = &mut record.back {
            back.keep = back.keep.min(keep);
            back.seq = back.seq.max(seq);
            return Revoked::UnderWay;
        }
        let enough = record.mode <= keep || (keep == DelegationMode::Shared && record.mode == DelegationMode::Uncached);
        if seq < record.seq || (enough && keep != DelegationMode::None && record.mode != DelegationMode::Uncached) {
            return Revoked::NotHeld;
        }
        let keep = if record.mode == DelegationMode::Uncached { DelegationMode::None } else { keep };
        record.back = Some(Back { keep, seq, open: false, tainted: false, returning: false });
        Revoked::Started
    }

    /// Whether the layer above may keep something of an inode. Not of one that was never held but uncached: to make it forget
    /// all the same would tell the kernel that its size may have changed while it is reading under the next delegation, and
    /// it would not believe that this read ends where the file does.
    pub fn covers(&self, inode: InodeId) -> bool {
        self.records.get(&inode).is_none_or(|record| record.covers)
    }

    /// Lets waiting operations through.
    pub fn open_gate(&mut self, inode: InodeId) {
        if let Some(back) = self.records.get_mut(&inode).and_then(|record| record.back.as_mut()) {
            back.open = true;
        }
    }

    /// Whether waiting operations are let through.
    pub fn is_gate_open(&self, inode: InodeId) -> bool {
        self.records.get(&inode).and_then(|record| record.back).is_some_and(|back| back.open)
    }

    /// The layer above has forgotten: closes the gate. Whether something went through it meanwhile.
    pub fn close_gate(&mut self, inode: InodeId) -> bool {
        let Some(back) = self.records.get_mut(&inode).and_then(|record| record.back.as_mut()) else { return false };
        back.open = false;
        std::mem::take(&mut back.tainted)
    }

    /// What may be kept of a delegation on its way back, as it is wanted by now.
    pub fn keeps(&self, inode: InodeId) -> Option<DelegationMode> {
        Some(self.records.get(&inode)?.back?.keep)
    }

    /// Everything is done for `keep`: what is kept under the delegation goes, and the server is to be told what is returned.
    /// `None` if more is wanted meanwhile, or if the delegation is gone.
    pub fn give_up(&mut self, inode: InodeId, keep: DelegationMode) -> Option<(TargetId, u64)> {
        let record = self.records.get_mut(&inode)?;
        let back = record.back.as_mut().filter(|back| back.keep >= keep && !back.returning)?;
        back.returning = true;
        back.keep = keep;
        record.mode = keep;
        if keep == DelegationMode::None {
            record.cached = K::default();
        }
        Some((record.target, back.seq.max(record.seq)))
    }

    /// Is the server being told that this delegation is returned?
    pub fn is_returning(&self, inode: InodeId) -> bool {
        self.records.get(&inode).and_then(|record| record.back).is_some_and(|back| back.returning)
    }

    /// The server knows that the delegation is returned; whether yet more is wanted back.
    pub fn returned(&mut self, inode: InodeId) -> bool {
        let Some(record) = self.records.get_mut(&inode) else { return false };
        let Some(back) = record.back.filter(|back| back.returning) else { return false };
        if record.mode == DelegationMode::None {
            self.remove(inode);
            return false;
        }
        record.seq = record.seq.max(back.seq);
        if back.keep < record.mode {
            record.back = Some(Back { returning: false, open: false, tainted: false, ..back });
            return true;
        }
        record.back = None;
        false
    }

    /// Forgets a delegation without further ado.
    pub fn remove(&mut self, inode: InodeId) -> Option<K> {
        let record = self.records.remove(&inode)?;
        self.order.remove(&record.used);
        self.shared.removed();
        Some(record.cached)
    }

    /// The number to return a delegation with that nobody asked for.
    pub fn seq(&self, inode: InodeId) -> u64 {
        self.records.get(&inode).map_or(0, |record| record.seq)
    }

    /// All delegations of a server that something is kept of: that are not, or not wholly, on their way back.
    pub fn of_server(&self, server: TargetId) -> Vec<InodeId> {
        let held = self.records.iter().filter(|(_, record)| record.target == server && record.keeps_something());
        held.map(|(inode, _)| *inode).collect()
    }

    /// Whether there is any delegation of a server, also on its way back.
    pub fn has_of_server(&self, server: TargetId) -> bool {
        self.records.values().any(|record| record.target == server)
    }

    /// Forgets all delegations of a server, also those on their way back: the session is gone.
    pub fn remove_all_of_server(&mut self, server: TargetId) -> Vec<InodeId> {
        let of_it = self.records.iter().filter(|(_, record)| record.target == server);
        let inodes: Vec<InodeId> = of_it.map(|(inode, _)| *inode).collect();
        inodes.iter().for_each(|inode| drop(self.remove(*inode)));
        inodes
    }

    /// The server was restarted, and is to hear of the delegations of its earlier run that could not be given up in
    /// time: all of this shard, each with what is held. They are all on their way back, and are to be returned to it like any
    /// other.
    pub fn carry_over(&mut self, server: TargetId) -> Vec<Returned> {
        let still_held = self.records.iter_mut().filter(|(_, record)| record.target == server);
        let held = still_held.filter(|(_, record)| record.mode != DelegationMode::None);
        held.map(|(inode, record)| {
            assert!(!record.keeps_something(), "a delegation is carried over that is not wholly on its way back");
            record.carried = true;
            Returned { inode: *inode, keep: record.mode, seq: record.seq, open: false }
        })
        .collect()
    }

    /// Whether the server's run of now takes this delegation of an earlier one for its own.
    pub fn is_carried_over(&self, inode: InodeId) -> bool {
        self.records.get(&inode).is_some_and(|record| record.carried)
    }

    /// When each was last used, from the one used longest ago on.
    pub fn by_use(&self) -> impl Iterator<Item = (u64, InodeId)> {
        self.order.iter().map(|(used, inode)| (*used, *inode))
    }

    /// Whether a delegation is on its way back.
    pub fn is_going(&self, inode: InodeId) -> bool {
        self.records.get(&inode).is_some_and(|record| record.back.is_some())
    }

    /// What is kept of an inode, whether it may be used or not, and without counting as use.
    pub fn peek(&mut self, inode: InodeId) -> Option<&mut K> {
        self.records.get_mut(&inode).map(|record| &mut record.cached)
    }
}
