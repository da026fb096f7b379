// SPDX-License-Identifier: Apache-2.0

//! Repairs of rows that belong to nothing, or contradict what they belong to.

use super::so::{check, not_so};
use crate::change::{Change, Step};
use crate::facts::compare::is_session;
use crate::facts::{entry_dir, is_unreadable};
use crate::keys;
use crate::ns::inodes::touch_dir;
use crate::ns::{lock, open};
use nyala_kv::Key;
use nyala_wire::check::may_be_set_aside;
use nyala_wire::{FileKind, InodeId, SessionId, Slot, Time};

/// Sequence numbers are below this.
const SEQUENCES: u64 = 1 << 46;

/// Removes the content of an inode that is not there, or is not to have any.
pub fn remove_content(change: &mut Change, inode: InodeId) -> Step<()> {
    let data = keys::data(inode);
    let (keeps, exists) = match change.find_inode(inode)? {
        None => (false, false),
        Some(record) => {
            let inline = record.file.as_ref().is_some_and(|file| file.inline_version.is_some());
            (inline || record.kind == FileKind::Symlink, true)
        }
    };
    check(!keeps)?;
    let attributes = keys::xattr(inode, b"");
    let found = change.has(&data)?;
    check(found || (!exists && !change.list(&attributes, 1)?.is_empty()))?;
    if found {
        change.delete(data);
    }
    if exists { Ok(()) } else { change.delete_all(&attributes) }
}

/// Ends what a session holds open that is not there.
pub fn close(change: &mut Change, inode: InodeId, session: SessionId) -> Step<()> {
    check(!is_session(change.view(), session)? && change.has(&keys::open(inode, session))?)?;
    open::close_here(change, session, inode)
}

/// Makes both rows about a session's locks say the same.
pub fn settle_locks(change: &mut Change, inode: InodeId, session: SessionId) -> Step<()> {
    let (known, row) = (is_session(change.view(), session)?, change.has(&keys::session_lock(session, inode))?);
    let holds = lock::load(change, inode)?.has(session);
    check(holds != row || (row && !known))?;
    if !known {
        lock::release_all(change, session, inode)?;
    }
    lock::settle(change, session, inode)
}

/// Removes the replies kept for a session that is not there.
pub fn remove_replies(change: &mut Change, session: SessionId) -> Step<()> {
    check(!is_session(change.view(), session)?)?;
    change.delete_all(&keys::reply_prefix(session))?;
    check(!change.is_empty())
}

/// The chunk files of an inode that exists stay.
pub fn keep_chunks(change: &mut Change, inode: InodeId) -> Step<()> {
    let key = keys::garbage(inode);
    check(change.find_inode(inode)?.is_some() && change.has(&key)?)?;
    change.delete(key);
    Ok(())
}

/// A slot goes on with a larger sequence number.
pub fn raise_sequence(change: &mut Change, slot: Slot, to: u64) -> Step<()> {
    let key = keys::next_sequence(slot);
    check(to < SEQUENCES && change.number(&key)? < to)?;
    change.put_number(key, to);
    Ok(())
}

/// Keeps a row that cannot be read where nobody reads it. Whoever has seen its directory is told that this has changed.
pub fn set_aside(change: &mut Change, now: Time, key: &[u8]) -> Step<()> {
    let (value, aside) = (change.get(key)?, keys::aside(key));
    let Some(value) = value.filter(|_| may_be_set_aside(key)) else { return Err(not_so()) };
    check(is_unreadable(change.view(), key, &value)? && !change.has(&aside)?)?;
    change.delete(Key::new(key));
    change.put(aside, value.to_vec());
    match entry_dir(key).filter(|_| key.first() == Some(&keys::ENTRY)) {
        Some(dir) if change.find_inode(dir)?.is_some() => touch_dir(change, dir, now),
        _ => Ok(()),
    }
}

/// Corrects the number of inodes.
pub fn set_count(change: &mut Change, from: u64, to: u64) -> Step<()> {
    let key = keys::inode_count();
    check(change.number(&key)? == from && from != to)?;
    change.put_number(key, to);
    Ok(())
}
