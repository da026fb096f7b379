// SPDX-License-Identifier: Apache-2.0

//! Keys and values of the metadata tables, and access control lists.

use nyala_kv::Key;
use nyala_namespace::acl::{self, Acl};
use nyala_namespace::keys as tables;
use nyala_namespace::records::{
    CommittedRecord, EntryRecord, GarbageRecord, InodeRecord, PreparedRecord, ReplyRecord, SessionRecord,
    TruncateRecord,
};
use nyala_wire::fuzzing::round_trip;
use nyala_wire::{ErrorCode, InodeId, codec};

/// Values of the metadata tables.
pub fn records(bytes: &[u8]) -> bool {
    let inode = round_trip::<InodeRecord>(bytes);
    if let (true, Ok(record)) = (inode, codec::decode::<InodeRecord>(bytes)) {
        let attr = record.attr(InodeId(2));
        let size = record.dir.as_ref().map_or(record.size, |dir| dir.entries);
        assert_eq!((attr.size, attr.nlink, attr.kind), (size, record.nlink, record.kind));
        let (mut longer, mut shorter) = (record.clone(), record.clone());
        longer.grow(record.size.saturating_add(1));
        shorter.resize(record.size / 2);
        assert!(longer.size >= record.size && shorter.size <= record.size);
    }
    inode
        | round_trip::<EntryRecord>(bytes)
        | round_trip::<SessionRecord>(bytes)
        | round_trip::<ReplyRecord>(bytes)
        | round_trip::<GarbageRecord>(bytes)
        | round_trip::<TruncateRecord>(bytes)
        | round_trip::<PreparedRecord>(bytes)
        | round_trip::<CommittedRecord>(bytes)
}

/// Keys of the metadata tables.
pub fn keys(bytes: &[u8]) -> bool {
    let same = |key: Key| assert_eq!(&key[..], bytes);
    let known = [
        tables::parse_open(bytes).map(|(inode, session)| same(tables::open(inode, session))),
        tables::parse_session_lock(bytes).map(|(session, inode)| same(tables::session_lock(session, inode))),
        tables::parse_fence(bytes).map(|(target, session)| same(tables::fence(target, session))),
        tables::parse_session(bytes).map(|session| same(tables::session(session))),
        tables::parse_run(bytes).map(|run| same(tables::run(run))),
        tables::parse_committed(bytes).map(|number| same(tables::committed(number))),
        tables::parse_inode(bytes).map(|inode| assert_eq!(tables::garbage(inode)[1..], bytes[1..])),
        tables::parse_cookie(bytes).map(|cookie| assert_eq!(tables::entry(InodeId(1), cookie)[9..], bytes[9..])),
    ];
    known.contains(&Some(()))
}

/// Access control lists, and what is made of them.
pub fn access_list(bytes: &[u8]) -> bool {
    match Acl::parse(bytes) {
        Ok(Some(list)) => {
            assert_eq!(list.to_bytes().len(), bytes.len());
            assert_eq!(Acl::parse(&list.to_bytes()), Ok(Some(list.clone())));
            for perm in [0, 0o777, 0o640, 0o1751] {
                let set = list.with_perm(perm);
                assert_eq!(set.perm(), perm & 0o777);
                assert_eq!(Acl::parse(&set.to_bytes()), Ok(Some(set)));
                let made = acl::inherit(&list, perm, true);
                assert_eq!(made.perm & !perm, 0, "never more than was asked for");
                assert_eq!(made.default, Some(list.to_bytes()));
                let access = made.access.as_deref().map(Acl::parse);
                assert!(access.is_none_or(|access| access.is_ok_and(|list| list.is_some())));
            }
            true
        }
        Ok(None) => true,
        Err(error) => {
            assert!([ErrorCode::INVALID, ErrorCode::NOT_SUPPORTED, ErrorCode::TOO_BIG].contains(&error));
            false
        }
    }
}
