// SPDX-License-Identifier: Apache-2.0

//! A file system in memory, as plain as it can be, to put a session through its paces. Some names misbehave on
//! purpose: looking up `slow` takes 700 ms, `stuck` until it is let go, and `panic` panics.

mod names;

use nyala_fuse::types::*;
use nyala_fuse::{DirBuffer, Errno, Handler, WriteData};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// How long the kernel may believe what it was told.
pub const TTL: Duration = Duration::from_secs(3600);

/// An inode.
#[derive(Clone)]
pub struct Node {
    pub attr: Attr,
    pub data: Vec<u8>,
    pub target: Vec<u8>,
    pub entries: BTreeMap<Vec<u8>, u64>,
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// All inodes.
pub struct State {
    pub nodes: HashMap<u64, Node>,
    pub next: u64,
}

/// The file system.
pub struct MemFs {
    pub state: Mutex<State>,
    pub let_go: Notify,
    pub stuck: AtomicU64,
    pub fsyncs: AtomicU64,
    pub destroyed: AtomicU64,
    pub readdirs: AtomicU64,
    pub lookups: AtomicU64,
    /// Whether flock comes here.
    pub flock: AtomicBool,
    pub holder: Mutex<Option<u64>>,
    pub lock_waiters: AtomicU64,
    pub unlocked: Notify,
}

impl MemFs {
    pub fn new() -> MemFs {
        let fs = MemFs {
            state: Mutex::new(State { nodes: HashMap::new(), next: 1 }),
            let_go: Notify::new(),
            stuck: AtomicU64::new(0),
            fsyncs: AtomicU64::new(0),
            destroyed: AtomicU64::new(0),
            readdirs: AtomicU64::new(0),
            lookups: AtomicU64::new(0),
            flock: AtomicBool::new(false),
            holder: Mutex::new(None),
            lock_waiters: AtomicU64::new(0),
            unlocked: Notify::new(),
        };
        fs.state.lock().add(libc::S_IFDIR | 0o755, 0, 0, 0);
        fs
    }
}

impl State {
    pub fn add(&mut self, mode: u32, uid: u32, gid: u32, rdev: u32) -> u64 {
        let ino = self.next;
        self.next += 1;
        let now = Timestamp::from(SystemTime::now());
        let nlink = if mode & libc::S_IFMT == libc::S_IFDIR { 2 } else { 1 };
        let (atime, mtime, ctime) = (now, now, now);
        let attr = Attr { ino, size: 0, blocks: 0, atime, mtime, ctime, mode, nlink, uid, gid, rdev, blksize: 4096 };
        let (entries, xattrs) = (BTreeMap::new(), BTreeMap::new());
        self.nodes.insert(ino, Node { attr, data: Vec::new(), target: Vec::new(), entries, xattrs });
        ino
    }

    pub fn node(&mut self, ino: Ino) -> Result<&mut Node> {
        self.nodes.get_mut(&ino.0).ok_or(Errno::ESTALE)
    }

    pub fn entry(&mut self, ino: u64) -> Result<Entry> {
        let attr = self.node(Ino(ino))?.attr;
        Ok(Entry { ino: Ino(ino), generation: 0, attr, entry_ttl: TTL, attr_ttl: TTL })
    }

    pub fn child(&mut self, parent: Ino, name: &[u8]) -> Result<u64> {
        self.node(parent)?.entries.get(name).copied().ok_or(Errno::ENOENT)
    }

    pub fn add_name(&mut self, parent: Ino, name: &[u8], ino: u64) -> Result<Entry> {
        let dir = self.node(parent)?;
        if dir.entries.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        dir.entries.insert(name.to_vec(), ino);
        self.entry(ino)
    }

    fn resize(node: &mut Node, len: usize) {
        node.data.resize(len, 0);
        node.attr.size = len as u64;
        node.attr.blocks = len.div_ceil(512) as u64;
        node.attr.mtime = Timestamp::from(SystemTime::now());
    }
}

impl Handler for MemFs {
    fn features(&self) -> Features {
        Features { flock: self.flock.load(Ordering::SeqCst), ..Features::default() }
    }

    async fn destroy(&self) {
        self.destroyed.fetch_add(1, Ordering::SeqCst);
    }

    async fn lookup(&self, _ctx: &Context, parent: Ino, name: &[u8]) -> Result<Entry> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        match name {
            b"slow" => tokio::time::sleep(Duration::from_millis(700)).await,
            b"stuck" => {
                self.stuck.fetch_add(1, Ordering::SeqCst);
                self.let_go.notified().await;
            }
            b"panic" => panic!("a handler's bug"),
            _ => {}
        }
        let mut state = self.state.lock();
        let ino = state.child(parent, name)?;
        state.entry(ino)
    }

    async fn getattr(&self, _ctx: &Context, ino: Ino, _fh: Option<Fh>) -> Result<Attributes> {
        Ok(Attributes { attr: self.state.lock().node(ino)?.attr, ttl: TTL })
    }

    async fn setattr(&self, _ctx: &Context, ino: Ino, set: &SetAttr) -> Result<Attributes> {
        let mut state = self.state.lock();
        let node = state.node(ino)?;
        if let Some(size) = set.size {
            State::resize(node, size as usize);
        }
        if let Some(mode) = set.mode {
            node.attr.mode = node.attr.mode & libc::S_IFMT | mode & 0o7777;
        }
        node.attr.uid = set.uid.unwrap_or(node.attr.uid);
        node.attr.gid = set.gid.unwrap_or(node.attr.gid);
        match set.mtime {
            Some(SetTime::Now) => node.attr.mtime = Timestamp::from(SystemTime::now()),
            Some(SetTime::At(time)) => node.attr.mtime = time,
            None => {}
        }
        Ok(Attributes { attr: node.attr, ttl: TTL })
    }

    async fn readlink(&self, _ctx: &Context, ino: Ino) -> Result<Vec<u8>> {
        Ok(self.state.lock().node(ino)?.target.clone())
    }

    async fn symlink(&self, ctx: &Context, parent: Ino, name: &[u8], target: &[u8]) -> Result<Entry> {
        names::symlink(self, ctx, parent, name, target)
    }

    async fn mknod(&self, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> Result<Entry> {
        names::make(self, ctx, parent, name, new.mode, new.rdev)
    }

    async fn mkdir(&self, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> Result<Entry> {
        names::make(self, ctx, parent, name, libc::S_IFDIR | new.mode, 0)
    }

    async fn unlink(&self, _ctx: &Context, parent: Ino, name: &[u8]) -> Result<()> {
        names::unlink(self, parent, name)
    }

    async fn rmdir(&self, _ctx: &Context, parent: Ino, name: &[u8]) -> Result<()> {
        names::rmdir(self, parent, name)
    }

    async fn rename(&self, _: &Context, parent: Ino, name: &[u8], to: Ino, to_name: &[u8], flags: u32) -> Result<()> {
        names::rename(self, parent, name, to, to_name, flags)
    }

    async fn link(&self, _ctx: &Context, ino: Ino, new_parent: Ino, new_name: &[u8]) -> Result<Entry> {
        let mut state = self.state.lock();
        state.node(ino)?.attr.nlink += 1;
        state.add_name(new_parent, new_name, ino.0)
    }

    async fn open(&self, _ctx: &Context, ino: Ino, args: &OpenArgs) -> Result<Opened> {
        let mut state = self.state.lock();
        let node = state.node(ino)?;
        if args.flags & libc::O_TRUNC != 0 {
            State::resize(node, 0);
        }
        Ok(Opened { fh: Fh(ino.0), mode: OpenMode { keep_cache: true, ..OpenMode::default() } })
    }

    async fn create(
        &self,
        ctx: &Context,
        parent: Ino,
        name: &[u8],
        new: &NewInode,
        _args: &OpenArgs,
    ) -> Result<Created> {
        // Waits once, so that the way over a task is taken too.
        tokio::task::yield_now().await;
        let entry = names::make(self, ctx, parent, name, new.mode, 0)?;
        Ok(Created { entry, opened: Opened { fh: Fh(entry.ino.0), mode: OpenMode::default() } })
    }

    async fn read(&self, _ctx: &Context, ino: Ino, args: &ReadArgs) -> Result<ReadData> {
        let mut state = self.state.lock();
        let data = &state.node(ino)?.data;
        let start = data.len().min(args.offset as usize);
        let end = data.len().min(start + args.size as usize);
        // In two pieces, so that replies of several segments are used.
        let middle = start + (end - start) / 2;
        Ok(ReadData::Segments(vec![data[start..middle].to_vec().into(), data[middle..end].to_vec().into()]))
    }

    async fn write(&self, _ctx: &Context, ino: Ino, args: &WriteArgs, data: WriteData) -> Result<u32> {
        let mut state = self.state.lock();
        let node = state.node(ino)?;
        let start = args.offset as usize;
        if node.data.len() < start + data.len() {
            State::resize(node, start + data.len());
        }
        node.data[start..start + data.len()].copy_from_slice(&data);
        Ok(data.len() as u32)
    }

    async fn fsync(&self, _ctx: &Context, _ino: Ino, _fh: Fh, _datasync: bool) -> Result<()> {
        self.fsyncs.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn opendir(&self, _ctx: &Context, ino: Ino, _args: &OpenArgs) -> Result<Opened> {
        Ok(Opened { fh: Fh(ino.0), mode: OpenMode::default() })
    }

    async fn readdir(&self, _ctx: &Context, ino: Ino, _fh: Fh, offset: u64, buf: &mut DirBuffer) -> Result<()> {
        self.readdirs.fetch_add(1, Ordering::SeqCst);
        names::readdir(self, ino, offset, buf)
    }

    async fn statfs(&self, _ctx: &Context, _ino: Ino) -> Result<StatFs> {
        let files = self.state.lock().nodes.len() as u64;
        let (blocks, blocks_free, blocks_available) = (1000, 700, 600);
        Ok(StatFs { block_bytes: 4096, blocks, blocks_free, blocks_available, files, files_free: 12345, name_max: 255 })
    }

    /// One lock for all files, exclusive.
    async fn flock(&self, _ctx: &Context, _ino: Ino, args: &LockArgs) -> Result<()> {
        loop {
            {
                let mut holder = self.holder.lock();
                if args.lock.kind == libc::F_UNLCK {
                    if *holder == Some(args.owner) {
                        *holder = None;
                        self.unlocked.notify_waiters();
                    }
                    return Ok(());
                }
                match *holder {
                    Some(other) if other != args.owner && !args.wait => return Err(Errno::EAGAIN),
                    Some(other) if other != args.owner => {}
                    _ => {
                        *holder = Some(args.owner);
                        return Ok(());
                    }
                }
            }
            self.lock_waiters.fetch_add(1, Ordering::SeqCst);
            self.unlocked.notified().await;
        }
    }

    async fn release(&self, ctx: &Context, ino: Ino, args: &ReleaseArgs) -> Result<()> {
        if args.flock_unlock {
            let lock = Lock { start: 0, end: u64::MAX, kind: libc::F_UNLCK, pid: 0 };
            self.flock(ctx, ino, &LockArgs { fh: args.fh, owner: args.lock_owner, lock, wait: false }).await?;
        }
        Ok(())
    }

    async fn setxattr(
        &self,
        _ctx: &Context,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        flags: i32,
        _kill: bool,
    ) -> Result<()> {
        let mut state = self.state.lock();
        let xattrs = &mut state.node(ino)?.xattrs;
        if flags & libc::XATTR_CREATE != 0 && xattrs.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        xattrs.insert(name.to_vec(), value.to_vec());
        Ok(())
    }

    async fn getxattr(&self, _ctx: &Context, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.state.lock().node(ino)?.xattrs.get(name).cloned().ok_or(Errno::ENODATA)
    }

    async fn listxattr(&self, _ctx: &Context, ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(self.state.lock().node(ino)?.xattrs.keys().cloned().collect())
    }

    async fn removexattr(&self, _ctx: &Context, ino: Ino, name: &[u8]) -> Result<()> {
        self.state.lock().node(ino)?.xattrs.remove(name).map(drop).ok_or(Errno::ENODATA)
    }
}
