// SPDX-License-Identifier: Apache-2.0

//! Single rows, as facts. Absent: the row cannot be read.

use crate::keys;
use crate::records::{CommittedRecord, DirPart, InodeRecord};
use nyala_wire::check::{Fact, InodeFact, ServerFact};
use nyala_wire::fragments::{CookieRange, Fragment};
use nyala_wire::meta_tx::TxId;
use nyala_wire::{InodeId, Slot, TargetId, codec};

/// An inode record, and what it says of fragments.
pub fn inode_facts(key: &[u8], value: &[u8]) -> Option<Vec<Fact>> {
    let (inode, record) = (keys::parse_inode(key)?, codec::decode::<InodeRecord>(value).ok()?);
    let (dir, file) = (record.dir.as_ref(), record.file.as_ref());
    let mut facts = dir.map_or_else(Vec::new, |part| fragment_facts(inode, part));
    facts.push(Fact::Inode(Box::new(InodeFact {
        inode,
        kind: record.kind,
        nlink: record.nlink,
        size: record.size,
        ctime: record.ctime,
        parent: dir.map(|dir| dir.parent),
        entries: dir.map(|dir| dir.entries),
        layout: file.map(|file| file.layout.clone()),
        inline_version: file.and_then(|file| file.inline_version),
        xattr_bytes: record.xattr_bytes,
        allocated: file.and_then(|file| file.allocated),
        range: dir.and_then(|dir| dir.range),
    })));
    Some(facts)
}

/// The fragments that a directory says it has.
fn fragment_facts(inode: InodeId, part: &DirPart) -> Vec<Fact> {
    let mut from = 0;
    let fact = |fragment: &Fragment| Fact::Fragment {
        inode: fragment.inode,
        dir: inode,
        range: CookieRange { from: std::mem::replace(&mut from, fragment.upto), upto: fragment.upto },
    };
    part.fragments().iter().map(fact).collect()
}

/// The directory of an entry's key.
pub fn entry_dir(key: &[u8]) -> Option<InodeId> {
    let (dir, cookie) = key.get(1..)?.split_first_chunk::<8>()?;
    (cookie.len() == 8).then(|| InodeId(u64::from_be_bytes(*dir)))
}

/// The transaction of the key of a prepared one.
pub fn parse_tx(key: &[u8]) -> Option<TxId> {
    let (coordinator, number) = key.get(1..)?.split_first_chunk::<2>()?;
    let coordinator = TargetId(u16::from_be_bytes(*coordinator));
    Some(TxId { coordinator, number: u64::from_be_bytes(number.try_into().ok()?) })
}

/// A transaction that was decided.
pub fn committed(key: &[u8], value: &[u8]) -> Option<ServerFact> {
    let (number, record) = (keys::parse_committed(key)?, codec::decode::<CommittedRecord>(value).ok()?);
    Some(ServerFact::Committed { number, waits_for: record.participants })
}

/// A slot's next sequence number.
pub fn next_sequence(key: &[u8], value: &[u8]) -> Option<ServerFact> {
    let slot = Slot(u16::from_be_bytes(key.get(1..)?.try_into().ok()?));
    Some(ServerFact::NextSequence { slot, next: number(value)? })
}

/// A single number.
pub fn number(value: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(value.try_into().ok()?))
}
