// SPDX-License-Identifier: Apache-2.0

//! A client at work: random operations on what all clients share, each said to the ledger before it begins and when it is done.

use super::errors::{is, tells_damage};
use super::setup::{CODED, DIRS, FILES, OWNER, PLAIN, client_config};
use super::{cells, data_moves, names};
use crate::check::append::{RECORD, word};
use crate::check::exclusive::LATE;
use crate::check::names::{NAMES, Op, Outcome};
use crate::check::{ClientId, ledger};
use crate::random::Random;
use nyala_client::{Client, Error, FileHandle, OpenOptions};
use nyala_wire::meta::{FileLock, LockKind, Rename};
use nyala_wire::{ErrorCode, InodeId, Name};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// Lengths of files that are replaced as a whole.
const WHOLE: [usize; 2] = [640, 80_000];
/// The same of one of those in a directory whose files are to be encoded: two whole stripes and a part of one.
const WHOLE_CODED: usize = 300_000;

/// What clients do, each so often; the last one only in runs in which files' data is moved.
const OPERATIONS: [(usize, &str); 14] = [
    (5, "write"),
    (4, "read"),
    (2, "sync"),
    (1, "truncate"),
    (1, "link"),
    (2, "append"),
    (1, "read-log"),
    (1, "replace"),
    (1, "read-name"),
    (1, "make"),
    (1, "list"),
    (1, "lock"),
    (3, "name"),
    (3, "move-data"),
];
/// Between two operations of a client, at most.
const PAUSE_MS: u64 = 500;

/// One life of a client.
pub struct Worker {
    pub(super) id: ClientId,
    pub(super) client: Client,
    pub(super) random: Random,
    pub(super) dirs: Vec<InodeId>,
    handles: BTreeMap<(usize, &'static str), FileHandle>,
    /// By directory: a file that it has made or looked up last.
    seen: BTreeMap<usize, InodeId>,
}

/// The simulated time.
fn now() -> u64 {
    crate::kernel::with(|kernel| kernel.sched.now)
}

/// What came of an operation.
pub type Done = Result<(), Error>;

/// How long a file is that takes the place of another one.
fn whole_bytes(dir: usize, stamp: u64) -> usize {
    let coded = DIRS[dir] == CODED && ledger(|ledger| ledger.data_moves.are_coded);
    if coded && stamp % 2 == 1 { WHOLE_CODED } else { WHOLE[stamp as usize % 2] }
}

impl Worker {
    pub async fn begin(id: ClientId, mgmt: &[SocketAddr], random: Random) -> Result<Worker, Error> {
        let client = Client::connect(client_config(mgmt, &format!("client{id}"))).await?;
        let mut dirs = Vec::new();
        for dir in DIRS {
            dirs.push(client.lookup(InodeId::ROOT, dir.as_bytes()).await?.inode);
        }
        Ok(Worker { id, client, random, dirs, handles: BTreeMap::new(), seen: BTreeMap::new() })
    }

    /// Another program of the same client.
    pub fn other_program(&mut self) -> Worker {
        let (client, dirs) = (self.client.clone(), self.dirs.clone());
        Worker {
            id: self.id + 1,
            client,
            random: self.random.fork(),
            dirs,
            handles: BTreeMap::new(),
            seen: BTreeMap::new(),
        }
    }

    /// As many operations as are left of so many at its place. Those are left out that there is not to be; each has chance of its own,
    /// so that the others are what they are without it.
    pub async fn run(&mut self, place: u64, operations: u64, has: impl Fn(u64) -> bool) {
        loop {
            let number = ledger(|ledger| ledger.next_operation(place));
            if number >= operations {
                break;
            }
            let mut after = self.random.fork();
            if has(number) {
                self.step().await;
            }
            tokio::time::sleep(Duration::from_millis(after.below(PAUSE_MS))).await;
            self.random = after;
        }
        self.close_all().await;
    }

    /// The client ends, once all its programs have.
    pub async fn end(self) -> Done {
        self.client.shutdown().await
    }

    async fn close_all(&mut self) {
        for handle in std::mem::take(&mut self.handles).into_values() {
            let released = handle.release().await;
            self.judge_error("release", released);
        }
    }

    async fn step(&mut self) {
        let dir = self.random.index(self.dirs.len());
        let data_moves = ledger(|ledger| ledger.data_moves.are_made);
        let operations = &OPERATIONS[..OPERATIONS.len() - usize::from(!data_moves)];
        let all = operations.iter().flat_map(|(times, what)| vec![*what; *times]);
        let what = *self.random.pick(&all.collect::<Vec<_>>());
        ledger(|ledger| ledger.waits.begin(self.id, what, now()));
        let done = match what {
            "write" => cells::write(self, dir).await,
            "read" => cells::read(self, dir).await,
            "sync" => self.sync(dir).await,
            "truncate" => cells::truncate(self, dir).await,
            "link" => cells::link(self, dir).await,
            "append" => self.append(dir).await,
            "read-log" => self.read_log(dir).await,
            "replace" => self.replace(dir).await,
            "read-name" => self.read_name(dir).await,
            "make" => self.make(dir).await,
            "list" => self.list(dir).await,
            "lock" => self.lock(dir).await,
            "move-data" => data_moves::one(self, dir).await,
            _ => self.name(dir).await,
        };
        tracing::debug!("client {}: {what} in {} is done: {}", self.id, DIRS[dir], done.is_ok());
        // What others have open is not moved.
        if data_moves && !self.random.one_in(3) {
            self.close_all().await;
        }
        let now = now();
        ledger(|ledger| {
            ledger.count(what);
            ledger.waits.end(self.id);
            ledger.doubt(self.id, now);
        });
        self.judge_error(what, done);
    }

    /// What was not synced may be gone, if an error says so.
    fn judge_error(&mut self, what: &str, done: Done) {
        if let Err(error) = done {
            tracing::info!("client {}: {what}: {error}", self.id);
            ledger(|ledger| {
                if tells_damage(&error) {
                    ledger.told_of_damage(&format!("client {}: {what}: {error}", self.id), now());
                }
                ledger.count(&format!("{what} failed: {}", error.code()));
                ledger.told_of_loss(self.id, now());
            });
            self.handles.clear();
        }
    }

    pub(super) async fn handle(&mut self, dir: usize, name: &'static str) -> Result<FileHandle, Error> {
        if let Some(handle) = self.handles.get(&(dir, name)) {
            return Ok(handle.clone());
        }
        let inode = self.client.lookup(self.dirs[dir], name.as_bytes()).await?.inode;
        let options = OpenOptions { append: name == "log", write: true, ..OpenOptions::default() };
        let handle = self.client.open(inode, options).await?;
        self.handles.insert((dir, name), handle.clone());
        Ok(handle)
    }

    async fn sync(&mut self, dir: usize) -> Done {
        let name = *self.random.pick(&["small", "large", "wide", "log"]);
        let handle = self.handle(dir, name).await?;
        let from = ledger(|ledger| ledger.tick());
        handle.fsync(false).await?;
        let file = format!("{}/{name}", DIRS[dir]);
        tracing::debug!("client {}: has synced {file} as of {from}", self.id);
        ledger(|ledger| {
            ledger.tick();
            ledger.tell_synced();
            let of = ledger.registers.iter_mut().filter(|((known, _), _)| *known == file);
            of.for_each(|(_, register)| register.synced(self.id, from));
            if name == "log" {
                ledger.appended.entry(file).or_default().synced(self.id, from);
            }
        });
        Ok(())
    }

    async fn append(&mut self, dir: usize) -> Done {
        let handle = self.handle(dir, "log").await?;
        let file = format!("{}/log", DIRS[dir]);
        let stamp = ledger(|ledger| {
            let now = ledger.tick();
            ledger.appended.entry(file.clone()).or_default().begin(self.id, now);
            now
        });
        handle.append(&stamp.to_le_bytes().repeat(RECORD / 8)).await?;
        ledger(|ledger| {
            let now = ledger.tick();
            ledger.appended.entry(file).or_default().done(stamp, now);
        });
        Ok(())
    }

    async fn read_log(&mut self, dir: usize) -> Done {
        let handle = self.handle(dir, "log").await?;
        let from = ledger(|ledger| ledger.tick());
        let content = handle.read(0, 1 << 20).await?.concat();
        let file = format!("{}/log", DIRS[dir]);
        ledger(|ledger| {
            let wrong = ledger.appended.entry(file.clone()).or_default().judge(&content, from);
            let wrong = wrong.map(|wrong| format!("client {} reads {file}: {wrong}", self.id));
            ledger.found("records are there whole, once, in order", wrong);
        });
        Ok(())
    }

    /// A new file, synced, takes the place of an old one.
    async fn replace(&mut self, dir: usize) -> Done {
        let (at, temporary) = (self.dirs[dir], format!("new{}", self.id));
        match self.client.unlink(at, temporary.as_bytes()).await {
            Err(error) if !is(&error, ErrorCode::NOT_FOUND) => return Err(error),
            _ => {}
        }
        let (_, handle) = self.client.create(at, temporary.as_bytes(), 0o644, OWNER, true).await?;
        let file = (format!("{}/name", DIRS[dir]), 0);
        let stamp = ledger(|ledger| ledger.tick());
        self.write_whole(&handle, dir, stamp).await?;
        handle.release().await?;
        let name = |name: &str| Name::new(name.as_bytes()).expect("a short name without a slash");
        let rename = Rename {
            from_parent: at,
            from_name: name(&temporary),
            to_parent: at,
            to_name: name("name"),
            no_replace: false,
            exchange: false,
        };
        ledger(|ledger| {
            let now = ledger.tick();
            ledger.registers.entry(file.clone()).or_default().begin(self.id, stamp, now);
        });
        self.client.rename(rename).await?;
        ledger(|ledger| {
            let now = ledger.tick();
            ledger.registers.entry(file.clone()).or_default().done(self.id, now);
        });
        if self.random.one_in(2) {
            let from = ledger(|ledger| ledger.tick());
            self.client.fsync_dir(at).await?;
            ledger(|ledger| {
                ledger.tell_synced();
                ledger.registers.entry(file).or_default().synced(self.id, from);
            });
        }
        Ok(())
    }

    /// Fills a new file, and has it synced.
    async fn write_whole(&mut self, handle: &FileHandle, dir: usize, stamp: u64) -> Done {
        let bytes = whole_bytes(dir, stamp);
        ledger(|ledger| ledger.data_moves.is_new(handle.inode(), bytes == WHOLE_CODED));
        let (content, mut at_byte) = (stamp.to_le_bytes().repeat(bytes / 8), 0);
        for piece in content.chunks(WHOLE[1]) {
            handle.write(at_byte, piece).await?;
            at_byte += piece.len() as u64;
            // What is there of it is read by nobody else, and its server hears of it.
            if bytes == WHOLE_CODED && self.random.one_in(8) {
                handle.fsync(false).await?;
            }
        }
        handle.fsync(false).await?;
        if bytes == WHOLE_CODED
            && let Ok(info) = self.client.entry_info(handle.inode()).await
            && let Some(layout) = info.layout
        {
            let how = if layout.encoded().is_some() { "encoded" } else { "mirrored" };
            ledger(|ledger| ledger.count(&format!("new files of an encoded directory: written {how}")));
        }
        Ok(())
    }

    async fn read_name(&mut self, dir: usize) -> Done {
        let from = ledger(|ledger| ledger.tick());
        let file = (format!("{}/name", DIRS[dir]), 0);
        let found = self.client.lookup(self.dirs[dir], b"name").await?.inode;
        // It may have been replaced since.
        let gone = |error: &Error| is(error, ErrorCode::NOT_FOUND) || is(error, ErrorCode::STALE);
        let handle = match self.client.open(found, OpenOptions::default()).await {
            Err(error) if gone(&error) => return Ok(()),
            other => other?,
        };
        let content = match handle.read(0, 1 << 20).await {
            Err(error) if gone(&error) => return Ok(()),
            other => other?.concat(),
        };
        handle.release().await?;
        let values: BTreeSet<u64> = content.chunks(8).map(word).collect();
        let value = values.first().copied().unwrap_or(0);
        let expected = whole_bytes(dir, value);
        let whole = values.len() <= 1 && (value == 0 || content.len() == expected);
        ledger(|ledger| {
            let torn = (!whole).then(|| format!("{file:?} is torn: {} bytes, {values:?}", content.len()));
            let wrong = torn.or_else(|| ledger.registers.entry(file.clone()).or_default().judge(value, from));
            let wrong = wrong.map(|wrong| format!("client {} reads {file:?}: {wrong}", self.id));
            ledger.found("a name shows the old file or the new one", wrong);
        });
        Ok(())
    }

    /// Makes a name that several want, or removes it.
    async fn make(&mut self, dir: usize) -> Done {
        let (at, path, id) = (self.dirs[dir], format!("{}/token", DIRS[dir]), self.id);
        let time = now();
        if ledger(|ledger| ledger.exclusive.may_remove(&path, id, time)) {
            tracing::debug!("client {id}: removes {path}");
            let held = ledger(|ledger| ledger.exclusive.removing(&path, id));
            let removed = self.client.unlink(at, b"token").await;
            let missing = removed.as_ref().is_err_and(|error| is(error, ErrorCode::NOT_FOUND));
            if !missing {
                removed?;
            }
            ledger(|ledger| {
                let wrong = ledger.exclusive.removed(&path, id, held, missing);
                ledger.found("exactly once", wrong);
            });
            return Ok(());
        }
        tracing::debug!("client {id}: makes {path}");
        let alone = ledger(|ledger| {
            let alone = ledger.exclusive.is_quiet(&path);
            ledger.exclusive.begin(&path, id);
            alone
        });
        let made = self.client.create(at, b"token", 0o644, OWNER, true).await;
        let refused = made.as_ref().is_err_and(|error| is(error, ErrorCode::EXISTS));
        let time = now();
        ledger(|ledger| {
            let wrong = match (&made, refused) {
                (Ok(_), _) => ledger.exclusive.made(&path, id, time),
                // A request that is sent again under a new session meets what it did under the old one.
                (_, true) if ledger.is_in_doubt(id, time) => {
                    ledger.exclusive.lost(id, time);
                    None
                }
                (_, true) => ledger.exclusive.refused(&path, id, alone),
                _ => None,
            };
            ledger.found("exactly once", wrong);
        });
        match made {
            Ok((_, handle)) => handle.release().await,
            Err(_) if refused => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Does something to one of the names that are for this.
    async fn name(&mut self, dir: usize) -> Done {
        let (at, path) = (self.dirs[dir], DIRS[dir]);
        let op = names::choose(&mut self.random, self.seen.get(&dir).copied());
        self.name_op(at, path, dir, op).await
    }

    async fn name_op(&mut self, at: InodeId, path: &'static str, dir: usize, op: Op) -> Done {
        let number = ledger(|ledger| ledger.begin_name(path, self.id, op, now()));
        let done = names::act(&self.client, at, op).await;
        let told = match &done {
            Ok(inode) => Outcome::Done(inode.map_or(0, |inode| inode.0)),
            Err(error) if is(error, ErrorCode::EXISTS) => Outcome::Exists,
            Err(error) if is(error, ErrorCode::NOT_FOUND) || is(error, ErrorCode::STALE) => Outcome::Missing,
            Err(_) => Outcome::Unknown(now() + LATE),
        };
        tracing::debug!("client {}: {op:?} in {path}: {told:?}", self.id);
        ledger(|ledger| ledger.end_name(path, self.id, number, now(), told));
        if let Ok(Some(inode)) = done {
            self.seen.insert(dir, inode);
        }
        match done {
            Err(error) if matches!(told, Outcome::Unknown(_)) => Err(error),
            _ => Ok(()),
        }
    }

    /// What was there before any client and is never removed is in every listing, once.
    async fn list(&mut self, dir: usize) -> Done {
        let listing = self.client.readdir(self.dirs[dir], 0, 1000, false).await?;
        let mut names: Vec<_> = listing.entries.iter().map(|entry| entry.name.clone()).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        let missing = FILES.iter().find(|file| !names.iter().any(|name| name.as_bytes() == file.as_bytes()));
        let wrong = missing.map(|file| format!("{file} is not listed"));
        let wrong = wrong.or((names.len() != all).then(|| "a name is listed twice".to_owned()));
        ledger(|ledger| ledger.found("names are listed", wrong));
        Ok(())
    }

    async fn lock(&mut self, dir: usize) -> Done {
        let inode = self.client.lookup(self.dirs[dir], b"lock").await?.inode;
        let (owner, pid) = (u64::from(self.id), self.id);
        let lock = FileLock { owner, pid, kind: LockKind::Write, flock: true, start: 0, end: u64::MAX };
        self.client.set_lock(inode, lock, true).await?;
        let path = DIRS[dir];
        ledger(|ledger| {
            let wrong = ledger.inside.entry(path.into()).or_default().enter(self.id);
            ledger.found("locks exclude", wrong.map(|wrong| format!("{path}: {wrong}")));
        });
        tokio::time::sleep(Duration::from_millis(self.random.below(200))).await;
        ledger(|ledger| ledger.inside.entry(path.into()).or_default().leave(self.id));
        self.client.set_lock(inode, FileLock { kind: LockKind::Unlock, ..lock }, false).await
    }

    /// Of a file in which bits flipped, an error is as good as its content.
    async fn unless_damaged(&self, dir: usize, name: &str, seen: Done) -> Done {
        let Err(error) = seen else { return Ok(()) };
        let inode = self.client.lookup(self.dirs[dir], name.as_bytes()).await?.inode.to_string();
        if !tells_damage(&error) || !ledger(|ledger| ledger.damaged.contains(&inode)) {
            return Err(error);
        }
        ledger(|ledger| ledger.count("damage is told in the end"));
        Ok(())
    }

    /// Reads everything once.
    pub async fn look_at_all(mut self) -> Done {
        for (dir, name) in DIRS.iter().enumerate() {
            for kind in &cells::KINDS {
                for cell in 0..kind.cells {
                    let seen = cells::read_cell(&mut self, dir, kind, cell).await;
                    self.unless_damaged(dir, kind.name, seen).await?;
                }
            }
            let seen = self.read_log(dir).await;
            self.unless_damaged(dir, "log", seen).await?;
            let seen = self.read_name(dir).await;
            self.unless_damaged(dir, "name", seen).await?;
            self.list(dir).await?;
            for number in 0..NAMES.len() {
                self.name_op(self.dirs[dir], name, dir, Op::Lookup(number)).await?;
            }
            if *name == PLAIN {
                // Where it is split, not all of them are in its own slot.
                let files = self.client.readdir(self.dirs[dir], 0, 1000, false).await?.entries;
                ledger(|ledger| ledger.plain.extend(files.iter().map(|file| file.inode.to_string())));
            }
        }
        data_moves::look_at_layouts(&self.client).await?;
        self.client.shutdown().await
    }
}
