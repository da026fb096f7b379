// SPDX-License-Identifier: Apache-2.0

//! Keys and records, byte by byte: what is on disk has to be read for ever. `docs/format.md` describes them.

use minicbor::{Decode, Encode};
use nyala_namespace::file_locks::FileLocks;
use nyala_namespace::keys;
use nyala_namespace::records::{
    CommittedRecord, DirPart, EntryRecord, FilePart, GarbageRecord, InodeRecord, PreparedRecord, ReplyRecord,
    SessionRecord, TakenRecord, TruncateRecord,
};
use nyala_wire::codec::{decode, encode};
use nyala_wire::fragments::CookieRange;
use nyala_wire::meta::{FileLock, LockKind};
use nyala_wire::meta_tx::{PartResult, TxId, TxPart};
use nyala_wire::{
    FileKind, InodeId, Layout, MapVersion, Name, Pattern, SessionId, Slot, StripePattern, TargetId, Time,
};
use std::fmt::Debug;

const HELLO: InodeId = InodeId(0x10);
const NOW: Time = Time { seconds: 1_700_000_000, nanos: 5 };

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn name(bytes: &[u8]) -> Name {
    Name::new(bytes).unwrap()
}

/// The record is written as these bytes, and they are read as the record.
fn record<T: Encode<()> + for<'b> Decode<'b, ()> + PartialEq + Debug>(record: &T, pinned: &str) {
    let bytes = encode(record);
    assert_eq!(hex(&bytes), pinned.replace(' ', ""), "{record:?}");
    assert_eq!(decode::<T>(&bytes).as_ref(), Ok(record));
}

fn layout() -> Layout {
    Layout {
        pattern: Pattern::Raid0,
        chunk_bytes: 512 << 10,
        targets: vec![TargetId(101), TargetId(102)],
        moves: 0,
        code: None,
    }
}

fn inode(kind: FileKind, perm: u16, size: u64) -> InodeRecord {
    InodeRecord {
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        size,
        atime: NOW,
        mtime: NOW,
        ctime: NOW,
        btime: NOW,
        rdev: None,
        dir: None,
        file: None,
        xattr_bytes: None,
    }
}

/// The values were computed by another implementation of SipHash-2-4.
#[test]
fn cookies() {
    let all: [(u64, &[u8], u64); 8] = [
        (1, b"hello", 0x0a8a_6879_71a0_9b00),
        (1, b"nyala", 0x21ac_2f67_2103_1e00),
        (1, b"a", 0x26b8_e69a_6ea4_0300),
        (2, b"a", 0x76af_c2ff_d6bb_bc00),
        (1 << 48 | 1, b"a", 0x7a02_7b4a_853e_2b00),
        (1, &[b'x'; 255], 0x2825_0d9a_2337_2b00),
        (1, b"\xff\xfe", 0x4394_d595_d426_db00),
        (64 << 48 | 1, b"Makefile", 0x4f4b_31aa_d14f_3100),
    ];
    for (dir, name, cookie) in all {
        assert_eq!(keys::cookie(InodeId(dir), name), cookie, "{dir} {name:?}");
    }
    assert!(include_str!("../../../../docs/format.md").contains("45 0000000000000001 0a8a687971a09b00"));
}

#[test]
fn keys_of_tables() {
    let (inode, session) = (InodeId(0x0102_0304_0506_0708), SessionId(0x1112_1314_1516_1718));
    let tx = TxId { coordinator: TargetId(0x2122), number: 0x3132_3334_3536_3738 };
    let all = [
        (keys::inode(inode), "49 0102030405060708"),
        (keys::entry(inode, 0x4142), "45 0102030405060708 0000000000004142"),
        (keys::data(inode), "44 0102030405060708"),
        (keys::xattr(inode, b"user.a"), "58 0102030405060708 757365722e61"),
        (keys::open(inode, session), "4f 0102030405060708 1112131415161718"),
        (keys::session(session), "53 1112131415161718"),
        (keys::reply(session, 0x1_0203), "52 1112131415161718 03"),
        (keys::next_sequence(Slot(0x5152)), "4e 5152"),
        (keys::garbage(inode), "47 0102030405060708"),
        (keys::truncate(inode), "54 0102030405060708"),
        (keys::prepared(tx), "50 2122 3132333435363738"),
        (keys::committed(tx.number), "43 3132333435363738"),
        (keys::file_locks(inode), "4c 0102030405060708"),
        (keys::session_lock(session, inode), "4b 1112131415161718 0102030405060708"),
        (keys::inode_count(), "4d 696e6f646573"),
        (keys::sequence_range(), "4d 72616e6765"),
    ];
    for (key, pinned) in all {
        assert_eq!(hex(&key), pinned.replace(' ', ""));
    }
}

#[test]
fn inodes() {
    const TIMES: &str = "821a6553f10005 821a6553f10005 821a6553f10005 821a6553f10005";
    let part = FilePart {
        layout: layout(),
        inline_version: Some(1),
        inline_limit: 4096,
        allocated: None,
        unnamed: None,
        tail: None,
    };
    let file = InodeRecord { file: Some(part.clone()), ..inode(FileKind::File, 0o644, 6) };
    let head = "8d 00 1901a4 01 00 00 06";
    record(&file, &format!("{head} {TIMES} f6 f6 83 83001a0008000082 18651866 01 191000"));
    let tail = InodeRecord { file: Some(FilePart { tail: Some(vec![1, 2].into()), ..part.clone() }), ..file.clone() };
    record(&tail, &format!("{head} {TIMES} f6 f6 86 83001a0008000082 18651866 01 191000 f6 f6 420102"));
    let striped = InodeRecord { file: Some(FilePart { inline_version: None, ..part.clone() }), ..file };
    record(&striped, &format!("{head} {TIMES} f6 f6 83 83001a0008000082 18651866 f6 191000"));

    let part = FilePart { allocated: Some(8192), unnamed: Some(true), inline_version: None, ..part };
    let unnamed = InodeRecord { nlink: 0, file: Some(part), ..inode(FileKind::File, 0o644, 6) };
    let head = "8d 00 1901a4 00 00 00 06";
    record(&unnamed, &format!("{head} {TIMES} f6 f6 85 83001a0008000082 18651866 f6 191000 192000 f5"));

    let part = DirPart { entries: 3, ..DirPart::new(InodeId::ROOT, None) };
    let dir = InodeRecord { dir: Some(part.clone()), nlink: 2, ..inode(FileKind::Directory, 0o1777, 0) };
    let head = "8c 01 1903ff 02 00 00 00";
    record(&dir, &format!("{head} {TIMES} f6 82 01 03"));
    let pattern = Some(StripePattern::default());
    let own = InodeRecord { dir: Some(DirPart { pattern, ..part.clone() }), ..dir.clone() };
    record(&own, &format!("{head} {TIMES} f6 83 01 03 85 00 1a00080000 04 01 191000"));
    let below = InodeRecord { dir: Some(DirPart { depth: Some(2), ..part.clone() }), ..dir.clone() };
    record(&below, &format!("{head} {TIMES} f6 86 01 03 f6 f6 f6 02"));
    let range = Some(CookieRange { from: 1, upto: 2 });
    let fragment = InodeRecord { dir: Some(DirPart { range, depth: Some(3), ..part }), ..dir };
    record(&fragment, &format!("{head} {TIMES} f6 86 01 03 f6 f6 820102 03"));

    let device = InodeRecord { rdev: Some(0x0801), ..inode(FileKind::BlockDevice, 0o600, 0) };
    record(&device, &format!("8b 06 190180 01 00 00 00 {TIMES} 190801"));
}

#[test]
fn other_records() {
    record(
        &EntryRecord { name: name(b"hello"), inode: HELLO, kind: FileKind::File, followed: None },
        "83 4568656c6c6f 10 00",
    );
    record(&SessionRecord { client: "host:/mnt".into(), caches: None, guest: None }, "81 69 686f73743a2f6d6e74");
    record(
        &SessionRecord { client: "host:/mnt".into(), caches: None, guest: Some(true) },
        "83 69 686f73743a2f6d6e74 f6 f5",
    );
    let (attempt, map, inodes) = (300, MapVersion(12), 7);
    let taken = TakenRecord { attempt, map, next: 2, inodes, whole: true, served: false, doubtful: false };
    record(&taken, "87 19012c 0c 02 07 f5 f4 f4");
    record(&ReplyRecord { sequence: 300, body: vec![0x82, 0, 0x80].into() }, "82 19012c 43820080");
    record(&GarbageRecord { targets: layout().targets, mirrored: None, moves: None }, "81 82 1865 1866");
    record(&GarbageRecord { targets: layout().targets, mirrored: Some(true), moves: None }, "82 82 1865 1866 f5");
    let mut truncate = TruncateRecord { layout: layout(), size: 70_000, session: None, sequence: None };
    record(&truncate, "82 83001a000800008218651866 1a00011170");
    (truncate.session, truncate.sequence) = (Some(SessionId(5)), Some(9));
    record(&truncate, "84 83001a000800008218651866 1a00011170 05 09");
    record(
        &CommittedRecord { participants: vec![TargetId(2), TargetId(3)], session: SessionId(9), sequence: 300 },
        "83 82 02 03 09 19012c",
    );
    let lock = FileLock { owner: 300, pid: 7, kind: LockKind::Write, flock: false, start: 5, end: u64::MAX };
    let mut locks = FileLocks::default();
    locks.set(SessionId(9), &lock).unwrap();
    record(&locks, "81 81 82 09 86 19012c 07 01 f4 05 1bffffffffffffffff");
    let parts = vec![
        (TxPart::LinkCount { inode: HELLO, delta: -1 }, PartResult::Ready),
        (TxPart::PeekEntry { dir: InodeId::ROOT, name: name(b"a") }, PartResult::Entry(Some((HELLO, FileKind::File)))),
    ];
    record(
        &PreparedRecord { parts, stage: 1, now: NOW },
        "83 82 82 8202821020 820080 82 820582014161 820281821000 01 821a6553f10005",
    );
}
