// SPDX-License-Identifier: Apache-2.0

//! Two clients at once: what one did is seen by the other when the call has returned.

use crate::fake::{Cluster, ROOT, contend, is_commit, make, read, two, within};
use nyala_client::{Client, FileHandle, Lookup, OpenOptions, SetXattr};
use nyala_wire::meta::{DelegationMode, Owner, Rename, SetAttr, SetTime};
use nyala_wire::{ErrorCode, Name, Time};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const WRITE: OpenOptions = OpenOptions { truncate: false, append: false, write: true, buffered: false };

#[tokio::test]
async fn attributes_entries_and_missing_names_are_kept_and_never_stale() {
    let (cluster, one, two) = two(41).await;
    let file = make(&two, "file").await.inode();
    assert_eq!(one.lookup(ROOT, b"file").await.unwrap().perm, 0o644);
    assert!(one.lookup(ROOT, b"none").await.unwrap_err().is(ErrorCode::NOT_FOUND));
    // The first answer had to wait for the other's delegation, so that it brought none.
    one.getattr(file).await.unwrap();
    cluster.take_log();
    for _ in 0..3 {
        let found = one.lookup_entry(ROOT, b"file").await.unwrap();
        assert!(found.entry_delegated && found.attr_delegated && found.attr.unwrap().inode == file);
        let none = one.lookup_entry(ROOT, b"none").await.unwrap();
        assert_eq!(none, Lookup { attr: None, entry_delegated: true, attr_delegated: false });
        one.getattr(file).await.unwrap();
    }
    assert_eq!(cluster.take_log(), [""; 0], "all of it from what is kept");
    two.setattr(file, SetAttr { perm: Some(0o600), ..SetAttr::default() }).await.unwrap();
    assert_eq!(one.getattr(file).await.unwrap().perm, 0o600);
    let none = make(&two, "none").await.inode();
    assert_eq!(one.lookup(ROOT, b"none").await.unwrap().inode, none);
    two.unlink(ROOT, b"file").await.unwrap();
    assert!(one.lookup(ROOT, b"file").await.unwrap_err().is(ErrorCode::NOT_FOUND));
    let name = |name: &[u8]| Name::new(name).unwrap();
    let rename = Rename {
        from_parent: ROOT,
        from_name: name(b"none"),
        to_parent: ROOT,
        to_name: name(b"file"),
        no_replace: false,
        exchange: false,
    };
    one.rename(rename).await.unwrap();
    assert_eq!(two.lookup(ROOT, b"file").await.unwrap().inode, none);
    assert!(two.lookup_entry(ROOT, b"none").await.unwrap().attr.is_none());
    assert!(one.lookup_entry(ROOT, b"none").await.unwrap().attr.is_none());
    cluster.check();
}

#[tokio::test]
async fn listings_links_and_extended_attributes() {
    let (cluster, one, two) = two(42).await;
    let dir = two.mkdir(ROOT, b"dir", 0o755, Owner::default()).await.unwrap().inode;
    let make = async |name: &[u8]| two.create(dir, name, 0o644, Owner::default(), true).await.unwrap().1.inode();
    let a = make(b"a").await;
    let listed = async || {
        let listing = one.readdir(dir, 0, 100, true).await.unwrap();
        assert!(listing.entries.iter().all(|entry| entry.attr.is_some()));
        listing.entries.len()
    };
    assert_eq!(listed().await, 1);
    assert_eq!(listed().await, 1);
    cluster.take_log();
    assert_eq!(listed().await, 1);
    assert_eq!(one.lookup(dir, b"a").await.unwrap().inode, a);
    // What `ls -l` asks of every file of a listing: nobody is asked for what it is known not to have.
    assert!(one.getxattr(a, b"system.posix_acl_access").await.unwrap_err().is(ErrorCode::NO_DATA));
    assert!(one.listxattr(a).await.unwrap().is_empty());
    assert_eq!(cluster.take_log(), [""; 0]);
    make(b"b").await;
    assert_eq!(listed().await, 2);
    one.unlink(dir, b"b").await.unwrap();
    assert_eq!(listed().await, 1, "own changes count too");

    let link = two.symlink(dir, b"link", b"target", Owner::default()).await.unwrap().inode;
    assert_eq!(one.lookup(dir, b"link").await.unwrap().inode, link);
    assert_eq!(one.readlink(link).await.unwrap(), b"target");
    one.getattr(a).await.unwrap();
    assert!(one.getxattr(a, b"user.x").await.unwrap_err().is(ErrorCode::NO_DATA));
    assert!(one.listxattr(a).await.unwrap().is_empty());
    cluster.take_log();
    assert_eq!(one.readlink(link).await.unwrap(), b"target");
    assert!(one.getxattr(a, b"user.x").await.unwrap_err().is(ErrorCode::NO_DATA));
    assert!(one.listxattr(a).await.unwrap().is_empty());
    assert_eq!(cluster.take_log(), [""; 0]);
    two.setxattr(a, b"user.x", b"1", SetXattr::default()).await.unwrap();
    assert_eq!(one.getxattr(a, b"user.x").await.unwrap(), b"1");
    one.setxattr(a, b"user.x", b"2", SetXattr::default()).await.unwrap();
    assert_eq!(one.getxattr(a, b"user.x").await.unwrap(), b"2");
    assert_eq!(one.listxattr(a).await.unwrap(), [b"user.x"]);
    // Another name, seen from both sides.
    assert_eq!(one.getattr(a).await.unwrap().nlink, 1);
    two.link(a, dir, b"again").await.unwrap();
    assert_eq!(one.getattr(a).await.unwrap().nlink, 2);
    one.unlink(dir, b"again").await.unwrap();
    assert_eq!(one.getattr(a).await.unwrap().nlink, 1);
    assert_eq!(two.getattr(a).await.unwrap().nlink, 1);
    cluster.check();
}

#[tokio::test]
async fn what_a_client_makes_in_a_directory_of_its_own_takes_one_request_each() {
    let (cluster, one, two) = two(43).await;
    let dir = within(one.mkdir(ROOT, b"dir", 0o755, Owner::default())).await.unwrap().inode;
    cluster.take_log();
    let missing = async |client: &Client, name: &[u8]| client.lookup_entry(dir, name).await.unwrap();
    // What the kernel asks around each change.
    for name in [&b"a"[..], b"b", b"c"] {
        let none = Lookup { attr: None, entry_delegated: true, attr_delegated: false };
        assert_eq!(within(missing(&one, name)).await, none);
        within(one.create(dir, name, 0o644, Owner::default(), true)).await.unwrap();
        assert_eq!(within(one.getattr(dir)).await.unwrap().inode, dir);
    }
    let sub = within(one.mkdir(dir, b"sub", 0o755, Owner::default())).await.unwrap().inode;
    assert_eq!(within(one.getattr(dir)).await.unwrap().nlink, 3);
    within(one.rmdir(dir, b"sub")).await.unwrap();
    within(one.unlink(dir, b"c")).await.unwrap();
    let (from_name, to_name) = (Name::new(b"b").unwrap(), Name::new(b"d").unwrap());
    let (no_replace, exchange) = (false, false);
    within(one.rename(Rename { from_parent: dir, from_name, to_parent: dir, to_name, no_replace, exchange }))
        .await
        .unwrap();
    let after = within(one.getattr(dir)).await.unwrap();
    assert!(missing(&one, b"c").await.attr.is_none() && missing(&one, b"sub").await.attr.is_none());
    // The directory is another server's than its parent: the first question brings its delegation.
    assert_eq!(cluster.take_log(), ["Lookup", "Create", "Create", "Create", "Mkdir", "Rmdir", "Unlink", "Rename"]);
    // The same as its server says.
    assert_eq!(within(two.getattr(dir)).await.unwrap(), after);
    assert_eq!((after.nlink, after.size), (2, 2));
    // Another client's change is known at once.
    let b = within(make_in(&two, dir, b"c")).await;
    assert_eq!(missing(&one, b"c").await.attr.unwrap().inode, b);
    assert!(missing(&one, b"e").await.attr.is_none());
    let e = within(make_in(&two, dir, b"e")).await;
    assert_eq!(missing(&one, b"e").await.attr.unwrap().inode, e);
    assert_eq!(one.getattr(dir).await.unwrap(), two.getattr(dir).await.unwrap());
    assert!(one.getattr(sub).await.is_err());
    cluster.check();
}

async fn make_in(client: &Client, dir: nyala_wire::InodeId, name: &[u8]) -> nyala_wire::InodeId {
    client.create(dir, name, 0o644, Owner::default(), true).await.unwrap().1.inode()
}

#[tokio::test]
async fn a_directory_that_was_listed_to_its_end_has_no_other_names() {
    let (cluster, one, two) = two(44).await;
    let dir = within(two.mkdir(ROOT, b"dir", 0o755, Owner::default())).await.unwrap().inode;
    for number in 0..10 {
        make_in(&two, dir, format!("{number}").as_bytes()).await;
    }
    let mut after = 0;
    loop {
        let part = within(one.readdir(dir, after, 4, false)).await.unwrap();
        if part.end {
            break;
        }
        assert!(within(one.lookup_entry(dir, b"none")).await.unwrap().attr.is_none());
        after = part.entries.last().unwrap().cookie;
    }
    cluster.take_log();
    assert!(within(one.lookup(dir, b"other")).await.unwrap_err().is(ErrorCode::NOT_FOUND));
    assert_eq!(cluster.take_log(), [""; 0]);
    let other = make_in(&two, dir, b"other").await;
    assert_eq!(within(one.lookup(dir, b"other")).await.unwrap().inode, other);
    assert!(within(one.lookup(dir, b"third")).await.unwrap_err().is(ErrorCode::NOT_FOUND));
    assert_eq!(cluster.take_log().iter().filter(|op| *op == "Lookup").count(), 2, "it was changed since");
    cluster.check();
}

#[tokio::test]
async fn an_attribute_that_is_set_while_content_goes_out_is_there_afterwards() {
    let (cluster, client, _) = two(48).await;
    for size in [10, 100_000] {
        let file = make(&client, &format!("f{size}")).await;
        file.write(0, &vec![1; size]).await.unwrap();
        let (hold, held) = (Arc::new(Notify::new()), cluster.0.lock().held);
        cluster.0.lock().hold_of = Some((is_commit, hold.clone()));
        let push = tokio::spawn({
            let file = file.clone();
            async move { file.fsync(false).await }
        });
        while cluster.0.lock().held == held {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The answer that is on its way was true when it was given.
        client.setxattr(file.inode(), b"user.x", b"1", SetXattr::default()).await.unwrap();
        cluster.0.lock().hold_of = None;
        hold.notify_waiters();
        within(push).await.unwrap().unwrap();
        assert_eq!(client.getxattr(file.inode(), b"user.x").await.unwrap(), b"1", "{size} bytes");
        assert_eq!(client.listxattr(file.inode()).await.unwrap(), [b"user.x"]);
    }
    cluster.check();
}

#[tokio::test]
async fn written_data_is_seen_by_the_other_at_once() {
    let (cluster, one, two) = two(43).await;
    for size in [100_usize, 300_000] {
        let name = format!("f{size}");
        let writer = make(&one, &name).await;
        let reader = two.open(writer.inode(), OpenOptions::default()).await.unwrap();
        let mut model = vec![0; size];
        for round in 1..6_u8 {
            let at = usize::from(round) * size / 7;
            writer.write(at as u64, &vec![round; size / 10]).await.unwrap();
            model[at..at + size / 10].fill(round);
            let end = at + size / 10;
            assert_eq!(two.getattr(writer.inode()).await.unwrap().size, end as u64);
            assert!(read(&reader, 0, size).await == model[..end], "size {size} round {round}");
            // And back.
            reader.write(at as u64, &[100 + round; 3]).await.unwrap();
            model[at..at + 3].fill(100 + round);
            assert!(read(&writer, 0, size).await == model[..end], "size {size} round {round}");
        }
        two.setattr(writer.inode(), SetAttr { size: Some(50), ..SetAttr::default() }).await.unwrap();
        assert_eq!(read(&writer, 0, size).await, &model[..50]);
        one.setattr(writer.inode(), SetAttr { size: Some(size as u64), ..SetAttr::default() }).await.unwrap();
        model[50..].fill(0);
        assert!(read(&reader, 0, size).await == model);
    }
    cluster.check();
}

#[tokio::test]
async fn content_is_kept_after_the_close_and_dropped_when_it_changes() {
    let (cluster, one, two) = two(44).await;
    for size in [1000_usize, 200_000] {
        let file = make(&two, &format!("f{size}")).await;
        file.write(0, &vec![1; size]).await.unwrap();
        let look = async || {
            let handle = one.open(file.inode(), OpenOptions::default()).await.unwrap();
            let data = read(&handle, 0, size).await;
            handle.release().await.unwrap();
            data
        };
        assert!(look().await == vec![1; size]);
        let reads = one.stats().storage_reads;
        cluster.take_log();
        assert!(look().await == vec![1; size]);
        assert_eq!(cluster.take_log(), [""; 0]);
        assert_eq!(one.stats().storage_reads, reads);
        file.write(10, &[2; 10]).await.unwrap();
        let data = look().await;
        assert!(data[10..20] == [2; 10] && data[20..] == vec![1; size - 20]);
    }
    cluster.check();
}

#[tokio::test]
async fn appends_of_two_clients_lose_nothing() {
    let (cluster, one, two) = two(45).await;
    let file = make(&one, "log").await;
    let other = two.open(file.inode(), OpenOptions { append: true, ..WRITE }).await.unwrap();
    let append = async |handle: &FileHandle, byte: u8| {
        let mut offsets = Vec::new();
        for _ in 0..40 {
            offsets.push(handle.append(&[byte; 200]).await.unwrap());
        }
        offsets
    };
    let (a, b) = within(async { tokio::join!(append(&file, 1), append(&other, 2)) }).await;
    let data = read(&file, 0, 100_000).await;
    assert_eq!(data.len(), 80 * 200);
    for (offsets, byte) in [(a, 1), (b, 2)] {
        assert!(offsets.iter().all(|at| data[*at as usize..*at as usize + 200] == [byte; 200]));
    }
    cluster.check();
}

#[tokio::test]
async fn many_writers_without_keeping_lose_nothing() {
    let (cluster, one, two) = two(46).await;
    for unit in [20_usize, 777, 5000] {
        let file = make(&one, &format!("shared{unit}")).await;
        contend(&one, &two, file.inode()).await;
        let a = one.open(file.inode(), WRITE).await.unwrap();
        let b = two.open(file.inode(), WRITE).await.unwrap();
        assert_eq!(b.delegation(), DelegationMode::Uncached);
        let write = async |handle: &FileHandle, odd: usize| {
            for number in (odd..60).step_by(2) {
                handle.write((number * unit) as u64, &vec![number as u8 + 1; unit]).await.unwrap();
            }
        };
        within(async { tokio::join!(write(&a, 0), write(&b, 1)) }).await;
        let model: Vec<u8> = (0..60).flat_map(|number| vec![number as u8 + 1; unit]).collect();
        assert!(read(&a, 0, model.len() + 1).await == model, "unit {unit}");
        assert!(read(&b, 0, model.len() + 1).await == model, "unit {unit}");
        let fresh = cluster.client().await.open(file.inode(), OpenOptions::default()).await.unwrap();
        assert!(read(&fresh, 0, model.len() + 1).await == model, "unit {unit}");
    }
    cluster.check();
}

#[tokio::test]
async fn two_that_sync_while_both_may_read_do_not_wait_for_each_other() {
    let (cluster, one, two) = two(47).await;
    let a = make(&one, "shared").await;
    a.write(0, &[1; 9_000]).await.unwrap();
    let b = two.open(a.inode(), WRITE).await.unwrap();
    let a = one.open(a.inode(), WRITE).await.unwrap();
    for round in 1..20 {
        contend(&one, &two, a.inode()).await;
        let end = round * 40_000;
        // How much of a file with holes is allocated is told with its next sync.
        within(async { tokio::try_join!(a.write(end, &[2; 5_000]), b.write(end + 9_000, &[3; 5_000])) }).await.unwrap();
        within(a.append(b"x")).await.unwrap();
        within(read(&b, end, 10)).await;
        within(async { tokio::try_join!(a.fsync(false), b.fsync(false)) }).await.unwrap();
    }
    cluster.check();
}

#[tokio::test]
async fn a_file_open_without_saying_so_survives_its_removal() {
    let (cluster, one, two) = two(47).await;
    for (number, remover) in [&one, &two].into_iter().enumerate() {
        let name = format!("f{number}");
        let made = make(&two, &name).await;
        made.write(0, b"content").await.unwrap();
        made.release().await.unwrap();
        let handle =
            one.open(one.lookup(ROOT, name.as_bytes()).await.unwrap().inode, OpenOptions::default()).await.unwrap();
        remover.unlink(ROOT, name.as_bytes()).await.unwrap();
        assert_eq!(read(&handle, 0, 100).await, b"content");
        assert_eq!(one.getattr(handle.inode()).await.unwrap().nlink, 0);
        let inode = handle.inode();
        assert!(cluster.exists(inode));
        handle.release().await.unwrap();
        let gone = async {
            while cluster.exists(inode) {
                tokio::task::yield_now().await
            }
        };
        within(gone).await;
    }
    cluster.check();
}

#[tokio::test]
async fn copies_unnamed_files_and_how_much_a_file_takes() {
    let cluster = Cluster::new(54);
    let client = cluster.client().await;
    let from = make(&client, "from").await;
    let data: Vec<u8> = (0..400_000_u32).map(|i| (i % 251) as u8 + 1).collect();
    from.write(0, &data).await.unwrap();
    // One whose chunks line up with the other's.
    let to = loop {
        let (attr, to) = client.tmpfile(ROOT, 0o600, Owner::default()).await.unwrap();
        assert_eq!(attr.inode, to.inode());
        if cluster.targets(to.inode()) == cluster.targets(from.inode()) {
            break to;
        }
    };
    assert_eq!(client.copy_range(&from, 0, &to, 0, 1 << 30).await.unwrap(), 400_000);
    assert!(read(&to, 0, 500_000).await == data);
    assert!(cluster.0.lock().storage.copies >= 4, "targets copy what lines up");
    assert_eq!(client.copy_range(&from, 100, &to, 5000, 1000).await.unwrap(), 1000);
    assert_eq!(read(&to, 5000, 1000).await, &data[100..1100]);
    assert!(client.copy_range(&to, 0, &to, 10, 100).await.unwrap_err().is(ErrorCode::INVALID));
    assert_eq!(client.copy_range(&to, 0, &to, 500_000, 100).await.unwrap(), 100);
    assert_eq!(client.getattr(to.inode()).await.unwrap().size, 500_100);

    // A hole: less than its size; none: nothing is said.
    from.flush().await.unwrap();
    assert_eq!(cluster.allocated(from.inode()), None);
    let holes = make(&client, "holes").await;
    holes.write(10_000_000, &[1; 4096]).await.unwrap();
    holes.fsync(false).await.unwrap();
    let allocated = cluster.allocated(holes.inode());
    assert!(allocated.is_some_and(|bytes| (4096..=8192).contains(&bytes)), "{allocated:?}");
    from.fallocate(3, 0, 65_536).await.unwrap();
    from.flush().await.unwrap();
    let allocated = cluster.allocated(from.inode());
    assert!(allocated.is_some_and(|bytes| bytes < 340_000), "{allocated:?}");
    // Zeroing a range beyond the end, with and without growing.
    from.fallocate(0x10 | 1, 390_000, 20_000).await.unwrap();
    assert_eq!(client.getattr(from.inode()).await.unwrap().size, 400_000);
    from.fallocate(0x10, 390_000, 20_000).await.unwrap();
    assert_eq!(client.getattr(from.inode()).await.unwrap().size, 410_000);
    assert_eq!(read(&from, 389_999, 30_000).await, [&data[389_999..390_000], &[0; 20_000][..]].concat());
    cluster.check();
}

/// A small generator: the same work for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// One file, used by either client in turn: each must see everything that was done before.
async fn take_turns(clients: [&Client; 2], name: &str, seed: u64, span: u64) {
    let mut random = Random(seed);
    let first = make(clients[0], name).await;
    let inode = first.inode();
    let mut handles = [first, clients[1].open(inode, OpenOptions::default()).await.unwrap()];
    let mut model: Vec<u8> = Vec::new();
    // Owner, mode, and the time that was set unless it was written since.
    let mut attrs = (0, 0o644, None);
    for step in 0..140 {
        let who = random.below(2) as usize;
        let (client, handle) = (clients[who], &handles[who]);
        let (offset, len) = (random.below(span), random.below(span / 4) as usize + 1);
        let what = format!("{name} seed {seed} step {step} client {who}");
        match random.below(16) {
            0..=3 => {
                attrs.2 = None;
                let data: Vec<u8> = (0..len).map(|i| (i + step * 13) as u8).collect();
                handle.write(offset, &data).await.unwrap();
                let end = offset as usize + len;
                model.resize(model.len().max(end), 0);
                model[offset as usize..end].copy_from_slice(&data);
            }
            4 => {
                attrs.2 = None;
                let at = handle.append(&[step as u8; 300]).await.unwrap();
                assert_eq!(at, model.len() as u64, "{what}");
                model.extend([step as u8; 300]);
            }
            5..=8 => {
                let got = read(handle, offset, len).await;
                let (from, to) = ((offset as usize).min(model.len()), (offset as usize + len).min(model.len()));
                assert!(got == model[from..to], "{what}: read {offset}+{len}");
            }
            9 => {
                attrs.2 = None;
                let set = SetAttr { size: Some(offset), ..SetAttr::default() };
                client.setattr(inode, set).await.unwrap();
                model.resize(offset as usize, 0);
            }
            10 => handle.fsync(false).await.unwrap(),
            11 | 12 => {
                attrs.1 = 0o600 + random.below(64) as u16;
                let set = SetAttr { perm: Some(attrs.1), ..SetAttr::default() };
                assert_eq!(client.setattr(inode, set).await.unwrap().perm, attrs.1, "{what}");
            }
            13 => {
                let time = Time { seconds: 1_000 + step as i64, nanos: 5 };
                (attrs.0, attrs.2) = (step as u32, Some(time));
                let (uid, mtime) = (Some(attrs.0), Some(SetTime::At(time)));
                assert_eq!(
                    client.setattr(inode, SetAttr { uid, mtime, ..SetAttr::default() }).await.unwrap().mtime,
                    time
                );
            }
            _ => {
                let options = OpenOptions { write: random.below(2) == 0, ..OpenOptions::default() };
                handles[who].clone().release().await.unwrap();
                handles[who] = client.open(inode, options).await.unwrap();
            }
        }
        for client in clients {
            let attr = client.getattr(inode).await.unwrap();
            assert_eq!(attr.size, model.len() as u64, "{what}");
            assert_eq!((attr.uid, attr.perm, attrs.2.map(|_| attr.mtime)), attrs, "{what}");
        }
    }
}

#[tokio::test]
async fn two_clients_in_turn_under_all_faults_see_one_file() {
    for seed in 60..62 {
        let cluster = Cluster::new(seed);
        let mut config = cluster.config();
        config.max_dirty_age = Duration::from_millis(20);
        let (one, two) = (cluster.client_with(config.clone()).await, cluster.client_with(config).await);
        cluster.set_faults(crate::fake::Faults {
            lose_request: 20,
            lose_reply: 20,
            twice: 50,
            busy: 20,
            damaged: 20,
            flip_read: 20,
            slow: 100,
            forget_session: 0,
        });
        tokio::time::timeout(Duration::from_secs(60), async {
            tokio::join!(
                take_turns([&one, &two], "inline", seed, 3000),
                take_turns([&two, &one], "spilling", seed + 100, 9000),
                take_turns([&one, &two], "striped", seed + 200, 300_000),
            )
        })
        .await
        .expect("stuck");
        cluster.set_faults(crate::fake::Faults::default());
        one.shutdown().await.unwrap();
        two.shutdown().await.unwrap();
        cluster.check();
    }
}
