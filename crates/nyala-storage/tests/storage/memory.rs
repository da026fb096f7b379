// SPDX-License-Identifier: Apache-2.0

//! A target in memory: large writes are done on the thread of their connection, large reads are sent from where the data is.

use crate::common::{Cluster, client};
use bytes::Bytes;
use nyala_storage::chunk_store::path_of;
use nyala_transport::{Connection, Frame, Request};
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::storage::{ChunkFileId, READ_IN_PLACE, ReadHeader, ReadReplyHeader, decode_bulk, encode_bulk};
use nyala_wire::{ErrorCode, InodeId, TargetId, WireError, codec, message_type};
use std::os::unix::fs::FileExt;

const TARGET: TargetId = TargetId(11);
const FILE: ChunkFileId = ChunkFileId { inode: InodeId(5 << 48 | 9), index: 2 };

fn data(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * 31 + seed) % 251) as u8).collect()
}

fn error(frame: &Frame) -> Option<ErrorCode> {
    frame.is_error().then(|| codec::decode::<WireError>(&frame.body).unwrap().code)
}

async fn write(to: &Connection, offset: u64, data: &[u8], damage: u32) -> Option<ErrorCode> {
    let (header, mut crcs) = crate::bulk::write_header(TARGET, FILE, offset, data);
    crcs.iter_mut().for_each(|crc| *crc ^= damage);
    let request = Request::new(message_type::STORAGE_WRITE, encode_bulk(&header, &crcs));
    error(&to.call(request.with_payload(vec![Bytes::copy_from_slice(data)])).await.unwrap())
}

async fn read(from: &Connection, offset: u64, len: u32, flags: u32) -> Frame {
    let header = crate::bulk::read_header(TARGET, FILE, offset, len, flags);
    from.call(Request::new(message_type::STORAGE_READ, encode_bulk(&header, &[]))).await.unwrap()
}

fn matches(frame: &Frame) -> bool {
    let (header, crcs) = decode_bulk::<ReadReplyHeader>(&frame.body).unwrap();
    assert_eq!((header.len.get() as usize, crcs.len()), (frame.payload.len(), frame.payload.len().div_ceil(4096)));
    frame.payload.chunks(4096).zip(crcs).all(|(block, crc)| crc32c_zero_padded(block) == crc.get())
}

fn is_in_place(frame: &Frame) -> bool {
    frame.header.flags & READ_IN_PLACE != 0
}

async fn counter(of: &Connection, name: &str) -> u64 {
    let stats = of.call(Request::new(message_type::STATS, Bytes::new())).await.unwrap();
    let stats: ServiceStats = codec::decode(&stats.body).unwrap();
    stats.counters.iter().find(|(known, _)| known == name).unwrap().1
}

#[test]
fn large_writes_and_reads_need_no_other_thread_and_no_copy() {
    let cluster = Cluster::start_in(std::path::Path::new("/dev/shm"));
    let storage = cluster.storage(cluster.config("a"));
    client(async {
        let to = cluster.connect(&storage).await;
        let (first, second) = (data(1, 1 << 20), data(2, 500_000));
        assert_eq!(write(&to, 0, &first, 0).await, None);
        let before = counter(&to, "op.without_worker").await;
        assert_eq!(write(&to, 1 << 20, &second, 0).await, None);
        assert_eq!(counter(&to, "op.without_worker").await, before + 1, "the file is known by then");
        assert_eq!(write(&to, 0, &first, 1).await, Some(ErrorCode::DAMAGED));
        assert_eq!(counter(&to, "write.damaged").await, 1);
        let whole = [&first[..], &second].concat();
        for (offset, len) in [(0, 1 << 20), (4096, 65_536), ((1 << 20) - 4096, 2 << 20)] {
            let frame = read(&to, offset, len, 0).await;
            assert!(is_in_place(&frame) && matches(&frame));
            assert!(frame.payload == whole[offset as usize..whole.len().min(offset as usize + len as usize)]);
        }
        assert_eq!(counter(&to, "op.zero_copy").await, 3);
        assert!(!is_in_place(&read(&to, 0, 4096, 0).await), "small ones are copied");
        let compared = read(&to, 0, 1 << 20, ReadHeader::VERIFY).await;
        assert!(!is_in_place(&compared) && compared.payload == first);
        // A hole, whatever the file has there.
        assert_eq!(write(&to, 3 << 20, &first, 0).await, None);
        let hole = read(&to, 1 << 20, 3 << 20, 0).await;
        assert!(!is_in_place(&hole) && matches(&hole) && hole.payload[500_000..2 << 20].iter().all(|byte| *byte == 0));
        // Damage arrives as damage, and is found by the read that is compared.
        let path = cluster.dir.path().join("a/target/chunks").join(path_of(FILE));
        std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(b"?!", 300_000).unwrap();
        let damaged = read(&to, 0, 1 << 20, 0).await;
        assert!(is_in_place(&damaged) && !matches(&damaged));
        assert_eq!(error(&read(&to, 0, 1 << 20, ReadHeader::VERIFY).await), Some(ErrorCode::CHECKSUM));
    });
    storage.stop().unwrap();
}
