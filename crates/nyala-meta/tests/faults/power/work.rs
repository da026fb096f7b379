// SPDX-License-Identifier: Apache-2.0

//! Sequences of operations, done by a client that is told of each end.

use crate::power::cluster::STORAGE;
use crate::power::history::{History, NAMES, Seen, Shot};
use nyala_client::types::Destination;
use nyala_client::{Client, Error, FileHandle, OpenOptions};
use nyala_store::testing::Clock;
use nyala_wire::InodeId;
use nyala_wire::meta::{Owner, Rename, SetAttr};
use nyala_wire::{Attr, ErrorCode, Name, StripePattern};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

const ROOT: InodeId = InodeId::ROOT;
const OWNER: Owner = Owner { uid: 0, gid: 0 };
const PUNCH_HOLE: i32 = 3;

/// What there is before a sequence begins, synced.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    Nothing,
    Small,
    Large,
}

pub const STARTS: [Start; 3] = [Start::Nothing, Start::Small, Start::Large];

/// What is done to the file, which is made first if it is not there.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// A few bytes near the beginning.
    Small,
    /// So much that content moves from metadata to storage.
    Large,
    /// So much behind the end.
    Append,
    Shrink,
    Grow,
    Punch,
    Unlink,
    /// A synced small file is renamed over it.
    ReplaceBySmall,
    ReplaceByLarge,
    Sync,
    /// Its data moves to other targets or other names.
    MoveData,
}

pub const OPS: [Op; 11] = [
    Op::Small,
    Op::Large,
    Op::Append,
    Op::Shrink,
    Op::Grow,
    Op::Punch,
    Op::Unlink,
    Op::ReplaceBySmall,
    Op::ReplaceByLarge,
    Op::Sync,
    Op::MoveData,
];

/// A client at work, and what it has done.
pub struct Worker {
    client: Client,
    clock: Clock,
    pub history: History,
    /// Every write has bytes of its own.
    next: u8,
}

impl Worker {
    pub async fn start(client: Client, clock: Clock, start: Start) -> Worker {
        let first =
            Shot { what: "start".into(), moment: 0, names: BTreeMap::new(), contents: Vec::new(), synced: Vec::new() };
        let mut worker = Worker { client, clock, history: History(vec![first]), next: 0 };
        match start {
            Start::Nothing => worker.client.fsync_dir(ROOT).await.unwrap(),
            Start::Small => worker.put(NAMES[0], 700).await,
            Start::Large => worker.put(NAMES[0], 150_000).await,
        }
        let mut shot = worker.history.now().clone();
        shot.what = format!("start {start:?}");
        worker.history = History(vec![shot]);
        worker
    }

    /// Remembers that a step is done.
    fn done(&mut self, what: String, change: impl FnOnce(&mut Shot)) {
        let mut shot = Shot { what, synced: Vec::new(), ..self.history.now().clone() };
        change(&mut shot);
        shot.moment = self.clock.load(Ordering::SeqCst);
        self.history.0.push(shot);
    }

    async fn open(&mut self, name: &'static str) -> (FileHandle, usize) {
        if let Some(file) = self.history.now().names.get(name) {
            let file = *file;
            let inode = self.client.lookup(ROOT, name.as_bytes()).await.unwrap().inode;
            return (self.client.open(inode, OpenOptions::default()).await.unwrap(), file);
        }
        let (_, handle) = self.client.create(ROOT, name.as_bytes(), 0o644, OWNER, true).await.unwrap();
        let file = self.history.now().contents.len();
        self.done(format!("create {name}"), |shot| {
            shot.contents.push(Vec::new());
            shot.names.insert(name, file);
        });
        (handle, file)
    }

    async fn write(&mut self, name: &'static str, at: impl FnOnce(usize) -> usize, len: usize) {
        let (handle, file) = self.open(name).await;
        let at = at(self.history.now().contents[file].len());
        self.next += 1;
        let byte = self.next;
        handle.write(at as u64, &vec![byte; len]).await.unwrap();
        self.done(format!("write {name} {at}+{len}"), |shot| {
            let content = &mut shot.contents[file];
            content.resize(content.len().max(at + len), 0);
            content[at..at + len].fill(byte);
        });
        handle.release().await.unwrap();
    }

    async fn set_size(&mut self, size: impl FnOnce(usize) -> usize) {
        let (handle, file) = self.open(NAMES[0]).await;
        let size = size(self.history.now().contents[file].len());
        let set = SetAttr { size: Some(size as u64), ..SetAttr::default() };
        self.client.setattr(handle.inode(), set).await.unwrap();
        self.done(format!("truncate {size}"), |shot| shot.contents[file].resize(size, 0));
        handle.release().await.unwrap();
    }

    async fn punch(&mut self) {
        let (handle, file) = self.open(NAMES[0]).await;
        let len = self.history.now().contents[file].len();
        let (from, to) = (len / 4, len / 2);
        if to > from {
            handle.fallocate(PUNCH_HOLE, from as u64, (to - from) as u64).await.unwrap();
        }
        self.done(format!("punch {from}..{to}"), |shot| shot.contents[file][from..to].fill(0));
        handle.release().await.unwrap();
    }

    async fn sync(&mut self, name: &'static str) {
        let (handle, file) = self.open(name).await;
        handle.fsync(false).await.unwrap();
        self.done(format!("sync {name}"), |shot| shot.synced.push(file));
        handle.release().await.unwrap();
    }

    /// To both targets, to one, or away from one. All of the file is on disk then, and where its data is.
    async fn move_data(&mut self) {
        let (handle, file) = self.open(NAMES[0]).await;
        let inode = handle.inode();
        // Nobody has it open while it is moved.
        handle.release().await.unwrap();
        let usual = self.client.map().settings.default_pattern;
        let (num_targets, avoid) = match self.history.0.len() % 3 {
            0 => (2, Vec::new()),
            1 => (1, Vec::new()),
            _ => (1, vec![STORAGE[self.history.0.len() % 2]]),
        };
        let to = Destination { pattern: StripePattern { num_targets, ..usual }, avoid };
        let (_, now) = self.client.move_data(inode, &to, |_| {}).await.unwrap();
        self.done(format!("move to {now:?}"), |shot| shot.synced.push(file));
    }

    async fn put(&mut self, name: &'static str, len: usize) {
        self.write(name, |_| 0, len).await;
        self.sync(name).await;
    }

    async fn replace(&mut self, len: usize) {
        let [file, new] = NAMES;
        self.put(new, len).await;
        let [from_name, to_name] = [new, file].map(|name| Name::new(name.as_bytes()).unwrap());
        let (from_parent, to_parent) = (ROOT, ROOT);
        let rename = Rename { from_parent, from_name, to_parent, to_name, no_replace: false, exchange: false };
        self.client.rename(rename).await.unwrap();
        self.done("rename over".into(), |shot| {
            let moved = shot.names.remove(new).expect("it was made");
            shot.names.insert(file, moved);
        });
    }

    pub async fn run(&mut self, op: Op) {
        match op {
            Op::Small => self.write(NAMES[0], |_| 100, 300).await,
            Op::Large => self.write(NAMES[0], |_| 0, 100_000).await,
            Op::Append => self.write(NAMES[0], |end| end, 70_000).await,
            Op::Shrink => self.set_size(|size| size / 3).await,
            Op::Grow => self.set_size(|size| size + 20_000).await,
            Op::Punch => self.punch().await,
            Op::Unlink if self.history.now().names.contains_key(NAMES[0]) => {
                self.client.unlink(ROOT, NAMES[0].as_bytes()).await.unwrap();
                self.done("unlink".into(), |shot| {
                    shot.names.remove(NAMES[0]);
                });
            }
            Op::Unlink => {}
            Op::ReplaceBySmall => self.replace(900).await,
            Op::ReplaceByLarge => self.replace(80_000).await,
            Op::Sync => self.sync(NAMES[0]).await,
            Op::MoveData => self.move_data().await,
        }
    }
}

async fn content(client: &Client, inode: InodeId) -> Result<Vec<u8>, Error> {
    let size = client.getattr(inode).await?.size;
    let handle = client.open(inode, OpenOptions::default()).await?;
    let pieces = handle.read(0, size as usize).await?;
    handle.release().await?;
    Ok(pieces.concat())
}

/// What a client finds, and whether it can work with it.
pub async fn look(client: &Client) -> Seen {
    let mut seen = Seen::new();
    for name in NAMES {
        let found = match client.lookup(ROOT, name.as_bytes()).await {
            Ok(attr) => {
                let read = content(client, attr.inode).await;
                read.map(|read| (read.len() as u64 == attr.size).then_some(read)).map_err(|error| format!("{error:?}"))
            }
            Err(error) if error.code() == ErrorCode::NOT_FOUND => continue,
            Err(error) => Err(format!("look-up: {error:?}")),
        };
        let found = found.and_then(|found| found.ok_or_else(|| "shorter than its size".to_owned()));
        seen.insert(name, found);
    }
    let listing = client.readdir(ROOT, 0, 100, false).await.map(|listing| listing.entries.len());
    if !matches!(listing, Ok(count) if count == seen.len()) {
        seen.insert("listing", Err(format!("{listing:?} entries")));
    }
    if let Err(error) = goes_on(client).await {
        seen.insert("going on", Err(error));
    }
    seen
}

/// Grows each file that is there, writes far behind its old end and syncs it: what lies between reads as zeros, whatever was
/// written there before the power cut and came to nothing.
async fn goes_on(client: &Client) -> Result<(), String> {
    for name in NAMES {
        let Ok(attr) = client.lookup(ROOT, name.as_bytes()).await else { continue };
        let told = |error: Error| format!("{name}: {error:?}");
        let mut wanted = content(client, attr.inode).await.map_err(told)?;
        grow(client, &attr, wanted.len() + 180_000).await.map_err(told)?;
        wanted.resize(wanted.len() + 180_000, 0);
        wanted.extend(b"more");
        wanted.resize(wanted.len() + 20_000, 0);
        let now = content(client, attr.inode).await.map_err(told)?;
        let wrong = now.iter().zip(&wanted).position(|(now, wanted)| now != wanted);
        if now.len() != wanted.len() || wrong.is_some() {
            return Err(format!(
                "{name} of {} bytes, grown to {}, is wrong from byte {wrong:?} on",
                attr.size,
                now.len()
            ));
        }
        client.unlink(ROOT, name.as_bytes()).await.map_err(told)?;
    }
    Ok(())
}

async fn grow(client: &Client, attr: &Attr, behind: usize) -> Result<(), Error> {
    let handle = client.open(attr.inode, OpenOptions::default()).await?;
    let set = SetAttr { size: Some(behind as u64 + 20_004), ..SetAttr::default() };
    client.setattr(attr.inode, set).await?;
    handle.write(behind as u64, b"more").await?;
    handle.fsync(false).await?;
    handle.release().await
}
