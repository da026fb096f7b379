// SPDX-License-Identifier: Apache-2.0

//! The client library in this process, without the kernel in between.
//!
//! **Failure model.** The client retries through failures by itself until its `retry_timeout`; what it reports after that
//! ends the phase. Closing a file that has nothing left to write is done by the client in the background, as the mount
//! does it; its cost is in the services' CPU time, which is taken after they have come to rest.

use super::{Content, Done, Mode, Result, Site, Task, compare};
use crate::plan::{Entry, Op, Step};
use nyala_client::{Client, FileHandle, OpenOptions};
use nyala_wire::meta::Owner;
use nyala_wire::{ErrorCode, FileKind, InodeId};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

/// Entries asked for at once.
const LIST_ENTRIES: u32 = 4096;

/// A cluster's root directory.
pub struct Native {
    /// The first one makes and removes directories.
    client: Client,
    /// Tasks take turns with them.
    clients: Vec<Client>,
    next: AtomicUsize,
    base: String,
    dirs: RwLock<Arc<Dirs>>,
}

/// The directories of a workload, and the one that they are in.
#[derive(Default)]
struct Dirs {
    base: Option<InodeId>,
    names: Vec<String>,
    inodes: Vec<InodeId>,
}

impl Native {
    /// Below the directory `base` of the root, which is made and removed.
    pub fn new(client: Client, base: String) -> Native {
        Native { clients: vec![client.clone()], client, next: AtomicUsize::new(0), base, dirs: RwLock::default() }
    }

    /// The same with several clients, at least one, that the tasks share.
    pub fn shared(clients: Vec<Client>, base: String) -> Native {
        Native { client: clients[0].clone(), clients, next: AtomicUsize::new(0), base, dirs: RwLock::default() }
    }

    async fn make(&self, parent: InodeId, name: &str) -> Result<InodeId> {
        match self.client.mkdir(parent, name.as_bytes(), 0o755, Owner::default()).await {
            Ok(attr) => Ok(attr.inode),
            Err(error) if error.is(ErrorCode::EXISTS) => {
                let found = self.client.lookup(parent, name.as_bytes()).await;
                found.map(|attr| attr.inode).map_err(|error| format!("cannot look up {name}: {error}"))
            }
            Err(error) => Err(format!("cannot make {name}: {error}")),
        }
    }

    /// Removes everything below a directory, one directory at a time.
    async fn empty(&self, top: InodeId) -> Result<()> {
        let mut path = vec![(InodeId::ROOT, Vec::new(), top)];
        while let Some((parent, name, dir)) = path.pop() {
            let told = |error| format!("cannot clean up: {error}");
            let listing = self.client.readdir(dir, 0, LIST_ENTRIES, false).await.map_err(told)?;
            if listing.entries.is_empty() {
                if dir != top {
                    self.client.rmdir(parent, &name).await.map_err(told)?;
                }
                continue;
            }
            path.push((parent, name, dir));
            for entry in listing.entries {
                let name = entry.name.as_bytes();
                if entry.kind == FileKind::Directory {
                    path.push((dir, name.to_vec(), entry.inode));
                } else {
                    self.client.unlink(dir, name).await.map_err(told)?;
                }
            }
        }
        Ok(())
    }
}

impl Site for Native {
    type Task = NativeTask;

    async fn prepare(&self, dirs: &[String]) -> Result<()> {
        let base = self.make(InodeId::ROOT, &self.base).await?;
        let mut inodes = Vec::with_capacity(dirs.len());
        for dir in dirs {
            inodes.push(self.make(base, dir).await?);
        }
        *self.dirs.write().expect("nobody panics while holding it") =
            Arc::new(Dirs { base: Some(base), names: dirs.to_vec(), inodes });
        Ok(())
    }

    async fn clean_up(&self) -> Result<()> {
        let base = match self.client.lookup(InodeId::ROOT, self.base.as_bytes()).await {
            Ok(attr) => attr.inode,
            Err(error) if error.is(ErrorCode::NOT_FOUND) => return Ok(()),
            Err(error) => return Err(format!("cannot look up {}: {error}", self.base)),
        };
        self.empty(base).await?;
        let removed = self.client.rmdir(InodeId::ROOT, self.base.as_bytes()).await;
        removed.map_err(|error| format!("cannot remove {}: {error}", self.base))
    }

    fn task(&self, content: Content) -> NativeTask {
        let dirs = self.dirs.read().expect("nobody panics while holding it").clone();
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.clients.len();
        NativeTask { client: self.clients[turn].clone(), dirs, content, file: None }
    }
}

/// A task of the client.
pub struct NativeTask {
    client: Client,
    dirs: Arc<Dirs>,
    content: Content,
    file: Option<(FileHandle, String)>,
}

fn said<T>(result: nyala_client::Result<T>, what: &str, name: &str) -> Result<T> {
    result.map_err(|error| format!("cannot {what} {name}: {error}"))
}

impl NativeTask {
    async fn create(&self, parent: InodeId, name: &str) -> Result<FileHandle> {
        let created = self.client.create(parent, name.as_bytes(), 0o644, Owner::default(), true).await;
        said(created, "create", name).map(|(_, handle)| handle)
    }

    async fn name(&mut self, step: Step, entry: &Entry, bytes: usize, key: u64) -> Result<Done> {
        let (dir, name) = (self.dirs.inodes[entry.dir], entry.name.as_str());
        let client = &self.client;
        match step {
            Step::Create => said(self.create(dir, name).await?.release().await, "close", name)?,
            Step::Stat => said(client.lookup(dir, name.as_bytes()).await, "look up", name).map(|_| ())?,
            Step::Unlink => said(client.unlink(dir, name.as_bytes()).await, "remove", name)?,
            Step::Mkdir => {
                let made = client.mkdir(dir, name.as_bytes(), 0o755, Owner::default()).await;
                said(made, "make", name).map(|_| ())?;
            }
            Step::Rmdir => said(client.rmdir(dir, name.as_bytes()).await, "remove", name)?,
            Step::WriteFile => {
                let handle = self.create(dir, name).await?;
                said(handle.write(0, self.content.fill.at(key, 0, bytes)).await, "write", name)?;
                said(handle.release().await, "close", name)?;
                return Ok(Done::one(bytes));
            }
            Step::ReadFile => {
                let inode = said(client.lookup(dir, name.as_bytes()).await, "look up", name)?.inode;
                let handle = said(client.open(inode, OpenOptions::default()).await, "open", name)?;
                read(&handle, &self.content, key, 0, bytes, name).await?;
                said(handle.release().await, "close", name)?;
                return Ok(Done::one(bytes));
            }
            other => return Err(format!("{} is not done on a name", other.name())),
        }
        Ok(Done::one(0))
    }

    async fn list(&self, dir: usize, plus: bool) -> Result<Done> {
        let (mut items, mut after) = (0, 0);
        loop {
            let listing = self.client.readdir(self.dirs.inodes[dir], after, LIST_ENTRIES, plus).await;
            let listing = said(listing, "list", "a directory")?;
            items += listing.entries.len() as u64;
            match listing.entries.last() {
                Some(last) if !listing.end => after = last.cookie,
                _ => return Ok(Done { items, bytes: 0 }),
            }
        }
    }
}

async fn read(handle: &FileHandle, content: &Content, key: u64, offset: u64, bytes: usize, name: &str) -> Result<()> {
    let pieces = said(handle.read(offset, bytes).await, "read", name)?;
    let got: usize = pieces.iter().map(|piece| piece.len()).sum();
    if got != bytes {
        return Err(format!("{name}: {got} bytes at {offset} instead of {bytes}"));
    }
    let mut at = offset;
    for piece in pieces {
        compare(content, key, at, &piece, name)?;
        at += piece.len() as u64;
    }
    Ok(())
}

impl Task for NativeTask {
    async fn open(&mut self, file: &Entry, mode: Mode) -> Result<bool> {
        let (dir, name) = (self.dirs.inodes[file.dir], file.name.as_str());
        let handle = if mode.create {
            let created = self.client.create(dir, name.as_bytes(), 0o644, Owner::default(), false).await;
            said(created, "create", name)?.1
        } else {
            let inode = said(self.client.lookup(dir, name.as_bytes()).await, "look up", name)?.inode;
            said(self.client.open(inode, OpenOptions::default()).await, "open", name)?
        };
        self.file = Some((handle, file.name.clone()));
        Ok(false)
    }

    async fn run(&mut self, op: &Op) -> Result<Done> {
        match op {
            Op::Name { step, entry, bytes, key } => self.name(*step, entry, *bytes, *key).await,
            Op::Dir { dir, plus } => self.list(*dir, *plus).await,
            Op::RemoveDir { dir } => {
                let base = self.dirs.base.ok_or("no directory was made")?;
                let name = &self.dirs.names[*dir];
                said(self.client.rmdir(base, name.as_bytes()).await, "remove", name).map(|()| Done::one(0))
            }
            Op::Transfer { write, offset, bytes, key } => {
                let Some((handle, name)) = &self.file else { return Err("no file is open".to_owned()) };
                if *write {
                    let data = self.content.fill.at(*key, *offset, *bytes);
                    said(handle.write(*offset, data).await, "write", name)?;
                } else {
                    read(handle, &self.content, *key, *offset, *bytes, name).await?;
                }
                Ok(Done::one(*bytes))
            }
        }
    }

    async fn close(&mut self, sync: bool) -> Result<()> {
        let Some((handle, name)) = self.file.take() else { return Ok(()) };
        if sync {
            said(handle.fsync(false).await, "sync", &name)?;
        }
        said(handle.release().await, "close", &name)
    }
}
