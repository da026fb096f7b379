// SPDX-License-Identifier: Apache-2.0

//! A whole cluster in one process: management, two metadata services, one storage service with four targets, and
//! clients; each service on a thread of its own, real connections, real directories.

mod access;
mod coherence;
mod durable;
mod grants;
mod harness;
mod keys;
mod locks;
mod mirrored;
mod open_while_removed;
mod replaced;
mod restored;
mod roles;
mod rules;

use harness::Cluster;
use nyala_client::{Client, OpenOptions};
use nyala_wire::meta::{Owner, Rename};
use nyala_wire::{ErrorCode, InodeId, Name};
use std::collections::BTreeSet;

const OWNER: Owner = Owner { uid: 0, gid: 0 };

fn rename(from: (InodeId, &str), to: (InodeId, &str)) -> Rename {
    let name = |text: &str| Name::new(text.as_bytes()).unwrap();
    Rename {
        from_parent: from.0,
        from_name: name(from.1),
        to_parent: to.0,
        to_name: name(to.1),
        no_replace: false,
        exchange: false,
    }
}

async fn names(client: &Client, dir: InodeId) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut after = 0;
    loop {
        let listing = client.readdir(dir, after, 100, true).await.unwrap();
        for entry in listing.entries {
            after = entry.cookie;
            assert!(entry.attr.is_some(), "attributes come from whatever server has them");
            found.insert(entry.name.to_string());
        }
        if listing.end {
            return found;
        }
    }
}

/// Directories on both metadata servers, found by making some. The root's server may hear of the other one later than
/// the client does, and places directories with what it knows: so this goes on for a while, not a number of times.
async fn two_directories(client: &Client) -> (InodeId, InodeId) {
    let map = client.map();
    let mut by_target = std::collections::BTreeMap::new();
    let began = std::time::Instant::now();
    for n in 0.. {
        let name = format!("spread {n}");
        let attr = client.mkdir(InodeId::ROOT, name.as_bytes(), 0o755, OWNER).await.unwrap();
        by_target.entry(map.slot_target(attr.inode.slot()).unwrap()).or_insert(attr.inode);
        if by_target.len() == 2 || began.elapsed() > std::time::Duration::from_secs(20) {
            break;
        }
        // sleeps: between two looks
        tokio::time::sleep(std::time::Duration::from_millis(n / 8)).await;
    }
    let mut dirs = by_target.into_values();
    (dirs.next().unwrap(), dirs.next().expect("new directories spread over both servers"))
}

#[test]
fn names_across_servers() {
    Cluster::start().run(|client| async move {
        let (a, b) = two_directories(&client).await;
        let (_, handle) = client.create(a, b"file", 0o644, OWNER, true).await.unwrap();
        handle.write(0, b"hello").await.unwrap();
        handle.release().await.unwrap();
        // Across servers: rename, link (the inode stays where it was made), replace, remove.
        client.rename(rename((a, "file"), (b, "moved"))).await.unwrap();
        assert!(client.lookup(a, b"file").await.unwrap_err().is(ErrorCode::NOT_FOUND));
        let attr = client.lookup(b, b"moved").await.unwrap();
        assert_eq!((attr.size, attr.nlink), (5, 1));
        let linked = client.link(attr.inode, b, b"second").await.unwrap();
        assert_eq!(linked.nlink, 2);
        client.unlink(b, b"moved").await.unwrap();
        assert_eq!(client.getattr(attr.inode).await.unwrap().nlink, 1);
        let (_, other) = client.create(a, b"other", 0o644, OWNER, true).await.unwrap();
        client.rename(rename((b, "second"), (a, "other"))).await.unwrap();
        assert_eq!(client.getattr(other.inode()).await.unwrap().nlink, 0, "replaced, but still open");
        other.release().await.unwrap();
        let handle = client.open(attr.inode, OpenOptions::default()).await.unwrap();
        assert_eq!(handle.read(0, 100).await.unwrap().concat(), b"hello");
        handle.release().await.unwrap();
        assert_eq!(names(&client, a).await, BTreeSet::from(["other".to_owned()]));
        assert!(names(&client, b).await.is_empty());
    });
}

#[test]
fn directories_across_servers() {
    Cluster::start().run(|client| async move {
        let (a, b) = two_directories(&client).await;
        let inner = client.mkdir(a, b"inner", 0o755, OWNER).await.unwrap().inode;
        let deep = client.mkdir(inner, b"deep", 0o755, OWNER).await.unwrap().inode;
        assert_eq!(client.getattr(a).await.unwrap().nlink, 3);
        // A directory cannot go below itself, whoever serves the way up.
        let below = client.rename(rename((a, "inner"), (deep, "x"))).await.unwrap_err();
        assert!(below.is(ErrorCode::INVALID), "{below}");
        client.rename(rename((a, "inner"), (b, "inner"))).await.unwrap();
        assert_eq!(client.parent(inner).await.unwrap(), b);
        assert_eq!(client.getattr(a).await.unwrap().nlink, 2);
        assert_eq!(client.getattr(b).await.unwrap().nlink, 3);
        // Over an empty directory, not over a full one.
        let empty = client.mkdir(a, b"empty", 0o755, OWNER).await.unwrap().inode;
        let full = client.rename(rename((a, "empty"), (b, "inner"))).await.unwrap_err();
        assert!(full.is(ErrorCode::NOT_EMPTY), "{full}");
        client.rename(rename((inner, "deep"), (a, "empty"))).await.unwrap();
        assert!(client.getattr(empty).await.unwrap_err().is(ErrorCode::STALE));
        assert_eq!(client.parent(deep).await.unwrap(), a);
        client.rmdir(b, b"inner").await.unwrap();
        assert!(client.rmdir(a, b"inner").await.unwrap_err().is(ErrorCode::NOT_FOUND));
        assert_eq!(names(&client, a).await, BTreeSet::from(["empty".to_owned()]));
    });
}

#[test]
fn many_renames_at_once_lose_nothing() {
    Cluster::start().run(|client| async move {
        let (a, b) = two_directories(&client).await;
        for n in 0..20 {
            let name = format!("f{n}");
            let (_, handle) = client.create(a, name.as_bytes(), 0o644, OWNER, true).await.unwrap();
            handle.release().await.unwrap();
        }
        // Every task moves its own file to and fro; names of the two directories lock each other out all the time.
        let mut tasks = Vec::new();
        for n in 0..20 {
            let client = client.clone();
            tasks.push(tokio::task::spawn_local(async move {
                let name = format!("f{n}");
                for round in 0..10 {
                    let (from, to) = if round % 2 == 0 { (a, b) } else { (b, a) };
                    client.rename(rename((from, &name), (to, &name))).await.unwrap();
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let all: BTreeSet<String> = (0..20).map(|n| format!("f{n}")).collect();
        assert_eq!(names(&client, a).await, all);
        assert!(names(&client, b).await.is_empty());
    });
}

#[test]
fn content_small_and_striped() {
    Cluster::start().run(|client| async move {
        let (attr, handle) = client.create(InodeId::ROOT, b"big", 0o644, OWNER, true).await.unwrap();
        let data: Vec<u8> = (0..5_000_000_u32).map(|i| (i / 7) as u8).collect();
        for piece in data.chunks(100_000) {
            handle.write(piece.as_ptr() as u64 - data.as_ptr() as u64, piece).await.unwrap();
        }
        handle.fsync(false).await.unwrap();
        assert_eq!(client.getattr(attr.inode).await.unwrap().size, data.len() as u64);
        assert_eq!(handle.read(0, data.len() + 5).await.unwrap().concat(), data);
        let info = client.entry_info(attr.inode).await.unwrap();
        assert_eq!((info.layout.unwrap().targets.len(), info.inline), (4, false));
        // Cut, grow: what was cut does not come back.
        let set = |size| nyala_wire::meta::SetAttr { size: Some(size), ..Default::default() };
        client.setattr(attr.inode, set(1000)).await.unwrap();
        client.setattr(attr.inode, set(3000)).await.unwrap();
        let mut expected = data[..1000].to_vec();
        expected.resize(3000, 0);
        assert_eq!(handle.read(0, 10_000).await.unwrap().concat(), expected);
        handle.release().await.unwrap();
        client.unlink(InodeId::ROOT, b"big").await.unwrap();
    });
}

/// Each task moves its own file between servers and makes and removes its own directories. Everything is told twice if
/// need be, and done once: a second time would be refused.
#[test]
fn crashes_in_the_middle_of_operations_over_two_servers() {
    const CRASHES: usize = 6;
    Cluster::start().run_with_crashes(CRASHES, |client| async move {
        let (a, b) = two_directories(&client).await;
        for n in 0..8 {
            let (_, handle) = client.create(a, format!("f{n}").as_bytes(), 0o644, OWNER, true).await.unwrap();
            handle.release().await.unwrap();
        }
        let end = std::time::Instant::now() + std::time::Duration::from_secs(CRASHES as u64 + 4);
        let mut tasks = Vec::new();
        for n in 0..8 {
            let client = client.clone();
            tasks.push(tokio::task::spawn_local(async move {
                let name = format!("f{n}");
                let mut rounds = 0;
                while std::time::Instant::now() < end {
                    client.rename(rename((a, &name), (b, &name))).await.unwrap();
                    let dir = format!("d{n}.{rounds}");
                    client.mkdir(b, dir.as_bytes(), 0o755, OWNER).await.unwrap();
                    client.rename(rename((b, &name), (a, &name))).await.unwrap();
                    client.rename(rename((b, &dir), (a, &dir))).await.unwrap();
                    client.rmdir(a, dir.as_bytes()).await.unwrap();
                    rounds += 1;
                }
                rounds
            }));
        }
        for task in tasks {
            assert!(task.await.unwrap() > 0);
        }
        assert_eq!(names(&client, a).await, (0..8).map(|n| format!("f{n}")).collect());
        assert!(names(&client, b).await.is_empty());
        assert_eq!((client.getattr(a).await.unwrap().nlink, client.getattr(b).await.unwrap().nlink), (2, 2));
    });
}
