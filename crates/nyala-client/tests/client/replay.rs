// SPDX-License-Identifier: Apache-2.0

//! What a metadata server has acknowledged is there after it lost power, as long as the client lives.

use crate::fake::{ROOT, make, read, two, within};
use nyala_client::{Client, OpenOptions};
use nyala_wire::meta::{Owner, Rename, SetAttr};
use nyala_wire::{InodeId, Name, SplitMix64};
use std::collections::BTreeMap;

const WRITE: OpenOptions = OpenOptions { truncate: false, append: false, write: true, buffered: false };

pub fn rename(from: (InodeId, &str), to: (InodeId, &str)) -> Rename {
    let name = |text: &str| Name::new(text.as_bytes()).unwrap();
    let (from_name, to_name) = (name(from.1), name(to.1));
    Rename { from_parent: from.0, from_name, to_parent: to.0, to_name, no_replace: false, exchange: false }
}

#[tokio::test]
async fn names_attributes_sizes_and_small_files_are_there_after_a_power_cut() {
    let (cluster, one, two) = two(201).await;
    let dir = one.mkdir(ROOT, b"dir", 0o755, Owner::default()).await.unwrap().inode;
    let small = make(&one, "small").await;
    small.write(0, b"content").await.unwrap();
    within(small.flush()).await.unwrap();
    let striped = make(&two, "striped").await;
    striped.write(0, &vec![7; 200_000]).await.unwrap();
    within(striped.flush()).await.unwrap();
    let moved = make(&two, "moved").await;
    within(two.rename(rename((ROOT, "moved"), (dir, "here")))).await.unwrap();
    let set = SetAttr { perm: Some(0o700), ..SetAttr::default() };
    within(one.setattr(dir, set)).await.unwrap();
    within(one.symlink(dir, b"link", b"target", Owner::default())).await.unwrap();
    within(make(&one, "gone").await.release()).await.unwrap();
    within(one.unlink(ROOT, b"gone")).await.unwrap();
    cluster.meta_loses_power();
    assert_eq!(within(one.getattr(dir)).await.unwrap().perm, 0o700);
    assert_eq!(within(two.lookup(dir, b"here")).await.unwrap().inode, moved.inode());
    assert_eq!(within(two.getattr(striped.inode())).await.unwrap().size, 200_000);
    assert_eq!(within(read(&small, 0, 10)).await, b"content");
    assert_eq!(within(one.lookup(ROOT, b"gone")).await.unwrap_err().errno(), 2);
    assert!(within(two.lookup(dir, b"link")).await.is_ok());
    for client in [&one, &two] {
        within(client.sync_all()).await.unwrap();
        within(client.fsync_dir(dir)).await.unwrap();
    }
    for file in [&small, &striped, &moved] {
        within(file.fsync(false)).await.unwrap();
    }
    cluster.check();
}

#[tokio::test]
async fn an_unlinked_file_that_is_open_is_there_after_a_power_cut() {
    let (cluster, one, two) = two(202).await;
    let file = make(&one, "file").await;
    file.write(0, b"still here").await.unwrap();
    within(file.flush()).await.unwrap();
    within(two.unlink(ROOT, b"file")).await.unwrap();
    cluster.meta_loses_power();
    assert_eq!(within(two.lookup(ROOT, b"file")).await.unwrap_err().errno(), 2);
    assert_eq!(within(read(&file, 0, 20)).await, b"still here");
    let inode = file.inode();
    within(file.release()).await.unwrap();
    within(one.sync_all()).await.unwrap();
    assert!(!cluster.exists(inode));
    cluster.check();
}

fn runs(bytes: &[u8]) -> Vec<(u8, usize)> {
    let mut found: Vec<(u8, usize)> = Vec::new();
    for byte in bytes {
        match found.last_mut() {
            Some((last, count)) if last == byte => *count += 1,
            _ => found.push((*byte, 1)),
        }
    }
    found
}

#[tokio::test]
async fn a_server_that_cannot_take_it_goes_on_and_the_loss_is_told() {
    let (cluster, one, two) = two(203).await;
    let file = make(&one, "file").await;
    within(file.fsync(false)).await.unwrap();
    let before = within(one.getattr(file.inode())).await.unwrap().perm;
    within(one.setattr(file.inode(), SetAttr { perm: Some(0o700), ..SetAttr::default() })).await.unwrap();
    cluster.0.lock().accidents.no_memory_for_replays = true;
    cluster.meta_loses_power();
    assert_eq!(within(two.getattr(file.inode())).await.unwrap().perm, before);
    assert_eq!(within(file.fsync(false)).await.unwrap_err().errno(), 5);
    within(file.fsync(false)).await.unwrap();
}

#[tokio::test]
async fn a_client_whose_session_was_opened_by_a_run_that_it_never_heard_of_is_not_waited_for() {
    let (cluster, one, two) = two(204).await;
    within(make(&one, "file").await.release()).await.unwrap();
    cluster.0.lock().accidents.cut_openings = 1;
    let three = within(cluster.client()).await;
    within(three.lookup(ROOT, b"file")).await.unwrap();
    for (client, name) in [(&one, "one"), (&two, "two"), (&three, "three")] {
        within(client.mkdir(ROOT, name.as_bytes(), 0o755, Owner::default())).await.unwrap();
    }
    cluster.check();
}

/// What files of a client's own should hold.
#[derive(Default)]
struct Own {
    files: BTreeMap<String, (InodeId, Vec<u8>)>,
    made: usize,
    history: Vec<String>,
}

impl Own {
    async fn step(&mut self, client: &Client, me: usize, random: &mut SplitMix64) {
        let at = random.bits() as usize % self.files.len().max(1);
        let known = self.files.iter().nth(at).map(|(name, (inode, _))| (name.clone(), *inode));
        let fresh = format!("c{me}-{}", self.made);
        let what = random.bits() % 6;
        self.history.push(format!("{what} {known:?} {fresh}"));
        match (what, known) {
            (0 | 1, _) | (_, None) => {
                self.made += 1;
                let file = make(client, &fresh).await;
                let len = if random.bits().is_multiple_of(4) { 70_000 } else { random.bits() as usize % 3_000 };
                let content = vec![random.bits() as u8; len];
                within(file.write(0, &content)).await.unwrap();
                let inode = file.inode();
                within(file.release()).await.unwrap();
                self.files.insert(fresh, (inode, content));
            }
            (2, Some((name, _))) => {
                self.made += 1;
                within(client.rename(rename((ROOT, &name), (ROOT, &fresh)))).await.unwrap();
                let file = self.files.remove(&name).unwrap();
                self.files.insert(fresh, file);
            }
            (3, Some((name, _))) => {
                within(client.unlink(ROOT, name.as_bytes())).await.unwrap();
                self.files.remove(&name);
            }
            (4, Some((name, inode))) => {
                let file = within(client.open(inode, WRITE)).await.unwrap();
                let content = &mut self.files.get_mut(&name).unwrap().1;
                let offset = random.bits() as usize % (content.len() + 1);
                content.truncate(offset.max(content.len().saturating_sub(50)));
                let size = Some(content.len() as u64);
                within(client.setattr(inode, SetAttr { size, ..SetAttr::default() })).await.unwrap();
                let end = content.len();
                content.extend([random.bits() as u8; 40]);
                within(file.write(end as u64, &content[end..])).await.unwrap();
                within(file.flush()).await.unwrap();
                within(file.release()).await.unwrap();
            }
            (_, Some((name, inode))) => {
                let file = within(client.open(inode, WRITE)).await.unwrap();
                let content = &self.files[&name].1;
                let found = within(read(&file, 0, content.len() + 100)).await;
                assert!(
                    found == *content,
                    "{name} {inode}: {} {:?} {} {:?} {:?}",
                    found.len(),
                    runs(&found),
                    content.len(),
                    runs(content),
                    self.history
                );
                within(file.release()).await.unwrap();
            }
        }
    }

    async fn check(&self, reader: &Client, all: &[Vec<u8>]) {
        for (name, (inode, content)) in &self.files {
            let entry = within(reader.lookup(ROOT, name.as_bytes())).await.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(entry.inode, *inode, "{name}");
            let file = within(reader.open(*inode, WRITE)).await.unwrap();
            assert!(within(read(&file, 0, content.len() + 100)).await == *content, "{name}");
            within(file.release()).await.unwrap();
            assert!(all.contains(&name.as_bytes().to_vec()), "{name} is not listed");
        }
    }
}

/// Two clients change files; the server loses power again and again, with all that no sync asked for.
#[tokio::test]
async fn nothing_that_a_living_client_was_told_is_taken_back_by_power_cuts() {
    for seed in 0..4 {
        let (cluster, one, two) = two(300 + seed).await;
        let mut random = SplitMix64::new(seed);
        let mut own = [Own::default(), Own::default()];
        for step in 0..120 {
            let me = random.bits() as usize % 2;
            own[me].step([&one, &two][me], me, &mut random).await;
            if step % 9 == 8 {
                cluster.meta_loses_power();
            }
        }
        within(one.sync_all()).await.unwrap();
        within(two.sync_all()).await.unwrap();
        let listed = within(names(&one)).await;
        own[0].check(&two, &listed).await;
        own[1].check(&one, &listed).await;
        assert_eq!(listed.len(), own[0].files.len() + own[1].files.len());
        cluster.check();
    }
}

async fn names(client: &Client) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut after = 0;
    loop {
        let listing = client.readdir(ROOT, after, 100, false).await.unwrap();
        all.extend(listing.entries.iter().map(|entry| entry.name.as_bytes().to_vec()));
        after = listing.entries.last().map_or(after, |entry| entry.cookie);
        if listing.end {
            return all;
        }
    }
}
