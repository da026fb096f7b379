// SPDX-License-Identifier: Apache-2.0

//! Rows of a page, as facts.

use super::compare::is_session;
use super::decode::{committed, entry_dir, inode_facts, next_sequence, number, parse_tx};
use super::last_directory::LastDirectory;
use crate::file_locks::FileLocks;
use crate::keys;
use crate::ns::lock;
use crate::records::{EntryRecord, GarbageRecord};
use crate::view::View;
use nyala_wire::check::{Fact, ServerFact};
use nyala_wire::{FileKind, InodeId, SessionId, WireError, codec};
use std::collections::BTreeSet;

/// Key, what was kept of the value, and its length.
pub type Row = (Vec<u8>, Vec<u8>, usize);

/// What rows say.
pub fn facts(view: &dyn View, rows: &[Row]) -> Result<Vec<Fact>, WireError> {
    let mut found = Found::default();
    for (key, value, len) in rows {
        if found.add(view, key, value, *len)?.is_none() {
            found.facts.push(Fact::Server(ServerFact::Unreadable { key: key.clone().into() }));
        }
    }
    Ok(found.facts)
}

#[derive(Default)]
struct Found {
    facts: Vec<Fact>,
    /// Where the names of the last directory are counted.
    listed: usize,
    /// Of which directories entries are.
    last_directory: LastDirectory,
    /// Sessions that replies were found for.
    strays: BTreeSet<SessionId>,
}

impl Found {
    /// What one row says; absent: it cannot be read.
    fn add(&mut self, view: &dyn View, key: &[u8], value: &[u8], len: usize) -> Result<Option<()>, WireError> {
        let fact = match key.first() {
            Some(&keys::INODE) => return Ok(inode_facts(key, value).map(|facts| self.facts.extend(facts))),
            Some(&keys::ENTRY) => return self.add_entry(view, key, value),
            Some(&keys::DATA) => keys::parse_inode(key).map(|inode| Fact::Content { inode, bytes: len as u64 }),
            Some(&keys::XATTR) => return Ok(self.add_xattr(key)),
            Some(&keys::OPEN) => match keys::parse_open(key) {
                Some((inode, session)) => Some(Fact::Open { inode, session, known: is_session(view, session)? }),
                None => None,
            },
            Some(&keys::FILE_LOCKS) => return self.add_locks(view, key, value),
            Some(&keys::SESSION_LOCK) => return self.add_session_lock(view, key),
            Some(&keys::REPLY) => return self.add_reply(view, key),
            // What cannot be read holds up the removal of all others.
            Some(&keys::GARBAGE) if codec::decode::<GarbageRecord>(value).is_err() => None,
            Some(&keys::GARBAGE) => keys::parse_garbage(key).map(|(inode, moved)| Fact::Garbage { inode, moved }),
            Some(&keys::TRUNCATE) => keys::parse_inode(key).map(|inode| Fact::Truncation { inode }),
            Some(&(keys::PREPARED | keys::COMMITTED | keys::NEXT)) => server_fact(key, value),
            Some(&keys::MISC) if *key == *keys::inode_count() => server_fact(key, value),
            // Nothing that others could contradict.
            Some(&(keys::SESSION | keys::HELD | keys::FENCE | keys::MISC | keys::MIRROR | keys::ASIDE)) => {
                return Ok(Some(()));
            }
            _ => None,
        };
        Ok(fact.map(|fact| self.facts.push(fact)))
    }

    fn add_entry(&mut self, view: &dyn View, key: &[u8], value: &[u8]) -> Result<Option<()>, WireError> {
        let (Some(dir), Some(cookie), Ok(entry)) =
            (entry_dir(key), keys::parse_cookie(key), codec::decode::<EntryRecord>(value))
        else {
            return Ok(None);
        };
        let taken = u64::from(entry.is_taken());
        let subdirs = if entry.kind == FileKind::Directory { taken } else { 0 };
        match self.facts.get_mut(self.listed) {
            Some(Fact::Listed { dir: of, entries, subdirs: directories }) if *of == dir => {
                *entries += taken;
                *directories += subdirs;
            }
            _ => {
                self.listed = self.facts.len();
                self.facts.push(Fact::Listed { dir, entries: taken, subdirs });
            }
        }
        if entry.is_taken() {
            let name = self.last_directory.name(view, dir, cookie, entry)?;
            self.facts.push(name);
        }
        Ok(Some(()))
    }

    fn add_xattr(&mut self, key: &[u8]) -> Option<()> {
        let (inode, name) = key.get(1..)?.split_first_chunk::<8>()?;
        let (inode, more) = (InodeId(u64::from_be_bytes(*inode)), name.len() as u64 + 1);
        match self.facts.last_mut() {
            Some(Fact::Xattrs { inode: of, bytes }) if *of == inode => *bytes += more,
            _ => self.facts.push(Fact::Xattrs { inode, bytes: more }),
        }
        Some(())
    }

    /// Of each session with locks on a file there is a row, and a session.
    fn add_locks(&mut self, view: &dyn View, key: &[u8], value: &[u8]) -> Result<Option<()>, WireError> {
        let (Some(inode), Ok(locks)) = (keys::parse_inode(key), codec::decode::<FileLocks>(value)) else {
            return Ok(None);
        };
        let holders: BTreeSet<SessionId> = locks.all().iter().map(|held| held.session).collect();
        for session in holders {
            let row = view.get(&keys::session_lock(session, inode))?;
            if row.is_none() || !is_session(view, session)? {
                self.facts.push(Fact::StrayLock { inode, session });
            }
        }
        Ok(Some(()))
    }

    fn add_session_lock(&mut self, view: &dyn View, key: &[u8]) -> Result<Option<()>, WireError> {
        let Some((session, inode)) = keys::parse_session_lock(key) else { return Ok(None) };
        // Locks that cannot be read are a fact of their own row.
        if lock::read(view, inode).is_ok_and(|locks| !locks.has(session)) {
            self.facts.push(Fact::StrayLock { inode, session });
        }
        Ok(Some(()))
    }

    fn add_reply(&mut self, view: &dyn View, key: &[u8]) -> Result<Option<()>, WireError> {
        let Some((session, _)) = key.get(1..).and_then(|rest| rest.split_first_chunk::<8>()) else { return Ok(None) };
        let session = SessionId(u64::from_be_bytes(*session));
        if !is_session(view, session)? && self.strays.insert(session) {
            self.facts.push(Fact::Server(ServerFact::StrayReplies { session }));
        }
        Ok(Some(()))
    }
}

fn server_fact(key: &[u8], value: &[u8]) -> Option<Fact> {
    let fact = match key.first() {
        Some(&keys::PREPARED) => parse_tx(key).map(|tx| ServerFact::Prepared { tx }),
        Some(&keys::COMMITTED) => committed(key, value),
        Some(&keys::NEXT) => next_sequence(key, value),
        _ => number(value).map(|inodes| ServerFact::Count { inodes }),
    };
    fact.map(Fact::Server)
}
