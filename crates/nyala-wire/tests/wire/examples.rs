// SPDX-License-Identifier: Apache-2.0

//! The examples of `docs/protocol.md`: one story, a file `hello` that is made, outgrows its inline limit and is cut.

use nyala_wire::check::{Fact, ScanReply, ScanRequest};
use nyala_wire::checksum::crc32c;
use nyala_wire::codec::encode;
use nyala_wire::frame::{Header, flags};
use nyala_wire::map::{
    ClusterMap, Consistency, Node, Pool, Reachability, Role, Settings, SlotRange, Target, TargetKind,
};
use nyala_wire::meta::{
    DelegationMode, FileReply, Grants, InlineContent, MetaOp, MetaReply, MetaRequest, NewEntry, Owner, Repair, SetAttr,
    SetTime, Want,
};
use nyala_wire::meta_tx::{PartResult, TxAction, TxId, TxPart, TxReply, TxRequest};
use nyala_wire::mgmt::{Capacity, Heartbeat, MgmtReply, MgmtRequest, TargetCapacity};
use nyala_wire::storage::{
    ChunkFileId, ReadHeader, ReadReplyHeader, StorageOp, StorageReply, StorageRequest, WriteHeader, WriteVerifier,
    encode_bulk,
};
use nyala_wire::walk::{PIECE_BYTES, WalkAt, WalkPiece};
use nyala_wire::{
    Attr, ClusterId, ErrorCode, FileKind, InodeId, Layout, MapVersion, Name, NodeId, Pattern, PoolId, SessionId, Slot,
    TargetId, Time, message_type,
};
use zerocopy::IntoBytes;

const HELLO: InodeId = InodeId(0x10);
const SESSION: SessionId = SessionId(0x1122_3344_5566_7788);
const NOW: Time = Time { seconds: 1_700_000_000, nanos: 5 };
const OWNER: Owner = Owner { uid: 1000, gid: 100 };

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn attr(inode: InodeId, kind: FileKind, perm: u16, nlink: u32) -> Attr {
    let (uid, gid) = (OWNER.uid, OWNER.gid);
    Attr {
        inode,
        kind,
        perm,
        nlink,
        uid,
        gid,
        rdev: 0,
        size: 0,
        atime: NOW,
        mtime: NOW,
        ctime: NOW,
        btime: NOW,
        allocated: None,
        no_xattrs: false,
        split: None,
    }
}

fn request(sequence: u64, op: MetaOp) -> Vec<u8> {
    encode(&MetaRequest {
        session: SESSION,
        sequence,
        acked_below: sequence,
        owner: OWNER,
        now: NOW,
        op,
        want: Want::DELEGATIONS,
        caller: None,
        user: None,
    })
}

/// Names and bytes.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let create = request(
        7,
        MetaOp::Create {
            entry: NewEntry { parent: InodeId::ROOT, name: name("hello"), perm: 0o644, umask: 0o022 },
            exclusive: false,
        },
    );
    let mut list = vec![
        ("error: NOT_FOUND (CBOR)", encode(&ErrorCode::NOT_FOUND.with("no such file"))),
        ("frame: META request, Create", frame(&create)),
        ("MetaRequest: Create (CBOR)", create),
        ("META reply: head", created_head()),
        ("MetaReply: Created (CBOR)", encode(&created())),
        ("MetaRequest: SetAttr (CBOR)", request(8, set_attr())),
    ];
    list.extend(tx());
    list.extend(check());
    list.extend(storage());
    list.extend(mgmt());
    list
}

fn frame(body: &[u8]) -> Vec<u8> {
    let header = Header {
        message_type: message_type::META,
        body_crc: crc32c(body),
        request_id: 3,
        map_version: 12,
        body_len: body.len() as u32,
        ..Header::default()
    };
    assert_eq!(header.flags & flags::REPLY, 0);
    header.encode().to_vec()
}

fn created_head() -> Vec<u8> {
    Grants { inodes: DelegationMode::Exclusive, dir: true, seq: 9 }.head().as_bytes().to_vec()
}

fn created() -> MetaReply {
    let layout = Layout {
        pattern: Pattern::Raid0,
        chunk_bytes: 512 << 10,
        targets: vec![TargetId(101), TargetId(102)],
        moves: 0,
        code: None,
    };
    let inline = Some(InlineContent { version: 0, data: Vec::new().into() });
    let file =
        FileReply { attr: attr(HELLO, FileKind::File, 0o644, 1), layout, inline, inline_limit: 4096, leftovers: None };
    MetaReply::Created { new: true, inode: HELLO, kind: FileKind::File, file: Some(Box::new(file)) }
}

fn set_attr() -> MetaOp {
    let set = SetAttr { size: Some(0), mtime: Some(SetTime::Now), ..SetAttr::default() };
    MetaOp::SetAttr { inode: HELLO, set }
}

fn tx() -> [(&'static str, Vec<u8>); 3] {
    let tx = TxId { coordinator: TargetId(1), number: 3 << 40 };
    let part = TxPart::MakeDir {
        slot: Slot(64),
        parent: InodeId::ROOT,
        perm: 0o755,
        owner: OWNER,
        pattern: None,
        acl: None,
        default_acl: None,
        depth: Some(1),
    };
    let prepare = TxAction::Prepare { now: NOW, parts: vec![part], stage: 0, caller: None, owned: None, session: None };
    let dir = InodeId::new(Slot(64), 1).unwrap();
    let result = PartResult::Attr(attr(dir, FileKind::Directory, 0o755, 2));
    [
        ("TxRequest: Prepare (CBOR)", encode(&TxRequest { tx, action: prepare })),
        ("TxReply: Prepared (CBOR)", encode(&TxReply::Prepared(vec![result]))),
        ("TxRequest: Commit (CBOR)", encode(&TxRequest { tx, action: TxAction::Commit })),
    ]
}

fn check() -> [(&'static str, Vec<u8>); 3] {
    let repair = MetaRequest {
        session: SessionId(0xabcd),
        sequence: 4,
        acked_below: 4,
        owner: Owner::default(),
        now: NOW,
        op: MetaOp::Repair(Repair::SetLinks { inode: HELLO, from: 2, to: 1 }),
        want: Want(0),
        caller: None,
        user: None,
    };
    let scan = ScanRequest { inodes: false, from: Vec::new().into(), most: 1024, of: Vec::new(), compare: None };
    let (dir, cookie) = (InodeId::ROOT, 0x0a8a_6879_71a0_9b00);
    let fact = Fact::Name { inode: HELLO, dir, cookie, kind: FileKind::File, misplaced: false, of: None };
    let next = Some(vec![0x45, 0, 0, 0, 0, 0, 0, 0, 2].into());
    [
        ("MetaRequest: Repair (CBOR)", encode(&repair)),
        ("ScanRequest: the first page (CBOR)", encode(&scan)),
        ("ScanReply: a name (CBOR)", encode(&ScanReply { facts: vec![fact], next, position: 77, compared: None })),
    ]
}

fn storage() -> [(&'static str, Vec<u8>); 8] {
    let data = [b'x'; 6000];
    let write = WriteHeader {
        target: 101.into(),
        index: 0.into(),
        flags: 0.into(),
        inode: HELLO.0.into(),
        offset: 100.into(),
        session: SESSION.0.into(),
        len: 6000.into(),
        checksums: 2.into(),
        client: 0xc11e.into(),
        number: 7.into(),
        slot: 3.into(),
        reserved: 0.into(),
    };
    let read = ReadHeader {
        target: 101.into(),
        index: 0.into(),
        flags: ReadHeader::VERIFY.into(),
        inode: HELLO.0.into(),
        offset: 5000.into(),
        len: 4096.into(),
        reserved: 0.into(),
    };
    let reply = ReadReplyHeader { start: 4096.into(), len: 2004.into(), checksums: 1.into() };
    let block = nyala_wire::checksum::crc32c_zero_padded(&data[..2004]);
    let file = ChunkFileId { inode: HELLO, index: 0 };
    let truncate = StorageRequest::new(TargetId(101), file, StorageOp::Truncate { len: 0 });
    let at = WalkAt { file, offset: 0 };
    let piece = WalkPiece { at, present: 0b11, checksums: vec![7, block], bad: 0b10 };
    let walked = StorageReply::Walked { pieces: vec![piece], next: Some(WalkAt { file, offset: PIECE_BYTES }) };
    let verifier = WriteVerifier { target: TargetId(101), losses: 2 };
    [
        ("STORAGE_WRITE request", encode_bulk(&write, &[crc32c(&data[..3996]), crc32c(&data[3996..])])),
        ("STORAGE_WRITE reply", encode_bulk(&verifier.header(), &[])),
        ("StorageReply: Stored (CBOR)", encode(&StorageReply::Stored(verifier))),
        ("STORAGE_READ request", encode_bulk(&read, &[])),
        ("STORAGE_READ reply", encode_bulk(&reply, &[block])),
        ("StorageRequest: Truncate (CBOR)", encode(&truncate)),
        ("StorageReply: Stat (CBOR)", encode(&StorageReply::Stat { len: 6100, blocks: 16 })),
        ("StorageReply: Walked (CBOR)", encode(&walked)),
    ]
}

fn mgmt() -> [(&'static str, Vec<u8>); 3] {
    let capacity = Capacity { total_bytes: 1 << 40, free_bytes: 1 << 39, total_inodes: 0, free_inodes: 0 };
    let heartbeat = Heartbeat {
        node: NodeId(3),
        incarnation: 0xabcd,
        map_version: MapVersion(12),
        capacities: vec![TargetCapacity::new(TargetId(101), capacity)],
    };
    let lease = MgmtReply::Lease { lease_ms: 3000, map_version: MapVersion(12) };
    [
        ("MgmtRequest: Heartbeat (CBOR)", encode(&MgmtRequest::Heartbeat(heartbeat))),
        ("MgmtReply: Lease (CBOR)", encode(&lease)),
        ("MgmtReply: Map (CBOR)", encode(&MgmtReply::Map(Box::new(map())))),
    ]
}

fn map() -> ClusterMap {
    let node = |id, alias: &str, role, address: &str| Node {
        id: NodeId(id),
        alias: alias.into(),
        role,
        addresses: vec![address.parse().unwrap()],
        reachability: Reachability::Online,
    };
    let target = |id, alias: &str, kind, node| Target {
        id: TargetId(id),
        alias: alias.into(),
        kind,
        node: NodeId(node),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: nyala_wire::map::CapacityPool::Normal,
    };
    ClusterMap {
        version: MapVersion(12),
        cluster: ClusterId(*b"0123456789abcdef"),
        nodes: vec![node(2, "meta1", Role::Meta, "10.0.0.2:8005"), node(3, "storage1", Role::Storage, "10.0.0.3:8003")],
        targets: vec![target(1, "m1", TargetKind::Meta, 2), target(101, "s1", TargetKind::Storage, 3)],
        groups: Vec::new(),
        pools: vec![Pool { id: PoolId(1), alias: "default".into() }],
        slots: vec![SlotRange { first: Slot(0), count: 64, target: TargetId(1) }],
        settings: Settings::default(),
        moves: Vec::new(),
        emptied: Vec::new(),
        planned: Vec::new(),
        key_rules: Vec::new(),
        access_rules: Vec::new(),
        failing: Vec::new(),
    }
}
