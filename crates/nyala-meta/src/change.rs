// SPDX-License-Identifier: Apache-2.0

//! One operation's change of the tables: reads through to them, sees its own writes, ends as one batch.
//!
//! An operation that is refused or has to wait simply drops its `Change`; nothing has happened.

use crate::keys;
use crate::locks::Locks;
use crate::records::{DirPart, EntryRecord, InodeRecord};
use crate::view::View;
use nyala_store::Batch;
use nyala_wire::meta_tx::TxId;
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, Slot, WireError, codec};
use std::ops::ControlFlow;

/// Why an operation did not run to its end.
#[derive(Debug)]
pub enum Fault {
    /// It is refused; this is the answer.
    Refused(WireError),
    /// A transaction holds something that it needs: wait for a release and run it again.
    Blocked,
    /// It touches other servers: do it as this transaction.
    Elsewhere(Box<crate::tx::Plan>),
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Self {
        Fault::Refused(error)
    }
}

impl From<ErrorCode> for Fault {
    fn from(code: ErrorCode) -> Self {
        Fault::Refused(code.into())
    }
}

/// Result of a step of an operation.
pub type Step<T> = Result<T, Fault>;

struct Loaded {
    inode: InodeId,
    /// `None` once destroyed.
    record: Option<InodeRecord>,
    dirty: bool,
}

/// A change in the making.
pub struct Change<'a> {
    view: &'a dyn View,
    locks: &'a Locks,
    tx: Option<TxId>,
    inodes: Vec<Loaded>,
    writes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl<'a> Change<'a> {
    /// A change of these tables by an operation (`tx` none) or a transaction that holds locks.
    pub fn new(view: &'a dyn View, locks: &'a Locks, tx: Option<TxId>) -> Self {
        Change { view, locks, tx, inodes: Vec::with_capacity(3), writes: Vec::with_capacity(6) }
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

    /// The batch that does it all.
    pub fn finish(self) -> Batch {
        let mut batch = Batch::with_capacity(512);
        for Loaded { inode, record, .. } in self.inodes.iter().filter(|loaded| loaded.dirty) {
            match record {
                Some(record) => batch.put(keys::inode(*inode), codec::encode(record)),
                None => batch.delete(keys::inode(*inode)),
            };
        }
        for (key, value) in &self.writes {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            };
        }
        batch
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.inodes.iter().all(|loaded| !loaded.dirty)
    }

    /// The value of a key that is not an inode's.
    pub fn get(&self, key: &[u8]) -> Step<Option<Vec<u8>>> {
        match self.writes.iter().rev().find(|(written, _)| written == key) {
            Some((_, value)) => Ok(value.clone()),
            None => Ok(self.view.get(key)?.map(|value| value.to_vec())),
        }
    }

    /// The decoded value of a key that is not an inode's.
    pub fn record<T: for<'b> minicbor::Decode<'b, ()>>(&self, key: &[u8]) -> Step<Option<T>> {
        Ok(match self.get(key)? {
            Some(bytes) => Some(stored(&bytes)?),
            None => None,
        })
    }

    /// Sets a key.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.write(key, Some(value));
    }

    /// Sets a key to an encoded record.
    pub fn put_record<T: minicbor::Encode<()>>(&mut self, key: Vec<u8>, value: &T) {
        self.write(key, Some(codec::encode(value)));
    }

    /// Removes a key.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.write(key, None);
    }

    fn write(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        match self.writes.iter_mut().find(|(written, _)| *written == key) {
            Some(slot) => slot.1 = value,
            None => self.writes.push((key, value)),
        }
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
        for (key, value) in self.writes.iter().filter(|(key, _)| key.starts_with(prefix)) {
            match value {
                Some(value) => found.insert(key.clone(), value.clone()),
                None => found.remove(key),
            };
        }
        Ok(found.into_iter().take(limit).collect())
    }

    fn load(&mut self, inode: InodeId) -> Step<usize> {
        if self.locks.inode_blocked(inode, self.tx) {
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
        self.put(key, count.to_le_bytes().to_vec());
        Ok(())
    }

    /// A single number of the tables; 0 if it is not there.
    pub fn number(&self, key: &[u8]) -> Step<u64> {
        match self.get(key)? {
            None => Ok(0),
            Some(bytes) => {
                let bytes = <[u8; 8]>::try_from(bytes.as_slice()).map_err(|_| ErrorCode::IO.with("bad number"))?;
                Ok(u64::from_le_bytes(bytes))
            }
        }
    }

    /// A new inode number in a slot.
    pub fn allocate(&mut self, slot: Slot) -> Step<InodeId> {
        let key = keys::next_sequence(slot);
        // The root is sequence 1 of slot 0; counting from 2 everywhere keeps it special nowhere.
        let sequence = self.number(&key)?.max(2);
        let inode = InodeId::new(slot, sequence).ok_or_else(|| ErrorCode::NO_SPACE.with("slot is full"))?;
        self.put(key, (sequence + 1).to_le_bytes().to_vec());
        Ok(inode)
    }

    /// The entry under a name and its cookie.
    pub fn find_entry(&self, dir: InodeId, name: &Name) -> Step<Option<(u64, EntryRecord)>> {
        if self.locks.entry_blocked(dir, name, self.tx) {
            return Err(Fault::Blocked);
        }
        let first = keys::cookie(dir, name.as_bytes());
        let Some(record) = self.record::<EntryRecord>(&keys::entry(dir, first))? else {
            return Ok(None); // why: the first place is never free while a later one is taken (see `remove_entry`)
        };
        if record.name == *name && record.inode.0 != 0 {
            return Ok(Some((first, record)));
        }
        for (cookie, record) in self.colliding(dir, first)? {
            if record.name == *name && record.inode.0 != 0 {
                return Ok(Some((cookie, record)));
            }
        }
        Ok(None)
    }

    fn colliding(&self, dir: InodeId, first: u64) -> Step<Vec<(u64, EntryRecord)>> {
        let key = keys::entry(dir, first);
        let prefix = &key[..key.len() - 1]; // why: collisions differ in the last byte only
        let rows = self.list(prefix, keys::COLLISIONS as usize)?;
        let parse = |(key, value): (Vec<u8>, Vec<u8>)| Ok((keys::parse_cookie(&key).unwrap_or(0), stored(&value)?));
        rows.into_iter().map(parse).collect()
    }

    /// Adds an entry under a name that is free, and counts it.
    pub fn add_entry(&mut self, dir: InodeId, name: &Name, inode: InodeId, kind: FileKind) -> Step<()> {
        let first = keys::cookie(dir, name.as_bytes());
        let record = EntryRecord { name: name.clone(), inode, kind };
        let mut cookie = first;
        if self.get(&keys::entry(dir, first))?.is_some() {
            let taken = self.colliding(dir, first)?;
            let free = |cookie: &u64| taken.iter().all(|(at, entry)| at != cookie || entry.inode.0 == 0);
            let full = || ErrorCode::NO_SPACE.with("too many names with the same hash in this directory");
            cookie = (first..first + keys::COLLISIONS).find(free).ok_or_else(full)?;
        }
        self.put_record(keys::entry(dir, cookie), &record);
        let subdir = u32::from(kind == FileKind::Directory);
        let parent = self.inode_mut(dir)?;
        parent.nlink += subdir;
        let part = parent.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?;
        part.entries += 1;
        Ok(())
    }

    /// Removes an entry, and counts it.
    pub fn remove_entry(&mut self, dir: InodeId, cookie: u64, entry: &EntryRecord) -> Step<()> {
        let first = cookie / keys::COLLISIONS * keys::COLLISIONS;
        let others = cookie == first && self.colliding(dir, first)?.len() > 1;
        if others {
            // Keeps the first place taken, so that looking there is enough to know that a name does not exist.
            let placeholder = EntryRecord { inode: InodeId(0), ..entry.clone() };
            self.put_record(keys::entry(dir, cookie), &placeholder);
        } else {
            self.delete(keys::entry(dir, cookie));
        }
        let subdir = u32::from(entry.kind == FileKind::Directory);
        let parent = self.inode_mut(dir)?;
        parent.nlink = parent.nlink.saturating_sub(subdir);
        let part = parent.dir.as_mut().ok_or(ErrorCode::NOT_A_DIRECTORY)?;
        part.entries = part.entries.saturating_sub(1);
        Ok(())
    }
}

/// Decodes what we stored; failure is damage that no checksum saw, so say it loudly.
pub fn stored<T: for<'b> minicbor::Decode<'b, ()>>(bytes: &[u8]) -> Result<T, WireError> {
    codec::decode(bytes).map_err(|e| ErrorCode::IO.with(format!("a metadata record cannot be read: {e}")))
}
