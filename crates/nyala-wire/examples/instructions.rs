// SPDX-License-Identifier: Apache-2.0

//! Runs one hot function a number of times, and nothing else, so that an instruction counter can tell what it costs:
//! `scripts/instructions` runs this under callgrind and compares with the counts that are stored.
//!
//! `instructions` lists the functions; `instructions NAME TIMES` runs one.

use nyala_wire::codec::{decode, encode};
use nyala_wire::frame::Header;
use nyala_wire::meta::{MetaOp, MetaReply, MetaRequest, NewEntry, Owner, Want};
use nyala_wire::storage::{WriteHeader, decode_bulk, encode_bulk};
use nyala_wire::{Attr, FileKind, InodeId, Layout, Name, Pattern, SessionId, TargetId, Time, checksum, message_type};
use std::hint::black_box;

const INODE: InodeId = InodeId(0x1234_0000_0000_5678);

fn header() -> Header {
    Header {
        message_type: message_type::META,
        flags: 0,
        body_crc: 0x1234_5678,
        request_id: 987_654,
        map_version: 77,
        group_epoch: 3,
        body_len: 90,
        payload_len: 0,
        run: 0,
        log_position: 0,
        unsynced_records: 0,
    }
}

fn create() -> MetaRequest {
    let name = Name::new(b"checkpoint-000123.h5").expect("a good name");
    MetaRequest {
        session: SessionId(0x0123_4567_89ab_cdef),
        sequence: 4711,
        acked_below: 4700,
        owner: Owner::default(),
        now: Time { seconds: 1_790_000_000, nanos: 123_456_789 },
        op: MetaOp::Create { entry: NewEntry { parent: INODE, name, perm: 0o644, umask: 0 }, exclusive: true },
        want: Want::NOTHING,
        caller: None,
        user: Some(1000),
    }
}

fn attr() -> MetaReply {
    let time = Time { seconds: 1_790_000_000, nanos: 123_456_789 };
    MetaReply::Attr(Attr {
        inode: INODE,
        kind: FileKind::File,
        perm: 0o644,
        nlink: 1,
        uid: 1000,
        gid: 1000,
        rdev: 0,
        size: 1 << 30,
        atime: time,
        mtime: time,
        ctime: time,
        btime: time,
        allocated: None,
        no_xattrs: false,
        split: None,
    })
}

fn layout() -> Layout {
    Layout {
        pattern: Pattern::Raid0,
        chunk_bytes: 512 << 10,
        targets: (101..105).map(TargetId).collect(),
        moves: 0,
        code: None,
    }
}

fn write_header() -> WriteHeader {
    WriteHeader {
        target: 101.into(),
        index: 0.into(),
        flags: 0.into(),
        inode: INODE.0.into(),
        offset: (1 << 20).into(),
        session: 1.into(),
        len: (512 << 10).into(),
        checksums: 128.into(),
        client: 0.into(),
        number: 0.into(),
        slot: 0.into(),
        reserved: 0.into(),
    }
}

fn many(times: u64, mut step: impl FnMut()) {
    (0..times).for_each(|_| step());
}

fn run(name: &str, times: u64) -> bool {
    let (header, create, attr, layout, write) = (header(), create(), attr(), layout(), write_header());
    let (header_bytes, create_bytes, attr_bytes) = (header.encode(), encode(&create), encode(&attr));
    let (block, checksums) = (vec![7_u8; 4096], [7_u32; 128]);
    let write_bytes = encode_bulk(&write, &checksums);
    match name {
        "frame-header-encode" => many(times, || _ = black_box(black_box(&header).encode())),
        "frame-header-decode" => many(times, || _ = black_box(Header::decode(black_box(&header_bytes)))),
        "create-request-encode" => many(times, || drop(black_box(encode(black_box(&create))))),
        "create-request-decode" => many(times, || drop(black_box(decode::<MetaRequest>(black_box(&create_bytes))))),
        "attr-reply-encode" => many(times, || drop(black_box(encode(black_box(&attr))))),
        "attr-reply-decode" => many(times, || drop(black_box(decode::<MetaReply>(black_box(&attr_bytes))))),
        "bulk-write-encode" => many(times, || drop(black_box(encode_bulk(black_box(&write), &checksums)))),
        "bulk-write-decode" => many(times, || {
            let read = decode_bulk::<WriteHeader>(black_box(&write_bytes));
            black_box(read.is_ok_and(|(header, checksums)| header == write && checksums.len() == 128));
        }),
        "stripe-1mib-extents" => many(times, || {
            black_box(black_box(&layout).extents(black_box(300_000), 1 << 20).map(|extent| extent.len).sum::<u64>());
        }),
        "crc32c-4kib" => many(times, || {
            black_box(checksum::crc32c(black_box(&block)));
        }),
        _ => return false,
    }
    true
}

const NAMES: [&str; 10] = [
    "frame-header-encode",
    "frame-header-decode",
    "create-request-encode",
    "create-request-decode",
    "attr-reply-encode",
    "attr-reply-decode",
    "bulk-write-encode",
    "bulk-write-decode",
    "stripe-1mib-extents",
    "crc32c-4kib",
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => NAMES.iter().for_each(|name| println!("{name}")),
        [name, times] if times.parse::<u64>().is_ok_and(|times| run(name, times)) => {}
        _ => {
            eprintln!("instructions: NAME TIMES, where NAME is one of {}", NAMES.join(", "));
            std::process::exit(2);
        }
    }
}
