// SPDX-License-Identifier: Apache-2.0

//! The whole service over TCP: every operation, every refusal, restarts.

use crate::common::{Cluster, Storage, client};
use bytes::Bytes;
use nyala_storage::chunk_store::path_of;
use nyala_storage::{StorageError, TargetSpec};
use nyala_transport::{Connection, Frame, Request, Role};
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::storage::{
    ChunkFileId, READ_IN_PLACE, ReadHeader, ReadReplyHeader, StorageOp, StorageReply, StorageRequest, WriteHeader,
    WriteVerifier, decode_bulk, encode_bulk,
};
use nyala_wire::walk::WalkAt;
use nyala_wire::{ErrorCode, InodeId, SessionId, TargetId, WireError, codec, message_type};
use std::os::unix::fs::FileExt;
use std::time::Duration;

const TARGET: TargetId = TargetId(11);
/// What may not be on disk is answered with: nothing was lost yet.
const STORED: StorageReply = StorageReply::Stored(WriteVerifier { target: TARGET, losses: 0 });
const FILE: ChunkFileId = ChunkFileId { inode: InodeId(5 << 48 | 9), index: 2 };

fn start() -> (Cluster, Storage) {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let storage = cluster.storage(cluster.config("a"));
    (cluster, storage)
}

fn result(frame: Frame) -> Result<Frame, ErrorCode> {
    match frame.is_error() {
        true => Err(codec::decode::<WireError>(&frame.body).unwrap().code),
        false => Ok(frame),
    }
}

fn write_header(offset: u64, data: &[u8]) -> (WriteHeader, Vec<u32>) {
    crate::bulk::write_header(TARGET, FILE, offset, data)
}

async fn send_write(to: &Connection, header: WriteHeader, crcs: &[u32], data: &[u8]) -> Result<(), ErrorCode> {
    let request = Request::new(message_type::STORAGE_WRITE, encode_bulk(&header, crcs));
    let request = request.with_payload(vec![Bytes::copy_from_slice(data)]);
    result(to.call(request).await.unwrap()).map(drop)
}

async fn write(to: &Connection, offset: u64, data: &[u8]) -> Result<(), ErrorCode> {
    let (header, crcs) = write_header(offset, data);
    send_write(to, header, &crcs, data).await
}

fn read_header(offset: u64, len: u32, flags: u32) -> ReadHeader {
    crate::bulk::read_header(TARGET, FILE, offset, len, flags)
}

async fn read(from: &Connection, offset: u64, len: u32, flags: u32) -> Result<(u64, Bytes), ErrorCode> {
    let header = read_header(offset, len, flags);
    let frame = from.call(Request::new(message_type::STORAGE_READ, encode_bulk(&header, &[]))).await.unwrap();
    let frame = result(frame)?;
    let (header, crcs) = decode_bulk::<ReadReplyHeader>(&frame.body).unwrap();
    assert_eq!(header.len.get() as usize, frame.payload.len());
    assert_eq!(crcs.len(), frame.payload.len().div_ceil(4096));
    if flags & ReadHeader::VERIFY != 0 {
        frame.payload.chunks(4096).zip(crcs).for_each(|(block, crc)| assert_eq!(crc32c_zero_padded(block), crc.get()));
    }
    Ok((header.start.get(), frame.payload))
}

/// A read that the server does not compare with its checksums.
async fn read_checked(from: &Connection, offset: u64, len: u32) -> Bytes {
    let header = read_header(offset, len, 0);
    let frame = from.call(Request::new(message_type::STORAGE_READ, encode_bulk(&header, &[]))).await.unwrap();
    let frame = result(frame).unwrap();
    if frame.header.flags & READ_IN_PLACE != 0 {
        // What is written meanwhile may be in it.
        return read(from, offset, len, ReadHeader::VERIFY).await.unwrap().1;
    }
    let (_, crcs) = decode_bulk::<ReadReplyHeader>(&frame.body).unwrap();
    frame.payload.chunks(4096).zip(crcs).for_each(|(block, crc)| assert_eq!(crc32c_zero_padded(block), crc.get()));
    frame.payload
}

async fn op(to: &Connection, target: TargetId, op: StorageOp) -> Result<StorageReply, ErrorCode> {
    op_on(to, target, FILE, op).await
}

async fn op_on(to: &Connection, target: TargetId, file: ChunkFileId, op: StorageOp) -> Result<StorageReply, ErrorCode> {
    let request = StorageRequest::new(target, file, op).of_session(SessionId(1));
    let frame = to.call(Request::new(message_type::STORAGE, codec::encode(&request))).await.unwrap();
    result(frame).map(|frame| codec::decode(&frame.body).unwrap())
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 % 251) as u8).collect()
}

#[test]
fn everything_over_tcp_and_again_after_a_restart() {
    let (cluster, storage) = start();
    let content = data(1_000_003);
    client(async {
        let to = cluster.connect(&storage).await;
        write(&to, 0, &content[..600_000]).await.unwrap();
        write(&to, 600_000, &content[600_000..]).await.unwrap();
        assert_eq!(op(&to, TARGET, StorageOp::Sync).await, Ok(STORED));
        let (start, part) = read(&to, 5000, 10, ReadHeader::VERIFY).await.unwrap();
        assert_eq!((start, &part[..]), (4096, &content[4096..8192]));
        let Ok(StorageReply::Stat { len, blocks }) = op(&to, TARGET, StorageOp::Stat).await else { panic!("stat") };
        assert!(len == content.len() as u64 && blocks > 0);
        assert_eq!(op(&to, TARGET, StorageOp::Punch { offset: 8192, len: 8192 }).await, Ok(STORED));
        let hole = op(&to, TARGET, StorageOp::Seek { offset: 0, hole: true }).await;
        assert_eq!(hole, Ok(StorageReply::Offset(Some(8192))));
        let data = op(&to, TARGET, StorageOp::Seek { offset: 9000, hole: false }).await;
        assert_eq!(data, Ok(StorageReply::Offset(Some(16384))));
        assert_eq!(op(&to, TARGET, StorageOp::Truncate { len: 700_001 }).await, Ok(StorageReply::Done));
        assert_eq!(op(&to, TARGET, StorageOp::Allocate { offset: 0, len: 1 << 20 }).await, Ok(STORED));
    });
    storage.stop().unwrap();
    assert_eq!(cluster.knobs.goodbyes.load(std::sync::atomic::Ordering::SeqCst), 1);
    let storage = cluster.storage(cluster.config("a"));
    client(async {
        let to = cluster.connect(&storage).await;
        let (_, found) = read(&to, 0, 1 << 20, ReadHeader::VERIFY).await.unwrap();
        let mut expected = content[..700_001].to_vec();
        expected[8192..16384].fill(0);
        assert!(found == expected);
        let stats = to.call(Request::new(message_type::STATS, Bytes::new())).await.unwrap();
        let stats: ServiceStats = codec::decode(&stats.body).unwrap();
        assert!(stats.counters.contains(&("op.read".to_owned(), 1)), "{stats:?}");
        assert!(stats.counters.contains(&("checksum.errors".to_owned(), 0)) && stats.cpu_us > 0);
        assert!(!to.call(Request::new(message_type::PING, Bytes::new())).await.unwrap().is_error());
    });
    storage.stop().unwrap();
}

#[test]
fn a_walk_goes_in_bounded_steps() {
    let (cluster, storage) = start();
    client(async {
        let to = cluster.connect_as(&storage, Role::Cli).await;
        write(&to, 0, &data(1_000_003)).await.unwrap();
        let step = |offset, bytes| StorageOp::Walk { offset, bytes, verify: true };
        assert_eq!(op(&to, TARGET, step(0, (4 << 20) + 1)).await, Err(ErrorCode::BAD_MESSAGE));
        let Ok(StorageReply::Walked { pieces, next: None }) = op(&to, TARGET, step(0, 4 << 20)).await else {
            panic!("all of it in one step")
        };
        assert_eq!(pieces.iter().map(|piece| piece.checksums.len()).sum::<usize>(), 245);
        let (mut steps, mut at) = (Vec::new(), WalkAt::default());
        loop {
            let Ok(StorageReply::Walked { pieces, next }) = op_on(&to, TARGET, at.file, step(at.offset, 0)).await
            else {
                panic!("a step")
            };
            assert_eq!(pieces.len(), 1);
            steps.extend(pieces);
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(steps, pieces);
        let path = cluster.dir.path().join("a/target/chunks").join(path_of(FILE));
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(b"?", 300_000).unwrap();
        let Ok(StorageReply::Walked { pieces, .. }) = op(&to, TARGET, step(0, 4 << 20)).await else { panic!("damage") };
        assert_eq!(pieces.iter().map(|piece| piece.bad).collect::<Vec<_>>(), [0, 1 << 9, 0, 0]);
        op(&to, TARGET, StorageOp::Unlink).await.unwrap();
        // Its records go later; until then a walk passes them, and finds nothing.
        let mut at = Some(WalkAt::default());
        while let Some(here) = at {
            let Ok(StorageReply::Walked { pieces, next }) =
                op_on(&to, TARGET, here.file, step(here.offset, 4096)).await
            else {
                panic!("a step")
            };
            assert_eq!(pieces, []);
            at = next;
        }
    });
    storage.stop().unwrap();
}

#[test]
fn fenced_sessions_are_refused_for_good() {
    let (cluster, storage) = start();
    let fence = |session| StorageOp::Fence { session: SessionId(session) };
    client(async {
        let to = cluster.connect(&storage).await;
        let meta = cluster.connect_as(&storage, Role::Meta).await;
        write(&to, 0, &data(9000)).await.unwrap();
        assert_eq!(op(&to, TARGET, fence(1)).await, Err(ErrorCode::UNAUTHORIZED), "clients fence nobody");
        write(&to, 0, &data(9000)).await.unwrap();
        assert_eq!(op(&meta, TARGET, fence(1)).await, Ok(StorageReply::Done));
        assert_eq!(op(&meta, TARGET, fence(1)).await, Ok(StorageReply::Done), "again is fine");
        assert_eq!(op(&meta, TARGET, fence(0)).await, Err(ErrorCode::BAD_MESSAGE));
        assert_eq!(write(&to, 0, &data(10)).await, Err(ErrorCode::FENCED));
    });
    storage.stop().unwrap();
    let storage = cluster.storage(cluster.config("a"));
    client(async {
        let to = cluster.connect(&storage).await;
        assert_eq!(write(&to, 0, &data(10)).await, Err(ErrorCode::FENCED), "after a restart too");
        assert_eq!(read(&to, 0, 9000, ReadHeader::VERIFY).await.unwrap().1, data(9000), "reads go on");
        let (header, crcs) = write_header(0, &data(10));
        send_write(&to, WriteHeader { session: 2.into(), ..header }, &crcs, &data(10)).await.unwrap();
    });
    storage.stop().unwrap();
}

#[test]
fn copies_within_a_target_and_across_each_other() {
    let (cluster, storage) = start();
    client(async {
        let to = cluster.connect(&storage).await;
        let content = data(3 << 20);
        write(&to, 0, &content).await.unwrap();
        let other = ChunkFileId { index: 3, ..FILE };
        let copy = |from, from_offset, offset, len| StorageOp::Copy { from, from_offset, offset, len };
        let there = copy(FILE, 1000, 5000, 2 << 20);
        assert_eq!(op_on(&to, TARGET, other, there).await, Ok(STORED));
        // Back again, to behind the end; and a source that does not exist.
        assert_eq!(op(&to, TARGET, copy(other, 5000, 3 << 20, 1 << 20)).await, Ok(STORED));
        assert_eq!(op(&to, TARGET, copy(ChunkFileId { index: 9, ..FILE }, 0, 10, 90)).await, Ok(STORED));
        let (_, found) = read(&to, 0, 4 << 20, ReadHeader::VERIFY).await.unwrap();
        let mut expected = content.clone();
        expected.extend_from_slice(&content[1000..1000 + (1 << 20)]);
        expected[10..100].fill(0);
        assert!(found == expected);
        assert_eq!(op(&to, TARGET, copy(other, 0, 0, u32::MAX)).await, Err(ErrorCode::BAD_MESSAGE));
        assert_eq!(op(&to, TARGET, copy(other, u64::MAX - 9, 0, 100)).await, Err(ErrorCode::FILE_TOO_BIG));
        assert_eq!(op(&to, TARGET, copy(other, 0, u64::MAX - 9, 100)).await, Err(ErrorCode::FILE_TOO_BIG));
        let mut tasks = Vec::new();
        for number in 0..40 {
            let to = to.clone();
            let (into, from) = if number % 2 == 0 { (FILE, other) } else { (other, FILE) };
            tasks.push(tokio::task::spawn_local(async move {
                op_on(&to, TARGET, into, copy(from, 0, 0, 2 << 20)).await.unwrap();
            }));
        }
        let all = async {
            for task in tasks {
                task.await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(30), all).await.expect("copies that cross end");
        read(&to, 0, 4 << 20, ReadHeader::VERIFY).await.unwrap();
    });
    storage.stop().unwrap();
}

#[test]
fn removed_files_stay_removed() {
    let (cluster, storage) = start();
    let path = cluster.dir.path().join("a/target/chunks").join(path_of(FILE));
    client(async {
        let to = cluster.connect_as(&storage, Role::Cli).await;
        write(&to, 0, &data(9000)).await.unwrap();
        assert!(path.exists());
        assert_eq!(op(&to, TARGET, StorageOp::Unlink).await, Ok(StorageReply::Done));
        assert_eq!(op(&to, TARGET, StorageOp::Unlink).await, Ok(StorageReply::Done), "again is fine");
        assert_eq!(write(&to, 0, &data(10)).await, Err(ErrorCode::STALE));
        for _ in 0..500 {
            if !path.exists() {
                break;
            }
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(!path.exists());
    });
    storage.stop().unwrap();
    let storage = cluster.storage(cluster.config("a"));
    client(async {
        let to = cluster.connect(&storage).await;
        assert_eq!(write(&to, 0, &data(10)).await, Err(ErrorCode::STALE));
        assert_eq!(op(&to, TARGET, StorageOp::Stat).await, Ok(StorageReply::Stat { len: 0, blocks: 0 }));
    });
    storage.stop().unwrap();
}

#[test]
fn what_is_wrong_is_refused_and_the_connection_lives() {
    let (cluster, storage) = start();
    client(async {
        let to = cluster.connect(&storage).await;
        let good = data(5000);
        let (header, crcs) = write_header(0, &good);
        let mut damaged = good.clone();
        damaged[4500] ^= 1;
        assert_eq!(send_write(&to, header, &crcs, &damaged).await, Err(ErrorCode::DAMAGED));
        assert_eq!(send_write(&to, header, &crcs, &good[1..]).await, Err(ErrorCode::BAD_MESSAGE));
        assert_eq!(send_write(&to, header, &crcs[1..], &good).await, Err(ErrorCode::BAD_MESSAGE));
        let elsewhere = WriteHeader { target: 99.into(), ..header };
        assert_eq!(send_write(&to, elsewhere, &crcs, &good).await, Err(ErrorCode::WRONG_SERVER));
        let beyond = WriteHeader { offset: (u64::MAX - 8191).into(), ..header };
        assert_eq!(send_write(&to, beyond, &crcs, &good).await, Err(ErrorCode::FILE_TOO_BIG));
        assert_eq!(read(&to, 0, u32::MAX, 0).await, Err(ErrorCode::BAD_MESSAGE));
        assert_eq!(read(&to, u64::MAX, 4096, 0).await, Err(ErrorCode::FILE_TOO_BIG));
        assert_eq!(op(&to, TargetId(99), StorageOp::Sync).await, Err(ErrorCode::WRONG_SERVER));
        for (kind, expected) in [
            (message_type::STORAGE, ErrorCode::BAD_MESSAGE),
            (message_type::STORAGE_READ, ErrorCode::BAD_MESSAGE),
            (message_type::STORAGE_WRITE, ErrorCode::BAD_MESSAGE),
            (message_type::META, ErrorCode::UNKNOWN_MESSAGE),
        ] {
            let reply = to.call(Request::new(kind, Bytes::from_static(b"xyz"))).await.unwrap();
            assert_eq!(result(reply).map(drop), Err(expected));
        }
        assert_eq!(read(&to, 0, 4096, 0).await.unwrap().1.len(), 0, "nothing was written");
        write(&to, 0, &good).await.unwrap();
    });
    storage.stop().unwrap();
}

#[test]
fn a_flipped_byte_on_disk_is_reported() {
    let (cluster, storage) = start();
    client(async {
        let to = cluster.connect(&storage).await;
        write(&to, 0, &data(20_000)).await.unwrap();
        op(&to, TARGET, StorageOp::Sync).await.unwrap();
        let path = cluster.dir.path().join("a/target/chunks").join(path_of(FILE));
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.write_at(&[data(20_000)[9000] ^ 4], 9000).unwrap();
        assert_eq!(read(&to, 8192, 4096, ReadHeader::VERIFY).await, Err(ErrorCode::CHECKSUM));
        assert_eq!(write(&to, 8200, &[1]).await, Err(ErrorCode::CHECKSUM));
        read(&to, 0, 8192, ReadHeader::VERIFY).await.unwrap();
        file.set_len(10_000).unwrap();
        assert_eq!(read(&to, 12_288, 4096, 0).await, Err(ErrorCode::CHECKSUM));
        let stats = to.call(Request::new(message_type::STATS, Bytes::new())).await.unwrap();
        let stats: ServiceStats = codec::decode(&stats.body).unwrap();
        assert!(stats.counters.contains(&("checksum.errors".to_owned(), 3)), "{stats:?}");
    });
    storage.stop().unwrap();
}

#[test]
fn without_lease_nothing_is_served() {
    let (cluster, storage) = start();
    client(async {
        let to = cluster.connect(&storage).await;
        write(&to, 0, &data(10)).await.unwrap();
        cluster.knobs.deaf.store(true, std::sync::atomic::Ordering::SeqCst);
        // sleeps: longer than its lease
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert_eq!(write(&to, 0, &data(10)).await, Err(ErrorCode::NOT_READY));
        assert_eq!(read(&to, 0, 10, 0).await, Err(ErrorCode::NOT_READY));
        assert_eq!(op(&to, TARGET, StorageOp::Sync).await, Err(ErrorCode::NOT_READY));
    });
    storage.stop().unwrap();
}

#[test]
fn a_limit_fills_up_and_empties() {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let mut config = cluster.config("a");
    config.targets[0].limit_bytes = Some(1 << 20);
    let storage = cluster.storage(config);
    client(async {
        let to = cluster.connect(&storage).await;
        write(&to, 0, &data(1 << 20)).await.unwrap();
        assert_eq!(write(&to, 1 << 20, &data(1)).await, Err(ErrorCode::NO_SPACE));
        // sleeps: the next heartbeat says it
        tokio::time::sleep(Duration::from_millis(200)).await;
        let capacity = *cluster.knobs.capacity.lock().unwrap();
        assert_eq!((capacity.total_bytes, capacity.free_bytes), (1 << 20, 0));
        op(&to, TARGET, StorageOp::Truncate { len: 4096 }).await.unwrap();
        write(&to, 1 << 20, &data(1)).await.unwrap();
    });
    storage.stop().unwrap();
}

#[test]
fn many_clients_on_one_file_see_whole_blocks() {
    let (cluster, storage) = start();
    client(async {
        let connections = [cluster.connect(&storage).await, cluster.connect(&storage).await];
        let mut tasks = Vec::new();
        for number in 0..64_u64 {
            let to = connections[number as usize % 2].clone();
            tasks.push(tokio::task::spawn_local(async move {
                write(&to, number % 8 * 6000, &vec![number as u8 + 1; 6000]).await.unwrap();
                read(&to, 0, 65_536, ReadHeader::VERIFY).await.unwrap();
                op(&to, TARGET, StorageOp::Sync).await.unwrap();
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let (_, found) = read(&connections[0], 0, 65_536, ReadHeader::VERIFY).await.unwrap();
        assert_eq!(found.len(), 48_000);
        for piece in found.chunks(6000) {
            assert!(piece.iter().all(|byte| *byte == piece[0] && *byte > 0));
        }
    });
    storage.stop().unwrap();
}

/// A counter of the service.
async fn counter(of: &Connection, name: &str) -> u64 {
    let stats = of.call(Request::new(message_type::STATS, Bytes::new())).await.unwrap();
    let stats: ServiceStats = codec::decode(&stats.body).unwrap();
    stats.counters.iter().find(|(known, _)| known == name).unwrap().1
}

#[test]
fn reads_beside_writes_never_see_a_mismatch() {
    let (cluster, storage) = start();
    client(async {
        let connections = [cluster.connect(&storage).await, cluster.connect(&storage).await];
        write(&connections[0], 0, &data(2 << 20)).await.unwrap();
        let mut tasks = Vec::new();
        for task in 0..16_usize {
            let to = connections[task % 2].clone();
            tasks.push(tokio::task::spawn_local(async move {
                for round in 0..60_usize {
                    let mixed = (task * 7919 + round * 104_729) % 400;
                    let (offset, len) = (mixed as u64 * 4096 + task as u64 % 3 * 700, 1 + mixed * 131 % 90_000);
                    match (task % 4, round % 20) {
                        (0, 0) => drop(op(&to, TARGET, StorageOp::Punch { offset, len: len as u64 }).await.unwrap()),
                        (0 | 1, _) => write(&to, offset, &data(len)).await.unwrap(),
                        // Not compared by the server, but here.
                        _ => drop(read_checked(&to, offset, len as u32).await),
                    }
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        // After a sync the flag is still there, so small writes need no other thread.
        let before = counter(&connections[0], "op.without_worker").await;
        write(&connections[0], 0, &data(4096)).await.unwrap();
        for offset in [0, 8192] {
            assert_eq!(read_checked(&connections[0], offset, 4096).await.len(), 4096);
        }
        assert_eq!(counter(&connections[0], "op.without_worker").await, before + 3);
        assert_eq!(counter(&connections[0], "checksum.errors").await, 0);
    });
    storage.stop().unwrap();
}

#[test]
fn directories_of_others_are_refused() {
    let (cluster, storage) = start();
    // It has its id only when it serves.
    client(async { drop(cluster.connect(&storage).await) });
    let config = cluster.config("a");
    let start = |config| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(nyala_storage::run(config, std::future::ready(()))).unwrap_err()
    };
    let locked = start(config.clone());
    assert!(locked.to_string().contains("in use by another process"), "{locked}");
    storage.stop().unwrap();
    let mut wrong = config.clone();
    wrong.targets[0].id = Some(TargetId(12));
    let wrong = start(wrong);
    assert!(wrong.to_string().contains("is target 11, the configuration says 12"), "{wrong}");
    let file = config.targets[0].dir.join("target.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let foreign = text.replace(&"07".repeat(16), &"08".repeat(16));
    std::fs::write(&file, &foreign).unwrap();
    let damaged = start(config.clone());
    assert!(damaged.to_string().contains("not what its checksum says"), "{damaged}");
    let unsealed: Vec<&str> = foreign.lines().filter(|line| !line.starts_with("checksum")).collect();
    std::fs::write(&file, unsealed.join("\n")).unwrap();
    let foreign = start(config.clone());
    assert!(foreign.to_string().contains("belongs to cluster 0808"), "{foreign}");
    let mut none = config;
    none.targets = Vec::<TargetSpec>::new();
    assert!(matches!(start(none), StorageError::NoTarget));
}
