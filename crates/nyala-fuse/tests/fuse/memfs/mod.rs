// SPDX-License-Identifier: Apache-2.0

//! A file system in memory, as plain as it can be, to put a session through its paces. Some names misbehave on
//! purpose: looking up `slow` takes 700 ms, `stuck` until it is let go, and `panic` panics. What it asks of the kernel is
//! set by [`Knobs`], what the kernel asks is counted in [`Seen`].
#![allow(dead_code, reason = "each test program uses a part")]

mod names;

use nyala_fuse::adapter::cache::KernelCache;
use nyala_fuse::types::*;
use nyala_fuse::{DirBuffer, Errno, Handler, WriteData};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
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

/// What the kernel is allowed and asked; set before the mount.
#[derive(Clone, Copy, Default)]
pub struct Knobs {
    pub features: Features,
    /// Missing names may be remembered.
    pub negative: bool,
    /// Files are opened with direct I/O.
    pub direct: bool,
    /// Listings may be kept.
    pub cache_dirs: bool,
    /// The longest time from a request to its answer.
    pub time_limit: Option<Duration>,
    /// Opening a file waits until it is let go.
    pub stuck_opens: bool,
    /// Closing a file waits until it is let go.
    pub stuck_flushes: bool,
}

/// What the kernel has asked.
#[derive(Default)]
pub struct Seen {
    pub getattrs: AtomicU64,
    pub statxs: AtomicU64,
    pub opens: AtomicU64,
    pub opendirs: AtomicU64,
    pub getxattrs: AtomicU64,
    pub syncfs: AtomicU64,
    pub reads: Mutex<Vec<ReadArgs>>,
    pub writes: Mutex<Vec<WriteArgs>>,
    pub locks: Mutex<Vec<LockArgs>>,
    /// Lock owners.
    pub flushes: Mutex<Vec<u64>>,
    pub releases: Mutex<Vec<ReleaseArgs>>,
    pub copies: Mutex<Vec<CopyArgs>>,
    pub made: Mutex<Vec<NewInode>>,
    pub acl_sets: Mutex<Vec<bool>>,
}

/// Done by the next look-up or listing after its answer was made and before it is sent.
pub type Before = Box<dyn FnOnce(&MemFs) + Send>;

/// The file system.
pub struct MemFs {
    pub knobs: Knobs,
    pub seen: Seen,
    /// What an adapter would have; directories may be cached if it says so.
    pub cache: Arc<KernelCache>,
    pub openings: Mutex<HashMap<u64, (Ino, nyala_fuse::adapter::open_dirs::Opening)>>,
    pub before_reply: Mutex<Option<Before>>,
    pub state: Mutex<State>,
    pub let_go: Notify,
    pub stuck: AtomicU64,
    /// A write waits until it is let go.
    pub stuck_writes: AtomicBool,
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
        MemFs::with(Knobs::default())
    }

    pub fn with(knobs: Knobs) -> MemFs {
        let fs = MemFs {
            knobs,
            seen: Seen::default(),
            cache: Arc::default(),
            openings: Mutex::default(),
            before_reply: Mutex::default(),
            state: Mutex::new(State { nodes: HashMap::new(), next: 1 }),
            let_go: Notify::new(),
            stuck: AtomicU64::new(0),
            stuck_writes: AtomicBool::new(false),
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

    /// Somebody else does something to the file system, without the kernel knowing.
    pub fn elsewhere<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock())
    }

    /// Waits until the test lets go.
    async fn wait_stuck(&self) {
        let let_go = self.let_go.notified();
        self.stuck.fetch_add(1, Ordering::SeqCst);
        let_go.await;
    }

    /// Runs what a test wants to happen while a reply is on its way.
    fn replying(&self) {
        let work = self.before_reply.lock().take();
        if let Some(work) = work {
            work(self);
        }
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
        let flock = self.knobs.features.flock || self.flock.load(Ordering::SeqCst);
        Features { flock, ..self.knobs.features }
    }

    async fn init(&self, negotiated: &Negotiated) -> Result<()> {
        self.cache.started(negotiated.has_epochs());
        Ok(())
    }

    fn time_limit(&self) -> Option<Duration> {
        self.knobs.time_limit
    }

    async fn destroy(&self) {
        self.destroyed.fetch_add(1, Ordering::SeqCst);
    }

    async fn lookup(&self, _ctx: &Context, parent: Ino, name: &[u8]) -> Result<Entry> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        match name {
            // sleeps: a slow file system
            b"slow" => tokio::time::sleep(Duration::from_millis(700)).await,
            b"stuck" => self.wait_stuck().await,
            b"panic" => panic!("a handler's bug"),
            _ => {}
        }
        let found = {
            let mut state = self.state.lock();
            state.child(parent, name).and_then(|ino| state.entry(ino))
        };
        self.replying();
        match found {
            Err(Errno::ENOENT) if self.knobs.negative => Ok(Entry::missing(TTL)),
            found => found,
        }
    }

    async fn getattr(&self, _ctx: &Context, ino: Ino, _fh: Option<Fh>) -> Result<Attributes> {
        self.seen.getattrs.fetch_add(1, Ordering::SeqCst);
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
        self.seen.made.lock().push(*new);
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
        self.seen.opens.fetch_add(1, Ordering::SeqCst);
        self.cache.recheck(ino);
        if self.knobs.stuck_opens {
            self.wait_stuck().await;
        }
        let mut state = self.state.lock();
        let node = state.node(ino)?;
        if args.flags & libc::O_TRUNC != 0 {
            State::resize(node, 0);
        }
        let direct_io = self.knobs.direct;
        let keep_cache = !direct_io;
        Ok(Opened { fh: Fh(ino.0), mode: OpenMode { keep_cache, direct_io, ..OpenMode::default() } })
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
        self.seen.made.lock().push(*new);
        let entry = names::make(self, ctx, parent, name, new.mode, 0)?;
        let mode = OpenMode { direct_io: self.knobs.direct, ..OpenMode::default() };
        Ok(Created { entry, opened: Opened { fh: Fh(entry.ino.0), mode } })
    }

    async fn tmpfile(&self, ctx: &Context, _parent: Ino, new: &NewInode, _args: &OpenArgs) -> Result<Created> {
        let mut state = self.state.lock();
        let ino = state.add(new.mode, ctx.uid, ctx.gid, 0);
        state.node(Ino(ino))?.attr.nlink = 0;
        Ok(Created { entry: state.entry(ino)?, opened: Opened { fh: Fh(ino), mode: OpenMode::default() } })
    }

    async fn read(&self, _ctx: &Context, ino: Ino, args: &ReadArgs) -> Result<ReadData> {
        self.seen.reads.lock().push(*args);
        let mut state = self.state.lock();
        let data = &state.node(ino)?.data;
        let start = data.len().min(args.offset as usize);
        let end = data.len().min(start + args.size as usize);
        // In two pieces, so that replies of several segments are used.
        let middle = start + (end - start) / 2;
        Ok(ReadData::Segments(vec![data[start..middle].to_vec().into(), data[middle..end].to_vec().into()]))
    }

    async fn write(&self, _ctx: &Context, ino: Ino, args: &WriteArgs, data: WriteData) -> Result<u32> {
        self.seen.writes.lock().push(*args);
        if self.stuck_writes.load(Ordering::SeqCst) {
            self.wait_stuck().await;
        }
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
        let fh = self.seen.opendirs.fetch_add(1, Ordering::SeqCst);
        let opening = self.cache.dirs.opened(ino, || self.knobs.cache_dirs, None);
        self.openings.lock().insert(fh, (ino, opening));
        let mode = OpenMode { cache_dir: opening.cached, keep_cache: true, ..OpenMode::default() };
        Ok(Opened { fh: Fh(fh), mode })
    }

    async fn releasedir(&self, _ctx: &Context, ino: Ino, args: &ReleaseArgs) -> Result<()> {
        let Some((_, opening)) = self.openings.lock().get(&args.fh.0).copied() else { return Err(Errno::EBADF) };
        if self.cache.dirs.closed(ino, opening) {
            self.cache.forget_content(ino, nyala_fuse::InvalRange::All).await;
            self.cache.dirs.emptied(ino);
        }
        self.openings.lock().remove(&args.fh.0);
        Ok(())
    }

    async fn readdir(&self, _ctx: &Context, ino: Ino, _fh: Fh, offset: u64, buf: &mut DirBuffer) -> Result<()> {
        self.readdirs.fetch_add(1, Ordering::SeqCst);
        let listed = names::readdir(self, ino, offset, buf);
        self.replying();
        listed
    }

    async fn statx(&self, _: &Context, ino: Ino, _: Option<Fh>, _: u32, _: u32) -> Result<StatxReply> {
        self.seen.statxs.fetch_add(1, Ordering::SeqCst);
        let attr = self.state.lock().node(ino)?.attr;
        Ok(StatxReply { attr, btime: Some(Timestamp { secs: 77, nanos: 7 }), ttl: TTL })
    }

    async fn syncfs(&self, _: &Context, _: Ino) -> Result<()> {
        self.seen.syncfs.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn flush(&self, _: &Context, _: Ino, _: Fh, lock_owner: u64) -> Result<()> {
        self.seen.flushes.lock().push(lock_owner);
        if self.knobs.stuck_flushes {
            self.wait_stuck().await;
        }
        Ok(())
    }

    async fn copy_file_range(&self, _: &Context, args: &CopyArgs) -> Result<u64> {
        self.seen.copies.lock().push(*args);
        let huge = self.state.lock().node(args.ino_in)?.attr.size > 1 << 32;
        if huge { Ok(args.len) } else { Err(Errno::ENOSYS) }
    }

    async fn setlk(&self, _: &Context, _: Ino, args: &LockArgs) -> Result<()> {
        self.seen.locks.lock().push(*args);
        Ok(())
    }

    async fn getlk(&self, _: &Context, _: Ino, args: &LockArgs) -> Result<Lock> {
        self.seen.locks.lock().push(*args);
        Ok(Lock { kind: libc::F_WRLCK, start: 5, end: i64::MAX as u64, pid: 0 })
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
        self.seen.releases.lock().push(*args);
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
        kill: bool,
    ) -> Result<()> {
        if name.starts_with(b"system.") {
            self.seen.acl_sets.lock().push(kill);
        }
        let mut state = self.state.lock();
        let xattrs = &mut state.node(ino)?.xattrs;
        if flags & libc::XATTR_CREATE != 0 && xattrs.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        xattrs.insert(name.to_vec(), value.to_vec());
        Ok(())
    }

    async fn getxattr(&self, _ctx: &Context, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.seen.getxattrs.fetch_add(1, Ordering::SeqCst);
        self.state.lock().node(ino)?.xattrs.get(name).cloned().ok_or(Errno::ENODATA)
    }

    async fn listxattr(&self, _ctx: &Context, ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(self.state.lock().node(ino)?.xattrs.keys().cloned().collect())
    }

    async fn removexattr(&self, _ctx: &Context, ino: Ino, name: &[u8]) -> Result<()> {
        self.state.lock().node(ino)?.xattrs.remove(name).map(drop).ok_or(Errno::ENODATA)
    }
}
