// SPDX-License-Identifier: Apache-2.0

//! One operation's change of the tables: reads through to them, sees its own writes, ends as one batch.
//!
//! An operation that is refused or has to wait simply drops its `Change`; nothing has happened.

pub use crate::fault::{Fault, Step};
use crate::keys;
use crate::locks::Locks;
use crate::records::{DirPart, EntryRecord, EntryRow, InodeRecord};
use crate::splitting::is_worth_a_look;
use crate::view::{View, number_of};
use crate::write_set::WriteSet;
use nyala_kv::{Batch, Key};
use nyala_wire::meta_tx::TxId;
use nyala_wire::mgmt::SEQUENCES_PER_RANGE;
use nyala_wire::{Attr, ErrorCode, FileKind, InodeId, Layout, Name, SessionId, Slot, WireError, codec};
use std::cell::Cell;
use std::ops::ControlFlow;

/// What most inodes' keys and records take in a batch.
const INODE_BYTES: usize = 192;

struct Loaded {
    inode: InodeId,
    /// `None` once destroyed.
    record: Option<InodeRecord>,
    dirty: bool,
}

/// What an operation made when it was done first, for it to make the same when it is done again after a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The inode.
    pub inode: InodeId,
    /// Of a regular file, where its data is.
    pub layout: Option<Layout>,
    /// Sequence numbers from here on are given out by the run that makes it again.
    pub below: u64,
}

/// A change in the making.
pub struct Change<'a> {
    view: &'a dyn View,
    locks: &'a Locks,
    tx: Option<TxId>,
    promised: bool,
    made: Option<Made>,
    hash: NameHash,
    inodes: Vec<Loaded>,
    /// The first place of a name that was just looked up and found free.
    vacant: Cell<Option<(InodeId, u64)>>,
    writes: WriteSet,
}

/// Gives a name's first cookie in a directory: [`keys::cookie`], but for tests of collisions.
pub type NameHash = fn(InodeId, &[u8]) -> u64;

impl<'a> Change<'a> {
    /// A change of these tables by an operation (`tx` none) or a transaction that holds locks.
    pub fn new(view: &'a dyn View, locks: &'a Locks, tx: Option<TxId>) -> Self {
        let (inodes, writes) = (Vec::with_capacity(3), WriteSet::default());
        let (promised, made, hash, vacant) = (false, None, keys::cookie, Cell::new(None));
        Change { view, locks, tx, promised, made, hash, inodes, vacant, writes }
    }

    /// That does what was promised when its transaction was prepared, whoever holds what by now. Needed where two may hold
    /// the same directory, one to put an entry into it and one to move it: what they do commutes, and neither may wait for
    /// the other any more.
    pub fn promised(self) -> Self {
        Change { promised: true, ..self }
    }

    /// That makes what was made before.
    pub fn again(self, made: Made) -> Self {
        Change { made: Some(made), ..self }
    }

    /// What was made before, if it is done again.
    pub fn made(&self) -> Option<&Made> {
        self.made.as_ref()
    }

    /// With another hash of names, whose values must be multiples of [`keys::COLLISIONS`].
    pub fn with_hash(self, hash: NameHash) -> Self {
        Change { hash, ..self }
    }

    /// The transaction that this change belongs to.
    pub fn tx(&self) -> Option<TxId> {
        self.tx
    }

    /// The tables underneath, without own writes.
    pub fn view(&self) -> &'a dyn View {
        self.view
    }

    /// The locks that this change looks at.
    pub fn locks(&self) -> &Locks {
        self.locks
    }

    /// Whether another transaction needs a directory to stay.
    pub fn is_pinned(&self, dir: InodeId) -> bool {
        !self.promised && self.locks.pinned(dir, self.tx)
    }

    /// The batch that does it all.
    pub fn finish(self) -> Batch {
        let dirty = || self.inodes.iter().filter(|loaded| loaded.dirty);
        let mut batch = Batch::with_capacity(dirty().count() * INODE_BYTES + self.writes.batch_bytes());
        for Loaded { inode, record, .. } in dirty() {
            match record {
                Some(record) => batch.put_with(keys::inode(*inode), |row| codec::encode_into(record, row)),
                None => batch.delete(keys::inode(*inode)),
            };
        }
        self.writes.add_to(&mut batch);
        batch
    }

    /// The inodes that change.
    pub fn touched(&self) -> Vec<InodeId> {
        self.inodes.iter().filter(|loaded| loaded.dirty).map(|loaded| loaded.inode).collect()
    }

    /// The directories that change, as they are then, of which `wanted` says yes.
    pub fn changed_dirs(&self, wanted: impl Fn(InodeId) -> bool) -> Vec<Attr> {
        let dirty = self.inodes.iter().filter(|loaded| loaded.dirty);
        let dirs = dirty.filter_map(|loaded| Some((loaded.inode, loaded.record.as_ref()?)));
        dirs.filter(|(inode, record)| record.dir.is_some() && wanted(*inode))
            .map(|(inode, record)| record.attr(inode))
            .collect()
    }

    /// The directories that have by now so many entries that their fragments should be counted ([`crate::splitting`]).
    pub fn to_consider(&self, split_above: u64) -> Vec<InodeId> {
        let dirty = self.inodes.iter().filter(|loaded| loaded.dirty);
        let dirs = dirty.filter_map(|loaded| Some((loaded.inode, loaded.record.as_ref()?.dir.as_ref()?)));
        dirs.filter(|(_, part)| is_worth_a_look(part.entries, part.is_split(), split_above))
            .map(|(inode, part)| part.directory(inode))
            .collect()
    }

    /// The inodes that go.
    pub fn destroyed(&self) -> Vec<InodeId> {
        let gone = self.inodes.iter().filter(|loaded| loaded.dirty && loaded.record.is_none());
        gone.map(|loaded| loaded.inode).collect()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.inodes.iter().all(|loaded| !loaded.dirty)
    }

    /// The value of a key that is not an inode's.
    pub fn get(&self, key: &[u8]) -> Step<Option<Vec<u8>>> {
        self.look(key, |value| Ok(value.to_vec()))
    }

    /// Whether there is a value of a key that is not an inode's.
    pub fn has(&self, key: &[u8]) -> Step<bool> {
        Ok(self.look(key, |_| Ok(()))?.is_some())
    }

    /// The decoded value of a key that is not an inode's.
    pub fn record<T: for<'b> minicbor::Decode<'b, ()>>(&self, key: &[u8]) -> Step<Option<T>> {
        self.look(key, |bytes| Ok(stored(bytes)?))
    }

    /// What `see` makes of a value, which is not copied.
    fn look<T>(&self, key: &[u8], see: impl FnOnce(&[u8]) -> Step<T>) -> Step<Option<T>> {
        match self.writes.get(key) {
            Some(value) => value.map(see).transpose(),
            None => self.view.get(key)?.as_deref().map(see).transpose(),
        }
    }

    /// Sets a key.
    pub fn put(&mut self, key: Key, value: Vec<u8>) {
        self.writes_to(&key).put(key, value);
    }

    /// Sets a key to a number, as [`Change::number`] reads it.
    pub fn put_number(&mut self, key: Key, number: u64) {
        self.writes_to(&key).put_number(key, number);
    }

    /// Sets a key to an encoded record.
    pub fn put_record<T: minicbor::Encode<()>>(&mut self, key: Key, value: &T) {
        self.writes_to(&key).put_record(key, value);
    }

    /// Removes a key.
    pub fn delete(&mut self, key: Key) {
        self.writes_to(&key).remove(key);
    }

    /// Where a key is written; a name's may be the place that was found free.
    fn writes_to(&mut self, key: &Key) -> &mut WriteSet {
        if key.first() == Some(&keys::ENTRY) {
            self.vacant.set(None);
        }
        &mut self.writes
    }

    /// Keys and values with a prefix, own writes included; at most `limit`.
    pub fn list(&self, prefix: &[u8], limit: usize) -> Step<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found = std::collections::BTreeMap::new();
        let mut room = limit + self.writes.len();
        self.view.scan(prefix, &keys::prefix_end(prefix), &mut |key, value| {
            found.insert(key.to_vec(), value.to_vec());
            room -= 1;
            if room == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for (key, value) in self.writes.with_prefix(prefix) {
            match value {
                Some(value) => found.insert(key.to_vec(), value.to_vec()),
                None => found.remove(key),
            };
        }
        Ok(found.into_iter().take(limit).collect())
    }

    /// Removes all keys with a prefix, however many.
    pub fn delete_all(&mut self, prefix: &[u8]) -> Step<()> {
        let writes = &mut self.writes;
        writes.forget(prefix);
        self.view.scan(prefix, &keys::prefix_end(prefix), &mut |key, _| {
            writes.remove_another(Key::new(key));
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Whether another session than this one holds it open.
    pub fn is_open_elsewhere(&self, inode: InodeId, session: SessionId) -> Step<bool> {
        let own = usize::from(self.has(&keys::open(inode, session))?);
        Ok(self.view.openers(inode)? > own)
    }

    /// Whether a session holds an inode open, this change's own opening and closing included.
    pub fn is_open(&self, inode: InodeId) -> Step<bool> {
        let prefix = keys::open_prefix(inode);
        let mut open = self.view.openers(inode)?;
        for (_, value) in self.writes.with_prefix(&prefix) {
            // Only what is there is deleted (see `ns::open::close_here`).
            match value {
                Some(_) => return Ok(true),
                None => open = open.saturating_sub(1),
            }
        }
        Ok(open > 0)
    }

    fn load(&mut self, inode: InodeId) -> Step<usize> {
        if !self.promised && self.locks.inode_blocked(inode, self.tx) {
            return Err(Fault::Blocked);
        }
        if let Some(at) = self.inodes.iter().position(|loaded| loaded.inode == inode) {
            return Ok(at);
        }
        let record = match self.view.get(&keys::inode(inode))? {
            Some(bytes) => Some(stored(&bytes)?),
            None => None,
        };
        self.inodes.push(Loaded { inode, record, dirty: false });
        Ok(self.inodes.len() - 1)
    }

    /// An inode, if it exists.
    pub fn find_inode(&mut self, inode: InodeId) -> Step<Option<&InodeRecord>> {
        let at = self.load(inode)?;
        Ok(self.inodes[at].record.as_ref())
    }

    /// An inode; ESTALE if it does not exist (any more).
    pub fn inode(&mut self, inode: InodeId) -> Step<&InodeRecord> {
        self.find_inode(inode)?.ok_or_else(|| ErrorCode::STALE.into())
    }

    /// An inode, to be changed.
    pub fn inode_mut(&mut self, inode: InodeId) -> Step<&mut InodeRecord> {
        let at = self.load(inode)?;
        let loaded = &mut self.inodes[at];
        loaded.dirty = true;
        loaded.record.as_mut().ok_or_else(|| ErrorCode::STALE.into())
    }

    /// A directory in which something is looked up or made; ENOENT if it is gone, ENOTDIR if it is something else.
    pub fn dir(&mut self, inode: InodeId) -> Step<(&InodeRecord, &DirPart)> {
        let record = self.find_inode(inode)?.ok_or(ErrorCode::NOT_FOUND)?;
        let part = record.dir.as_ref().ok_or(ErrorCode::NOT_A_DIRECTORY)?;
        Ok((record, part))
    }

    /// Adds an inode to the tables.
    pub fn insert_inode(&mut self, inode: InodeId, record: InodeRecord) -> Step<()> {
        self.count_inodes(1)?;
        self.inodes.retain(|loaded| loaded.inode != inode);
        self.inodes.push(Loaded { inode, record: Some(record), dirty: true });
        Ok(())
    }

    /// Takes an inode's record out of the tables.
    pub fn remove_inode(&mut self, inode: InodeId) -> Step<()> {
        self.count_inodes(-1)?;
        let at = self.load(inode)?;
        self.inodes[at] = Loaded { inode, record: None, dirty: true };
        Ok(())
    }

    fn count_inodes(&mut self, by: i64) -> Step<()> {
        let key = keys::inode_count();
        let count = self.number(&key)?.saturating_add_signed(by);
        self.put_number(key, count);
        Ok(())
    }

    /// A single number of the tables; 0 if it is not there.
    pub fn number(&self, key: &[u8]) -> Step<u64> {
        let number = match self.writes.get(key) {
            Some(written) => written.map(number_of).transpose()?,
            None => self.view.number(key)?,
        };
        Ok(number.unwrap_or(0))
    }

    /// The number that the inode had when it was made first: none that a later run has given out, and of none that is there.
    fn allocate_again(&mut self, slot: Slot, made: &Made) -> Step<InodeId> {
        let other = made.inode.slot() != slot || made.inode.sequence() >= made.below;
        if other || self.find_inode(made.inode)?.is_some() {
            return Err(ErrorCode::STALE.with(format!("inode {} cannot be made again", made.inode)).into());
        }
        Ok(made.inode)
    }

    /// A new inode number in a slot. NOT_READY when the target's range of numbers is used up and it has no other yet.
    pub fn allocate(&mut self, slot: Slot) -> Step<InodeId> {
        if let Some(made) = self.made.take() {
            return self.allocate_again(slot, &made);
        }
        let key = keys::next_sequence(slot);
        let mut sequence = self.number(&key)?;
        // Behind a whole range, or new: only then the range matters.
        if sequence.is_multiple_of(SEQUENCES_PER_RANGE) {
            let first = keys::first_sequence(self.number(&keys::sequence_range())?);
            if first < sequence {
                return Err(ErrorCode::NOT_READY.with("this server waits for inode numbers from management").into());
            }
            sequence = first;
        }
        let inode = InodeId::new(slot, sequence).ok_or_else(|| ErrorCode::NO_SPACE.with("slot is full"))?;
        self.put_number(key, sequence + 1);
        Ok(inode)
    }

    /// The first place of a name among the entries of a directory or a fragment; OTHER_FRAGMENT if it is not there that they are.
    fn first_place(&mut self, dir: InodeId, name: &Name) -> Step<u64> {
        let at = self.load(dir)?;
        let part = self.inodes[at].record.as_ref().and_then(|record| record.dir.as_ref());
        let Some(part) = part.filter(|part| part.is_split()) else { return Ok((self.hash)(dir, name.as_bytes())) };
        let cookie = (self.hash)(part.directory(dir), name.as_bytes());
        if part.own_range().has(cookie) { Ok(cookie) } else { Err(ErrorCode::OTHER_FRAGMENT.into()) }
    }

    /// The directory that a name is in, if its entry is in this fragment.
    pub fn directory(&mut self, dir: InodeId) -> Step<InodeId> {
        Ok(self.dir(dir)?.1.directory(dir))
    }

    /// The entry under a name and its cookie.
    pub fn find_entry(&mut self, dir: InodeId, name: &Name) -> Step<Option<(u64, EntryRecord)>> {
        if !self.promised && self.locks.entry_blocked(dir, name, self.tx) {
            return Err(Fault::Blocked);
        }
        let first = self.first_place(dir, name)?;
        let Some(record) = self.record::<EntryRecord>(&keys::entry(dir, first))? else {
            self.vacant.set(Some((dir, first)));
            return Ok(None);
        };
        if record.name == *name && record.is_taken() {
            return Ok(Some((first, record)));
        }
        if record.is_followed() {
            let all = self.colliding(dir, first)?;
            return Ok(all.into_iter().find(|(_, record)| record.name == *name && record.is_taken()));
        }
        Ok(None)
    }

    /// The entries whose names have the same hash.
    fn colliding(&self, dir: InodeId, first: u64) -> Step<Vec<(u64, EntryRecord)>> {
        let key = keys::entry(dir, first);
        let prefix = &key[..key.len() - 1]; // why: collisions differ in the last byte only
        let rows = self.list(prefix, keys::COLLISIONS as usize)?;
        let parse = |(key, value): (Vec<u8>, Vec<u8>)| Ok((keys::parse_cookie(&key).unwrap_or(0), stored(&value)?));
        rows.into_iter().map(parse).collect()
    }

    /// Adds an entry under a name that is free, and counts it.
    pub fn add_entry(&mut self, dir: InodeId, name: &Name, inode: InodeId, kind: FileKind) -> Step<()> {
        let first = self.first_place(dir, name)?;
        let mut record = EntryRow { name, inode, kind, followed: None };
        let mut cookie = first;
        let there = match self.vacant.take() {
            Some(vacant) if vacant == (dir, first) => None,
            _ => self.record::<EntryRecord>(&keys::entry(dir, first))?,
        };
        match there {
            None => {}
            Some(there) if !there.is_taken() => record.followed = there.followed,
            Some(there) => {
                cookie = self.next_place(dir, first)?;
                let followed = EntryRecord { followed: Some(true), ..there };
                self.put_record(keys::entry(dir, first), &followed);
            }
        }
        self.put_record(keys::entry(dir, cookie), &record);
        self.count_entry(dir, kind, 1)
    }

    fn next_place(&self, dir: InodeId, first: u64) -> Step<u64> {
        let taken = self.colliding(dir, first)?;
        let free = |cookie: &u64| taken.iter().all(|(at, _)| at != cookie);
        let full = || ErrorCode::NO_SPACE.with("too many names with the same hash in this directory").into();
        (first..first + keys::COLLISIONS).find(free).ok_or_else(full)
    }

    /// Removes an entry, and counts it.
    pub fn remove_entry(&mut self, dir: InodeId, cookie: u64, entry: &EntryRecord) -> Step<()> {
        let first = cookie / keys::COLLISIONS * keys::COLLISIONS;
        if cookie != first {
            self.delete(keys::entry(dir, cookie));
            self.free_place(dir, first)?;
        } else if entry.is_followed() && self.colliding(dir, first)?.len() > 1 {
            let place = EntryRecord { inode: InodeId(0), ..entry.clone() };
            self.put_record(keys::entry(dir, cookie), &place);
        } else {
            self.delete(keys::entry(dir, cookie));
        }
        self.count_entry(dir, entry.kind, -1)
    }

    /// Gives the first place up when nobody is behind it any more.
    fn free_place(&mut self, dir: InodeId, first: u64) -> Step<()> {
        if let [(at, left)] = &self.colliding(dir, first)?[..]
            && *at == first
            && !left.is_taken()
        {
            self.delete(keys::entry(dir, first));
        }
        Ok(())
    }

    fn count_entry(&mut self, dir: InodeId, kind: FileKind, by: i8) -> Step<()> {
        let subdir = if kind == FileKind::Directory { i32::from(by) } else { 0 };
        let parent = self.inode_mut(dir)?;
        parent.nlink = parent.nlink.saturating_add_signed(subdir);
        let part = parent.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?;
        part.entries = part.entries.saturating_add_signed(i64::from(by));
        Ok(())
    }
}

/// Decodes what we stored; failure is damage that no checksum saw, so say it loudly.
pub fn stored<T: for<'b> minicbor::Decode<'b, ()>>(bytes: &[u8]) -> Result<T, WireError> {
    codec::decode(bytes).map_err(|e| ErrorCode::IO.with(format!("a metadata record cannot be read: {e}")))
}
