// SPDX-License-Identifier: Apache-2.0

//! Keys of the metadata tables. `docs/format.md` lists them byte by byte.
//!
//! A key is a tag byte and then big-endian numbers, so that keys sort by number. Entries of a directory are ordered by
//! a hash of their names: the key of an entry is at the same time its listing cookie, which is stable while the entry
//! exists whatever happens to others, and a directory that is split by hash keeps its cookies.

use nyala_kv::Key;
pub use nyala_kv::prefix_end;
pub use nyala_wire::fragments::{COLLISIONS, cookie};
use nyala_wire::meta_tx::TxId;
use nyala_wire::mgmt::SEQUENCES_PER_RANGE;
use nyala_wire::{InodeId, Layout, SessionId, Slot, TargetId};

/// Tag of inode records.
pub const INODE: u8 = b'I';
/// Tag of directory entries.
pub const ENTRY: u8 = b'E';
/// Tag of inline data and link targets.
pub const DATA: u8 = b'D';
/// Tag of extended attributes.
pub const XATTR: u8 = b'X';
/// Tag of open files.
pub const OPEN: u8 = b'O';
/// Tag of sessions.
pub const SESSION: u8 = b'S';
/// Tag of kept replies.
pub const REPLY: u8 = b'R';
/// Tag of next sequence numbers of slots.
pub const NEXT: u8 = b'N';
/// Tag of chunk files to be removed.
pub const GARBAGE: u8 = b'G';
/// Tag of truncations that storage has not yet confirmed.
pub const TRUNCATE: u8 = b'T';
/// Tag of prepared transactions (participant).
pub const PREPARED: u8 = b'P';
/// Tag of committed transactions that not all participants have confirmed (coordinator).
pub const COMMITTED: u8 = b'C';
/// Tag of the locks that applications hold on a file.
pub const FILE_LOCKS: u8 = b'L';
/// Tag of the files on which a session has locks.
pub const SESSION_LOCK: u8 = b'K';
/// Tag of slots that a session may hold delegations in: see [`crate::held_slots`].
pub const HELD: u8 = b'H';
/// Tag of sessions that a storage target has not confirmed to refuse.
pub const FENCE: u8 = b'F';
/// Tag of single values: see [`inode_count`] and [`sequence_range`].
pub const MISC: u8 = b'M';

/// Tag of rows that could not be read and were set aside: see [`aside`].
pub const ASIDE: u8 = b'U';

/// Tag of what a member of a mirror group remembers of the group's log: rows of the service, not of the name space.
pub const MIRROR: u8 = b'Q';

const RUN: &[u8] = b"run";
const TAKEN: &[u8] = b"slot";
const GIVEN: &[u8] = b"given";
const HELD_BY: &[u8] = b"held";

/// Tags of rows that belong to a slot, in order: their keys go on with an inode, whose first two bytes are its slot, or with the slot.
pub const OF_SLOTS: [u8; 9] = [DATA, ENTRY, GARBAGE, INODE, FILE_LOCKS, NEXT, OPEN, TRUNCATE, XATTR];

/// Number of replies kept for a session; a client has at most so many changing requests under way.
pub const REPLY_WINDOW: u64 = 256;

/// Key of an inode's record.
pub fn inode(inode: InodeId) -> Key {
    Key::tagged(INODE, &[&inode.0.to_be_bytes()])
}

/// Key of an inode's inline data or link target.
pub fn data(inode: InodeId) -> Key {
    Key::tagged(DATA, &[&inode.0.to_be_bytes()])
}

/// Key of an entry; see [`cookie`].
pub fn entry(dir: InodeId, cookie: u64) -> Key {
    Key::tagged(ENTRY, &[&dir.0.to_be_bytes(), &cookie.to_be_bytes()])
}

/// Prefix of [`entry`] for all entries of a directory.
pub fn entries_prefix(dir: InodeId) -> Key {
    Key::tagged(ENTRY, &[&dir.0.to_be_bytes()])
}

/// Key of an extended attribute; without a name the prefix of all of an inode's.
pub fn xattr(inode: InodeId, name: &[u8]) -> Key {
    Key::tagged(XATTR, &[&inode.0.to_be_bytes(), name])
}

/// Key under which a row is kept that cannot be read under its own.
pub fn aside(key: &[u8]) -> Key {
    Key::tagged(ASIDE, &[key])
}

/// Key that says that a session holds a file open.
pub fn open(inode: InodeId, session: SessionId) -> Key {
    Key::tagged(OPEN, &[&inode.0.to_be_bytes(), &session.0.to_be_bytes()])
}

/// Prefix of [`open`] for all sessions.
pub fn open_prefix(inode: InodeId) -> Key {
    Key::tagged(OPEN, &[&inode.0.to_be_bytes()])
}

/// Inode and session of an [`open`] key.
pub fn parse_open(key: &[u8]) -> Option<(InodeId, SessionId)> {
    let (inode, session) = key.strip_prefix(&[OPEN])?.split_first_chunk::<8>()?;
    Some((InodeId(u64::from_be_bytes(*inode)), SessionId(u64::from_be_bytes(session.try_into().ok()?))))
}

/// Key of the locks that applications hold on a file.
pub fn file_locks(inode: InodeId) -> Key {
    Key::tagged(FILE_LOCKS, &[&inode.0.to_be_bytes()])
}

/// Key that says that a session has locks on a file.
pub fn session_lock(session: SessionId, inode: InodeId) -> Key {
    Key::tagged(SESSION_LOCK, &[&session.0.to_be_bytes(), &inode.0.to_be_bytes()])
}

/// Prefix of [`session_lock`] for all files.
pub fn session_lock_prefix(session: SessionId) -> Key {
    Key::tagged(SESSION_LOCK, &[&session.0.to_be_bytes()])
}

/// Session and inode of a [`session_lock`] key.
pub fn parse_session_lock(key: &[u8]) -> Option<(SessionId, InodeId)> {
    let (session, inode) = key.strip_prefix(&[SESSION_LOCK])?.split_first_chunk::<8>()?;
    Some((SessionId(u64::from_be_bytes(*session)), InodeId(u64::from_be_bytes(inode.try_into().ok()?))))
}

/// Key that says that a storage target is still to fence a session.
pub fn fence(target: TargetId, session: SessionId) -> Key {
    Key::tagged(FENCE, &[&target.0.to_be_bytes(), &session.0.to_be_bytes()])
}

/// Target and session of a [`fence`] key.
pub fn parse_fence(key: &[u8]) -> Option<(TargetId, SessionId)> {
    let (target, session) = key.strip_prefix(&[FENCE])?.split_first_chunk::<2>()?;
    Some((TargetId(u16::from_be_bytes(*target)), SessionId(u64::from_be_bytes(session.try_into().ok()?))))
}

/// Key of a session.
pub fn session(session: SessionId) -> Key {
    Key::tagged(SESSION, &[&session.0.to_be_bytes()])
}

/// Session of a [`session`] key.
pub fn parse_session(key: &[u8]) -> Option<SessionId> {
    Some(SessionId(u64::from_be_bytes(key.strip_prefix(&[SESSION])?.try_into().ok()?)))
}

/// Key that says that a session may hold delegations in a slot.
pub fn held(session: SessionId, slot: Slot) -> Key {
    Key::tagged(HELD, &[&session.0.to_be_bytes(), &slot.0.to_be_bytes()])
}

/// Session and slot of a [`held`] key.
pub fn parse_held(key: &[u8]) -> Option<(SessionId, Slot)> {
    let (session, slot) = key.strip_prefix(&[HELD])?.split_first_chunk::<8>()?;
    Some((SessionId(u64::from_be_bytes(*session)), Slot(u16::from_be_bytes(slot.try_into().ok()?))))
}

/// Key of the newest run that lacked nothing and wrote all [`held`] rows: after a later run they say nothing.
pub fn held_by() -> Key {
    Key::tagged(MISC, &[HELD_BY])
}

/// Key of a kept reply: a ring of [`REPLY_WINDOW`] places for each session.
pub fn reply(session: SessionId, sequence: u64) -> Key {
    let place = (sequence % REPLY_WINDOW) as u8;
    Key::tagged(REPLY, &[&session.0.to_be_bytes(), &[place]])
}

/// Prefix of [`reply`].
pub fn reply_prefix(session: SessionId) -> Key {
    Key::tagged(REPLY, &[&session.0.to_be_bytes()])
}

/// Key of a slot's next sequence number.
pub fn next_sequence(slot: Slot) -> Key {
    Key::tagged(NEXT, &[&slot.0.to_be_bytes()])
}

/// Key of a removed file's chunk files.
pub fn garbage(inode: InodeId) -> Key {
    Key::tagged(GARBAGE, &[&inode.0.to_be_bytes()])
}

/// Key of the chunk files that a file had before its data was moved: those of one layout for each key.
pub fn moved_garbage(inode: InodeId, before: &Layout) -> Key {
    Key::tagged(GARBAGE, &[&inode.0.to_be_bytes(), &[(before.moves % Layout::NAMES) as u8]])
}

/// Inode of a [`garbage`] or [`moved_garbage`] key; with `true` of the latter.
pub fn parse_garbage(key: &[u8]) -> Option<(InodeId, Option<bool>)> {
    let (inode, moved) = key.strip_prefix(&[GARBAGE])?.split_first_chunk::<8>()?;
    (moved.len() < 2).then(|| (InodeId(u64::from_be_bytes(*inode)), (!moved.is_empty()).then_some(true)))
}

/// Key of a truncation that storage has not yet confirmed.
pub fn truncate(inode: InodeId) -> Key {
    Key::tagged(TRUNCATE, &[&inode.0.to_be_bytes()])
}

/// Key of the log position that a run of the service began with.
pub fn run(run: u32) -> Key {
    Key::tagged(MISC, &[RUN, &run.to_be_bytes()])
}

/// Prefix of [`run`] for all runs.
pub fn run_prefix() -> Key {
    Key::tagged(MISC, &[RUN])
}

/// Run of a [`run`] key.
pub fn parse_run(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.strip_prefix(&[MISC])?.strip_prefix(RUN)?.try_into().ok()?))
}

/// Prefix of the rows with one of [`OF_SLOTS`] that belong to a slot.
pub fn slot_prefix(tag: u8, slot: Slot) -> Key {
    Key::tagged(tag, &[&slot.0.to_be_bytes()])
}

/// The slot that a row belongs to, if it belongs to one.
pub fn parse_slot(key: &[u8]) -> Option<Slot> {
    let (tag, rest) = key.split_first()?;
    let (slot, _) = rest.split_first_chunk::<2>()?;
    OF_SLOTS.contains(tag).then_some(Slot(u16::from_be_bytes(*slot)))
}

/// Key of what is known of a slot that came from another server.
pub fn taken(slot: Slot) -> Key {
    Key::tagged(MISC, &[TAKEN, &slot.0.to_be_bytes()])
}

/// Key that says that a slot was given away, or is about to be.
pub fn given(slot: Slot) -> Key {
    Key::tagged(MISC, &[GIVEN, &slot.0.to_be_bytes()])
}

/// Prefix of [`given`] for all slots.
pub fn given_prefix() -> Key {
    Key::tagged(MISC, &[GIVEN])
}

/// Slot of a [`given`] key.
pub fn parse_given(key: &[u8]) -> Option<Slot> {
    Some(Slot(u16::from_be_bytes(key.strip_prefix(&[MISC])?.strip_prefix(GIVEN)?.try_into().ok()?)))
}

/// Prefix of [`taken`] for all slots.
pub fn taken_prefix() -> Key {
    Key::tagged(MISC, &[TAKEN])
}

/// Slot of a [`taken`] key.
pub fn parse_taken(key: &[u8]) -> Option<Slot> {
    Some(Slot(u16::from_be_bytes(key.strip_prefix(&[MISC])?.strip_prefix(TAKEN)?.try_into().ok()?)))
}

/// Inode of a [`truncate`] or [`file_locks`] key.
pub fn parse_inode(key: &[u8]) -> Option<InodeId> {
    Some(InodeId(u64::from_be_bytes(key.get(1..)?.try_into().ok()?)))
}

/// Key of a prepared transaction.
pub fn prepared(tx: TxId) -> Key {
    Key::tagged(PREPARED, &[&tx.coordinator.0.to_be_bytes(), &tx.number.to_be_bytes()])
}

/// Key of a committed transaction that not all participants have confirmed.
pub fn committed(number: u64) -> Key {
    Key::tagged(COMMITTED, &[&number.to_be_bytes()])
}

/// Number of a [`committed`] key.
pub fn parse_committed(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.strip_prefix(&[COMMITTED])?.try_into().ok()?))
}

/// Key of the number of inodes on this target (u64, little-endian).
pub fn inode_count() -> Key {
    Key::tagged(MISC, &[b"inodes"])
}

/// Key of the range of sequence numbers that inodes get now (u64, little-endian).
pub fn sequence_range() -> Key {
    Key::tagged(MISC, &[b"range"])
}

/// First sequence number of a range that an inode may get. The root is sequence 1 of slot 0; counting from 2 everywhere
/// keeps it special nowhere.
pub fn first_sequence(range: u64) -> u64 {
    (range.saturating_sub(1).saturating_mul(SEQUENCES_PER_RANGE)).max(2)
}

/// Cookie of an [`entry`] key.
pub fn parse_cookie(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(9..)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_in_range_and_fixed() {
        for n in 0..1000_u32 {
            let cookie = cookie(InodeId(7), &n.to_le_bytes());
            assert!((256..1 << 63).contains(&cookie) && cookie.is_multiple_of(COLLISIONS));
        }
        // On disk for ever: this value may not change.
        assert_eq!(cookie(InodeId::ROOT, b"nyala"), cookie(InodeId::ROOT, b"nyala"));
        assert_ne!(cookie(InodeId(1), b"a"), cookie(InodeId(2), b"a"));
    }

    #[test]
    fn prefixes_end() {
        assert_eq!(prefix_end(b"ab"), b"ac");
        assert_eq!(prefix_end(&[1, 0xff]), [2]);
        assert!(open_prefix(InodeId(9)) < open(InodeId(9), SessionId(0)));
        assert!(*open(InodeId(9), SessionId(u64::MAX)) < *prefix_end(&open_prefix(InodeId(9))));
    }

    #[test]
    fn keys_parse_back() {
        assert_eq!(parse_open(&open(InodeId(3), SessionId(4))), Some((InodeId(3), SessionId(4))));
        assert_eq!(parse_session(&session(SessionId(8))), Some(SessionId(8)));
        assert_eq!(parse_inode(&garbage(InodeId(5))), Some(InodeId(5)));
        assert_eq!(parse_cookie(&entry(InodeId(5), 77)), Some(77));
        assert_eq!(parse_committed(&committed(6)), Some(6));
        assert_eq!(parse_session_lock(&session_lock(SessionId(8), InodeId(3))), Some((SessionId(8), InodeId(3))));
        assert_eq!((parse_taken(&taken(Slot(9))), parse_run(&taken(Slot(9)))), (Some(Slot(9)), None));
    }

    #[test]
    fn rows_know_their_slots() {
        let (slot, session) = (Slot(0x0102), SessionId(0x0102_0304_0506_0708));
        let of = InodeId::new(slot, 7).unwrap();
        let rows = [data(of), entry(of, 300), garbage(of), inode(of), file_locks(of), next_sequence(slot)];
        let rows = rows.into_iter().chain([open(of, session), truncate(of), xattr(of, b"user.a")]);
        for (tag, row) in OF_SLOTS.into_iter().zip(rows) {
            assert!(row.starts_with(&slot_prefix(tag, slot)) && parse_slot(&row) == Some(slot), "{row:?}");
        }
        for row in [session_lock(session, of), keys_of_session(session), reply(session, 1), inode_count(), run(1)] {
            assert_eq!(parse_slot(&row), None);
        }
    }

    fn keys_of_session(of: SessionId) -> Key {
        session(of)
    }
}
