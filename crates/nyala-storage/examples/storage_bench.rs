// SPDX-License-Identifier: Apache-2.0

//! CPU cost of a storage target: of its chunk store alone, and of the whole service over loopback TCP.
//!
//! `cargo run --release -p nyala-storage --example storage_bench [directory [only measurements with this in their name]]`

#[path = "../tests/common/mod.rs"]
mod common;

use bytes::Bytes;
use common::{Cluster, client};
use nyala_storage::chunk_store::{ChunkStore, ChunkStoreOptions, OsDisk, WriteOp};
use nyala_store::{Options, Store};
use nyala_transport::{Connection, HandshakeConfig, Request, Role, Secret};
use nyala_wire::checksum::crc32c;
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::storage::{ChunkFileId, ReadHeader, Stamp, WriteHeader, encode_bulk};
use nyala_wire::{InodeId, SessionId, codec, message_type};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

const BIG: usize = 512 << 10;
const SMALL: usize = 4096;
const TOTAL: usize = 1 << 30;
const SMALL_OPS: usize = 100_000;
const FILES: u64 = 4;

fn cpu_us() -> u64 {
    nyala_transport::process::stats(Vec::new()).cpu_us
}

/// The offset and file of operation `n` in random order over what the big writes made.
fn random_place(n: usize) -> (ChunkFileId, u64) {
    let mixed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    (file(mixed % FILES), mixed / FILES % (TOTAL as u64 / FILES / SMALL as u64) * SMALL as u64)
}

fn sequential_place(n: usize) -> (ChunkFileId, u64) {
    (file(n as u64 % FILES), n as u64 / FILES * BIG as u64)
}

fn file(n: u64) -> ChunkFileId {
    ChunkFileId { inode: InodeId(1 << 48 | (n + 1)), index: 0 }
}

/// Data as the transport hands it over: on a page boundary.
fn aligned() -> Bytes {
    let data = Bytes::from(vec![0x5a; BIG + SMALL]);
    let start = data.as_ptr().align_offset(SMALL);
    data.slice(start..start + BIG)
}

/// Does the command line want it?
fn is_wanted(what: &str) -> bool {
    std::env::args().nth(2).is_none_or(|only| what.contains(&only))
}

fn report(what: &str, ops: usize, bytes: usize, cpu_us: u64, wall: f64) {
    let per_op = cpu_us as f64 / ops as f64;
    let per_gib = cpu_us as f64 / 1e6 / (ops * bytes) as f64 * (1_u64 << 30) as f64;
    let mib_s = (ops * bytes) as f64 / wall / (1 << 20) as f64;
    println!(
        "{what:34} {per_op:8.2} CPU us/op {per_gib:7.3} CPU s/GiB {mib_s:8.0} MiB/s {:8.0} op/s",
        ops as f64 / wall
    );
}

fn measure(what: &str, ops: usize, bytes: usize, mut one: impl FnMut(usize)) {
    if !is_wanted(what) {
        return;
    }
    let (cpu, start) = (cpu_us(), Instant::now());
    (0..ops).for_each(&mut one);
    report(what, ops, bytes, cpu_us() - cpu, start.elapsed().as_secs_f64());
}

fn chunk_store(dir: &Path) {
    std::fs::create_dir_all(dir.join("chunks")).expect("a directory that can be written");
    let (kv, _) = Store::open(&dir.join("kv"), Options::default()).expect("a new store");
    let disk = Arc::new(OsDisk::open(&dir.join("chunks")).expect("just made"));
    let options = ChunkStoreOptions { label: "bench".into(), boot_id: "bench".into(), limit_bytes: None };
    let store = ChunkStore::open(Arc::new(kv.clone()), disk, &options).expect("a new target");
    let mut worker = store.worker(0, 1);
    let data = aligned();
    let crcs: Vec<u32> = data.chunks(SMALL).map(crc32c).collect();
    let small_op = |(file, offset)| WriteOp {
        session: SessionId(1),
        file,
        offset,
        data: data.slice(..SMALL),
        crcs: crcs[..1].to_vec(),
        compared: false,
        stamp: Stamp::default(),
    };
    measure("chunk store: write 512 KiB", TOTAL / BIG, BIG, |n| {
        let (file, offset) = sequential_place(n);
        let (session, data, crcs) = (SessionId(1), data.clone(), crcs.clone());
        worker
            .write(WriteOp { session, file, offset, data, crcs, compared: false, stamp: Stamp::default() })
            .expect("written");
    });
    measure("chunk store: write 4 KiB, alone", SMALL_OPS, SMALL, |n| {
        worker.write(small_op(random_place(n))).expect("written");
    });
    measure("chunk store: write 4 KiB, 16 at once", SMALL_OPS / 16, 16 * SMALL, |n| {
        let ops: Vec<WriteOp> = (0..16).map(|i| small_op(random_place(n * 16 + i))).collect();
        assert!(worker.write_many(&ops).iter().all(Result::is_ok));
    });
    for what in ["chunk store: read 512 KiB, cold", "chunk store: read 512 KiB, warm"] {
        measure(what, TOTAL / BIG, BIG, |n| {
            let (file, offset) = sequential_place(n);
            let data = worker.read(file, offset, BIG as u32, false).expect("read").data;
            assert_eq!(data.len(), BIG);
        });
    }
    measure("chunk store: read 4 KiB", SMALL_OPS, SMALL, |n| {
        let (file, offset) = random_place(n);
        assert_eq!(worker.read(file, offset, SMALL as u32, false).expect("read").data.len(), SMALL);
    });
    (0..FILES).for_each(|n| worker.sync(file(n)).expect("synced"));
    drop((worker, store));
    kv.close().expect("closed");
}

/// The server's side, in a process of its own so that its CPU time can be told from the client's.
fn serve(dir: &Path) {
    let cluster = Cluster::start_in(dir);
    let storage = cluster.storage(cluster.config("bench"));
    println!("{} {}", storage.address, cluster.dir.path().join("secret").display());
    let _ = std::io::stdin().read_line(&mut String::new());
    storage.stop().expect("an orderly stop");
}

async fn server_cpu_us(to: &Connection) -> u64 {
    let reply = to.call(Request::new(message_type::STATS, Bytes::new())).await.expect("stats");
    codec::decode::<ServiceStats>(&reply.body).expect("stats").cpu_us
}

async fn over_tcp(
    to: &Connection,
    what: &str,
    ops: usize,
    bytes: usize,
    deep: usize,
    request: impl Fn(usize) -> Request + 'static,
) {
    if !is_wanted(what) {
        return;
    }
    let (cpu, start) = (server_cpu_us(to).await, Instant::now());
    let (next, request) = (Rc::new(std::cell::Cell::new(0)), Rc::new(request));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..deep {
        let (to, next, request) = (to.clone(), next.clone(), request.clone());
        let run = async move {
            while next.get() < ops {
                let n = next.replace(next.get() + 1);
                let reply = to.call(request(n)).await.expect("answered");
                assert!(!reply.is_error());
            }
        };
        tasks.spawn_local(Box::pin(run));
    }
    while tasks.join_next().await.is_some() {}
    report(what, ops, bytes, server_cpu_us(to).await - cpu, start.elapsed().as_secs_f64());
}

fn service(dir: &Path) {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program).arg("serve").arg(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let child = child.as_mut().expect("started");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("an address");
    let (address, secret) = line.trim().split_once(' ').expect("address and secret");
    client(run_client(address.parse().expect("an address"), Secret::load(Path::new(secret)).expect("its secret")));
    child.stdin.take().expect("piped").write_all(b"\n").expect("told to stop");
    child.wait().expect("ended");
}

async fn run_client(address: std::net::SocketAddr, secret: Secret) {
    let config = HandshakeConfig::new(secret, u128::from_le_bytes(common::CLUSTER.0), Role::Client, 0);
    let mut tries = 0;
    let to = loop {
        match Connection::connect(address, &config).await {
            Ok(connection) => break connection,
            Err(error) if tries > 100 => panic!("{error}"),
            Err(_) => tries += 1,
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let data = Bytes::from(vec![0x5a; BIG]);
    let crcs: Vec<u32> = data.chunks(SMALL).map(crc32c).collect();
    let write = move |(file, offset): (ChunkFileId, u64), len: usize| {
        let count = len / SMALL;
        let header = WriteHeader {
            target: 11.into(),
            index: 0.into(),
            flags: 0.into(),
            inode: file.inode.0.into(),
            offset: offset.into(),
            session: 1.into(),
            len: (len as u32).into(),
            checksums: (count as u32).into(),
            client: 0.into(),
            number: 0.into(),
            slot: 0.into(),
            reserved: 0.into(),
        };
        let body = encode_bulk(&header, &crcs[..count]);
        Request::new(message_type::STORAGE_WRITE, body).with_payload(vec![data.slice(..len)])
    };
    let read = |(file, offset): (ChunkFileId, u64), len: usize| {
        let header = ReadHeader {
            target: 11.into(),
            index: 0.into(),
            flags: 0.into(),
            inode: file.inode.0.into(),
            offset: offset.into(),
            len: (len as u32).into(),
            reserved: 0.into(),
        };
        Request::new(message_type::STORAGE_READ, encode_bulk(&header, &[]))
    };
    let big = write.clone();
    over_tcp(&to, "service: write 512 KiB, 8 deep", TOTAL / BIG, BIG, 8, move |n| big(sequential_place(n), BIG)).await;
    for deep in [1, 32] {
        let small = write.clone();
        let what = format!("service: write 4 KiB, {deep} deep");
        over_tcp(&to, &what, SMALL_OPS / 2, SMALL, deep, move |n| small(random_place(n), SMALL)).await;
    }
    for what in ["service: read 512 KiB, 8 deep, cold", "service: read 512 KiB, 8 deep, warm"] {
        over_tcp(&to, what, TOTAL / BIG, BIG, 8, move |n| read(sequential_place(n), BIG)).await;
    }
    for deep in [1, 32] {
        let what = format!("service: read 4 KiB, {deep} deep");
        over_tcp(&to, &what, SMALL_OPS / 2, SMALL, deep, move |n| read(random_place(n), SMALL)).await;
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, dir] = &arguments[..]
        && first == "serve"
    {
        return serve(Path::new(dir));
    }
    let parent = arguments.first().map_or("/tmp", String::as_str);
    let dir = tempfile::tempdir_in(parent).expect("a directory that can be written");
    chunk_store(dir.path());
    service(Path::new(parent));
}
