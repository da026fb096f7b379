// SPDX-License-Identifier: Apache-2.0

//! Several clients of one cluster, one operation after the other, each by any of them: every result is what one client
//! on one machine would have seen.

use super::harness::Cluster;
use super::{OWNER, rename, two_directories};
use nyala_client::{Client, FileHandle, OpenOptions};
use nyala_wire::meta::{Rename, SetAttr};
use nyala_wire::{ErrorCode, InodeId, SplitMix64};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const CLIENTS: usize = 3;
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// What there has to be.
#[derive(Default)]
struct Model {
    names: BTreeMap<(InodeId, &'static str), InodeId>,
    content: HashMap<InodeId, Vec<u8>>,
}

impl Model {
    fn nlink(&self, inode: InodeId) -> u32 {
        self.names.values().filter(|named| **named == inode).count() as u32
    }
}

struct Run {
    clients: Vec<Client>,
    dirs: Vec<InodeId>,
    model: Model,
    open: Vec<(usize, FileHandle)>,
    /// What is looked up is mostly opened, too.
    opens: bool,
    random: SplitMix64,
    said: String,
}

impl Run {
    fn say(&mut self, what: String) {
        self.said = what;
        if std::env::var_os("NYALA_TRACE").is_some() {
            eprintln!("{}", self.said);
        }
    }

    async fn step(&mut self) {
        let who = self.random.index(CLIENTS);
        let client = self.clients[who].clone();
        let dir = self.dirs[self.random.index(2)];
        let name = NAMES[self.random.index(NAMES.len())];
        let there = self.model.names.get(&(dir, name)).copied();
        let op = self.random.index(13);
        self.say(format!("client {who} op {op} on {dir}/{name} = {there:?}"));
        match op {
            0 => {
                let made = client.create(dir, name.as_bytes(), 0o644, OWNER, true).await;
                match there {
                    Some(_) => assert!(made.err().is_some_and(|error| error.is(ErrorCode::EXISTS))),
                    None => {
                        let (attr, handle) = made.unwrap();
                        self.model.names.insert((dir, name), attr.inode);
                        self.model.content.insert(attr.inode, Vec::new());
                        self.open.push((who, handle));
                    }
                }
            }
            1 => {
                let gone = client.unlink(dir, name.as_bytes()).await;
                match there {
                    None => assert!(gone.unwrap_err().is(ErrorCode::NOT_FOUND)),
                    Some(_) => {
                        gone.unwrap();
                        self.model.names.remove(&(dir, name));
                    }
                }
            }
            2 => self.rename(&client, dir, name, there).await,
            3 => {
                let (to, to_name) = (self.dirs[self.random.index(2)], NAMES[self.random.index(NAMES.len())]);
                let Some(inode) = there else { return };
                let linked = client.link(inode, to, to_name.as_bytes()).await;
                match self.model.names.entry((to, to_name)) {
                    Entry::Occupied(_) => assert!(linked.unwrap_err().is(ErrorCode::EXISTS)),
                    Entry::Vacant(free) => {
                        free.insert(inode);
                        assert_eq!(linked.unwrap().nlink, self.model.nlink(inode));
                    }
                }
            }
            4 => {
                if let Some(inode) = there {
                    let handle = client.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await;
                    self.open.push((who, handle.unwrap()));
                }
            }
            5 | 8 | 10..13 if self.opens && there.is_some() => self.look(&client, dir, name).await,
            5 if !self.open.is_empty() => {
                let at = self.random.index(self.open.len());
                self.open.swap_remove(at).1.release().await.unwrap();
            }
            6 | 7 if !self.open.is_empty() => self.write().await,
            8 if !self.open.is_empty() => self.read().await,
            9 => {
                let size = self.random.index(9000) as u64;
                let Some(inode) = there else { return };
                client.setattr(inode, SetAttr { size: Some(size), ..SetAttr::default() }).await.unwrap();
                self.model.content.get_mut(&inode).unwrap().resize(size as usize, 0);
            }
            10 => {
                let names = super::names(&client, dir).await;
                let expected = self.model.names.keys().filter(|key| key.0 == dir).map(|key| key.1.to_owned());
                assert_eq!(names, expected.collect::<BTreeSet<_>>());
            }
            _ => match (client.lookup(dir, name.as_bytes()).await, there) {
                (Ok(attr), Some(inode)) => {
                    assert_eq!(attr.inode, inode);
                    assert_eq!(attr.nlink, self.model.nlink(inode));
                    assert_eq!(attr.size, self.model.content[&inode].len() as u64);
                }
                (Err(error), None) => assert!(error.is(ErrorCode::NOT_FOUND)),
                (found, there) => panic!("{found:?} where {there:?} has to be"),
            },
        }
    }

    /// Looks a name up, opens what is there, and reads all of it.
    async fn look(&mut self, client: &Client, dir: InodeId, name: &'static str) {
        let attr = client.lookup(dir, name.as_bytes()).await.unwrap();
        assert_eq!(Some(&attr.inode), self.model.names.get(&(dir, name)));
        let handle = client.open(attr.inode, OpenOptions::default()).await.unwrap();
        let (got, expected) = (handle.read(0, 1 << 20).await.unwrap().concat(), &self.model.content[&attr.inode]);
        assert!(got == *expected, "{}: {} bytes, not {}; or others", self.said, got.len(), expected.len());
        handle.release().await.unwrap();
    }

    async fn rename(&mut self, client: &Client, dir: InodeId, name: &'static str, there: Option<InodeId>) {
        let (to, to_name) = (self.dirs[self.random.index(2)], NAMES[self.random.index(NAMES.len())]);
        let exchange = self.random.index(3) == 0;
        let replaced = self.model.names.get(&(to, to_name)).copied();
        let moved = client.rename(Rename { exchange, ..rename((dir, name), (to, to_name)) }).await;
        let (Some(inode), true) = (there, replaced.is_some() || !exchange) else {
            assert!(moved.unwrap_err().is(ErrorCode::NOT_FOUND));
            return;
        };
        moved.unwrap();
        if replaced != Some(inode) {
            match replaced.filter(|_| exchange) {
                Some(replaced) => drop(self.model.names.insert((dir, name), replaced)),
                None => drop(self.model.names.remove(&(dir, name))),
            }
            self.model.names.insert((to, to_name), inode);
        }
    }

    async fn write(&mut self) {
        let at = self.random.index(self.open.len());
        let (offset, len) = (self.random.index(12_000), 1 + self.random.index(6000));
        let data = vec![1 + self.random.index(255) as u8; len];
        let (who, handle) = &self.open[at];
        let content = self.model.content.get_mut(&handle.inode()).unwrap();
        let append = offset % 3 == 0;
        let said = format!("client {who} writes {} {len} at {offset} (append {append})", handle.inode());
        let offset = if append { content.len() } else { offset };
        if append {
            assert_eq!(handle.append(&data).await.unwrap(), offset as u64);
        } else {
            assert_eq!(handle.write(offset as u64, &data).await.unwrap(), len);
        }
        content.resize(content.len().max(offset + len), 0);
        content[offset..offset + len].copy_from_slice(&data);
        self.say(said);
    }

    async fn read(&mut self) {
        let at = self.random.index(self.open.len());
        let (offset, len) = (self.random.index(12_000), 1 + self.random.index(9000));
        let (who, handle) = &self.open[at];
        let content = &self.model.content[&handle.inode()];
        let said = format!("client {who} reads {} {len} at {offset}", handle.inode());
        let got = handle.read(offset as u64, len).await.unwrap().concat();
        let expected = &content[offset.min(content.len())..(offset + len).min(content.len())];
        assert!(got == expected, "{said}: {} bytes, not {}; or others", got.len(), expected.len());
        self.say(said);
    }
}

fn run(opens: bool) {
    let seed = std::env::var("NYALA_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in seed.map_or(1..3, |seed| seed..seed + 1) {
        Cluster::start().run_clients(CLIENTS, |clients| async move {
            let (a, b) = two_directories(&clients[0]).await;
            let mut run = Run {
                clients,
                dirs: vec![a, b],
                model: Model::default(),
                open: Vec::new(),
                opens,
                random: SplitMix64::new(seed),
                said: String::new(),
            };
            for step in 0..1500 {
                let limit = std::time::Duration::from_secs(20);
                if tokio::time::timeout(limit, run.step()).await.is_err() {
                    panic!("seed {seed}: step {step} hangs: {}", run.said);
                }
                if run.open.len() > 6 {
                    let at = run.random.index(run.open.len());
                    run.open.swap_remove(at).1.release().await.unwrap();
                }
            }
            for (_, handle) in run.open {
                handle.release().await.unwrap();
            }
        });
    }
}

#[test]
fn every_client_sees_what_every_other_did() {
    run(false);
}

#[test]
fn content_that_comes_with_a_look_up_is_what_every_other_wrote() {
    run(true);
}

#[test]
fn a_small_file_is_looked_up_opened_read_and_closed_with_one_request() {
    Cluster::start().run_clients(3, |clients| async move {
        let (maker, before, reader) = (&clients[0], &clients[1], &clients[2]);
        let (a, _) = two_directories(maker).await;
        let name = |n: u8| format!("f{n}");
        for n in 0..40_u8 {
            let handle = maker.create(a, name(n).as_bytes(), 0o644, OWNER, true).await.unwrap().1;
            // The last ones are on storage targets.
            let len = if n < 35 { 1000 } else { 100_000 };
            handle.write(0, &vec![n; len]).await.unwrap();
            handle.release().await.unwrap();
        }
        let look = async |reader: &Client, n: u8| {
            let inode = reader.lookup(a, name(n).as_bytes()).await.unwrap().inode;
            let handle = reader.open(inode, OpenOptions::default()).await.unwrap();
            let data = handle.read(0, 200_000).await.unwrap().concat();
            assert!(data.len() % 1000 == 0 && !data.is_empty() && data.iter().all(|byte| *byte == n), "{n}");
            handle.release().await.unwrap();
        };
        // Whoever made them lets go of the right to write.
        for n in 0..40 {
            look(before, n).await;
        }
        for n in 0..5 {
            look(reader, n).await;
        }
        let before = reader.stats().meta_requests;
        for n in 5..40 {
            look(reader, n).await;
        }
        // Some for what goes on by itself.
        let requests = reader.stats().meta_requests - before;
        assert!((35..45).contains(&requests), "{requests} requests for 35 files");
    });
}

/// What a client knows of one name only must not decide what it believes of the other.
#[test]
fn exchanged_and_linked_names_are_true_where_only_one_of_them_was_known() {
    Cluster::start().run_clients(2, |clients| async move {
        let (one, two) = (&clients[0], &clients[1]);
        let (a, b) = two_directories(one).await;
        let make = async |dir, name: &str| {
            let (attr, handle) = two.create(dir, name.as_bytes(), 0o644, OWNER, true).await.unwrap();
            handle.release().await.unwrap();
            attr.inode
        };
        let (x, y) = (make(a, "x").await, make(b, "y").await);
        let is =
            async |dir, name: &str| one.lookup_entry(dir, name.as_bytes()).await.unwrap().attr.map(|attr| attr.inode);
        assert_eq!(is(a, "x").await, Some(x));
        assert_eq!(is(b, "z").await, None, "takes a delegation of the directory, says nothing of y");
        one.rename(Rename { exchange: true, ..rename((a, "x"), (b, "y")) }).await.unwrap();
        assert_eq!((is(a, "x").await, is(b, "y").await), (Some(y), Some(x)));

        // Two names of one inode: neither goes.
        two.link(x, a, b"again").await.unwrap();
        assert_eq!(is(b, "y").await, Some(x));
        assert_eq!(is(a, "none").await, None);
        one.rename(rename((b, "y"), (a, "again"))).await.unwrap();
        assert_eq!((is(b, "y").await, is(a, "again").await), (Some(x), Some(x)));
    });
}
