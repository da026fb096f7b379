// SPDX-License-Identifier: Apache-2.0

//! Clients that lie about what they are, that send what others may, and that may only read: what the services let them do. The cluster's
//! keys are changed meanwhile, and an honest client goes on.

use crate::cluster::OWNER;
use crate::cluster::durable::put;
use crate::cluster::harness::Cluster;
use crate::cluster::keys::{answer, key, mgmt_requests, until_known, with, write};
use nyala_client::{Client, ClientConfig, OpenOptions};
use nyala_transport::secret::key_file::KeyEntry;
use nyala_transport::{Connection, Role, TransportError};
use nyala_wire::map::{Reachability, Target, TargetKind};
use nyala_wire::message_type::*;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageRequest, WriteHeader, encode_bulk};
use nyala_wire::{ErrorCode, InodeId, MapVersion, SessionId, TargetId, codec};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Sends everything that only others may send.
async fn oversteps(mgmt: SocketAddr, metas: &[SocketAddr], storage: (SocketAddr, TargetId), mine: &KeyEntry) {
    let connect =
        |address| async move { Connection::connect(address, &with(mine, "client", Role::Client)).await.unwrap() };
    let refused = Err(ErrorCode::UNAUTHORIZED);
    let to = connect(mgmt).await;
    assert_eq!(answer(&to, MGMT_RAFT, Vec::new()).await, refused);
    let requests = mgmt_requests();
    assert!(requests.len() > 10);
    for (name, body) in requests {
        assert!(codec::decode::<MgmtRequest>(&body).is_ok(), "{name}");
        let open = ["WatchMap", "Capacities", "Refused", "MgmtNodes", "AnnounceMount", "Mounts"].contains(&name);
        let answered = answer(&to, MGMT, body).await;
        assert_eq!(answered == refused, !open, "{name}: {answered:?}");
    }
    for address in metas {
        let to = connect(*address).await;
        for message_type in
            [META_TX, META_FENCES, META_REPLICA, META_SCAN, META_CHECKPOINT, META_LOCATE, META_NAMES, BUSIEST]
        {
            assert_eq!(answer(&to, message_type, Vec::new()).await, refused, "{message_type:#06x}");
        }
        let posing = Connection::connect(*address, &with(mine, "client", Role::Mon)).await.unwrap();
        assert_eq!(answer(&posing, META, Vec::new()).await, refused, "monitoring has no session");
    }
    let (address, target) = storage;
    let to = connect(address).await;
    for message_type in [STORAGE_REPLICA, STORAGE_REPLICAS, BUSIEST] {
        assert_eq!(answer(&to, message_type, Vec::new()).await, refused, "{message_type:#06x}");
    }
    let (file, session) = (ChunkFileId { inode: InodeId::ROOT, index: 0 }, SessionId(7));
    for op in [
        StorageOp::Unlink,
        StorageOp::Fence { session },
        StorageOp::Walk { offset: 0, bytes: 4096, verify: false },
        StorageOp::List { most: 10 },
    ] {
        let asked = StorageRequest::new(target, file, op.clone()).of_session(session);
        assert_eq!(answer(&to, STORAGE, codec::encode(&asked)).await, refused, "{op:?}");
    }
}

/// A client that may only read, and what it sends past its own library.
async fn only_reads(mgmt: SocketAddr, storage: (SocketAddr, TargetId), reader: &KeyEntry, file: InodeId) {
    let secret = with(reader, "client", Role::Client).secret;
    let config =
        ClientConfig { retry_timeout: Duration::from_secs(60), ..ClientConfig::new(vec![mgmt], secret, "reader:/") };
    let client = Client::connect(config).await.unwrap();
    let handle = client.open(file, OpenOptions::default()).await.unwrap();
    assert_eq!(handle.read(0, 10).await.unwrap().concat(), [7; 10]);
    handle.release().await.unwrap();
    let refused = |outcome: nyala_client::Result<()>| outcome.is_err_and(|error| error.is(ErrorCode::READ_ONLY));
    assert!(refused(client.create(InodeId::ROOT, b"mine", 0o644, OWNER, true).await.map(drop)));
    assert!(refused(client.mkdir(InodeId::ROOT, b"mine", 0o755, OWNER).await.map(drop)));
    assert!(refused(client.unlink(InodeId::ROOT, b"big").await));
    assert!(refused(
        client.rename(crate::cluster::rename((InodeId::ROOT, "big"), (InodeId::ROOT, "mine"))).await.map(drop)
    ));
    let to = Connection::connect(storage.0, &with(reader, "client", Role::Client)).await.unwrap();
    let header = WriteHeader {
        target: storage.1.0.into(),
        index: 0u16.into(),
        flags: 0u32.into(),
        inode: file.0.into(),
        offset: 0u64.into(),
        session: 7u64.into(),
        len: 0u32.into(),
        checksums: 0u32.into(),
        client: 0u64.into(),
        number: 0u64.into(),
        slot: 0u32.into(),
        reserved: 0u32.into(),
    };
    assert_eq!(answer(&to, STORAGE_WRITE, encode_bulk(&header, &[])).await, Err(ErrorCode::READ_ONLY));
    for op in [StorageOp::Truncate { len: 0 }, StorageOp::Punch { offset: 0, len: 4096 }] {
        let asked = StorageRequest::new(storage.1, ChunkFileId { inode: file, index: 0 }, op).of_session(SessionId(7));
        assert_eq!(answer(&to, STORAGE, codec::encode(&asked)).await, Err(ErrorCode::READ_ONLY));
    }
    client.shutdown().await.unwrap();
}

#[test]
fn a_client_that_lies_gets_no_more_than_its_key_gives() {
    let cluster = Cluster::start();
    let (secret, mgmt, metas) = (cluster.path("secret"), cluster.mgmt, cluster.metas);
    cluster.run(|client| async move {
        let file = put(&client, b"big", 100_000).await;
        let map = client.map();
        let target = map.targets.iter().find(|target| target.kind == TargetKind::Storage).unwrap().id;
        let storage = (map.node_of(target).unwrap().addresses[0], target);
        let all = [mgmt, metas[0], metas[1], storage.0];

        let plain = std::fs::read(&secret).unwrap().trim_ascii_end().to_vec();
        let plain = KeyEntry { secret: plain, ..key("plain", "all", false) };
        let (mine, reader, server) = (key("c", "client", false), key("r", "client", true), key("s", "server", false));
        write(&secret, vec![plain.clone(), mine.clone(), reader.clone(), server.clone()]);
        until_known(&all, &reader).await;
        for address in all {
            for role in [Role::Meta, Role::Storage, Role::Mgmt, Role::Cli] {
                for key in [&mine, &reader] {
                    let outcome = Connection::connect(address, &with(key, "all", role)).await;
                    let refused = TransportError::RoleNotProven { address, role, key: "mine".into() };
                    assert_eq!(outcome.map(|_| ()), Err(refused));
                }
            }
        }
        oversteps(mgmt, &metas, storage, &mine).await;
        only_reads(mgmt, storage, &reader, file).await;

        // What was proven with the key that ends goes on with another one.
        write(&secret, vec![mine, reader, server]);
        let began = Instant::now();
        let mut number = 0;
        while began.elapsed() < Duration::from_secs(4) {
            put(&client, format!("small{number}").as_bytes(), 10).await;
            put(&client, format!("large{number}").as_bytes(), 20_000).await;
            number += 1;
        }
        let late = Connection::connect(mgmt, &with(&plain, "all", Role::Client)).await;
        assert!(matches!(late, Err(TransportError::WrongSecret { .. })), "{late:?}");
        let to = Connection::connect(mgmt, &with(&key("c", "client", false), "client", Role::Client)).await.unwrap();
        let watch = codec::encode(&MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 });
        let map: MgmtReply = codec::decode(&answer(&to, MGMT, watch).await.unwrap()).unwrap();
        let MgmtReply::Map(map) = map else { panic!("{map:?}") };
        let online = |target: &&Target| target.reachability == Reachability::Online;
        assert_eq!(map.targets.iter().filter(online).count(), 6, "services know each other by the new key");
    });
}
