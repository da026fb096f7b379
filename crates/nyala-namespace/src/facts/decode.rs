// SPDX-License-Identifier: Apache-2.0

//! Single rows, as facts. Absent: the row cannot be read.

use crate::keys;
use crate::records::{CommittedRecord, InodeRecord};
use nyala_wire::check::{Fact, InodeFact, ServerFact};
use nyala_wire::fragments::{CookieRange, Fragment};
use nyala_wire::meta_tx::TxId;
use nyala_wire::{InodeId, Slot, TargetId, codec};

/// An inode record.
pub fn inode_fact(key: &[u8], value: &[u8]) -> Option<InodeFact> {
    let (inode, record) = (keys::parse_inode(key)?, codec::decode::<InodeRecord>(value).ok()?);
    let (dir, file) = (record.dir.as_ref(), record.file.as_ref());
    Some(InodeFact {
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
    })
}

/// The fragments of a directory's record.
pub fn fragment_facts(inode: InodeId, value: &[u8]) -> Vec<Fact> {
    let part = codec::decode::<InodeRecord>(value).ok().and_then(|record| record.dir);
    let mut from = 0;
    let fragments = part.iter().flat_map(|part| part.fragments());
    let fact = |fragment: &Fragment| Fact::Fragment {
        inode: fragment.inode,
        dir: inode,
        range: CookieRange { from: std::mem::replace(&mut from, fragment.upto), upto: fragment.upto },
    };
    fragments.map(fact).collect()
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
