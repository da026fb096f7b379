// SPDX-License-Identifier: Apache-2.0

//! The handler: every request goes to the module of its kind.

use super::access_times::AccessTimes;
use super::again::Again;
use super::cache::{KernelCache, Listener};
use super::convert::{self, errno, inode};
use super::dirs::{self, Dir};
use super::files::{self, OpenFile};
use super::handles::Handles;
use super::lock_holders::LockHolders;
use super::lock_owners::LockOwners;
use super::statistics::Requests;
use super::traces::{self, Traces};
use super::{attrs, callers, locks, names, xattrs};
use crate::abi::opcode::Opcode;
use crate::types::*;
use crate::{DirBuffer, Errno, Handler, Notifier, WriteData};
use nyala_client::{ActingUser, Client, Lookup};
use nyala_wire::meta::DelegationMode;
use nyala_wire::{FileKind, InodeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How a mount behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct FsOptions {
    /// Bypass the kernel's page cache for all files.
    pub direct_io: bool,
    /// Reading never changes access times, until [`NyalaFs::set_noatime`] says otherwise. Set it for read-only mounts, too.
    pub noatime: bool,
}

/// A mounted Nyala.
pub struct NyalaFs {
    pub(super) client: Client,
    pub(super) options: FsOptions,
    pub(super) cache: Arc<KernelCache>,
    pub(super) files: Handles<Arc<OpenFile>>,
    pub(super) dirs: Handles<Arc<Dir>>,
    pub(super) lock_owners: LockOwners,
    pub(super) lock_holders: Arc<LockHolders>,
    pub(super) again: Arc<Again>,
    pub(super) access_times: AccessTimes,
    noatime: AtomicBool,
    pub(super) requests: Requests,
    pub(super) traces: Traces,
}

impl NyalaFs {
    /// Shows what this client sees. Until [`NyalaFs::attach`], the kernel is allowed to keep nothing.
    pub fn new(client: Client, options: FsOptions) -> NyalaFs {
        let cache = Arc::new(KernelCache::default());
        NyalaFs {
            client,
            options,
            cache,
            files: Handles::new(),
            dirs: Handles::new(),
            lock_owners: LockOwners::default(),
            lock_holders: Arc::default(),
            again: Arc::default(),
            access_times: AccessTimes::default(),
            noatime: AtomicBool::new(options.noatime),
            requests: Requests::default(),
            traces: Traces::default(),
        }
    }

    /// Lets the kernel keep what is delegated, and withdraws it through this notifier when a delegation goes. Call it once, with
    /// the session's notifier, before the session runs.
    pub fn attach(&self, notifier: Notifier) {
        self.cache.attach(notifier);
        let lifetime = self.client.delegation_time();
        let (cache, locks) = (Arc::clone(&self.cache), Arc::clone(&self.lock_holders));
        self.client.set_listener(Arc::new(Listener { cache, lifetime, locks }));
    }

    /// From now on reading changes access times, or does not: the mount's flags were changed.
    pub fn set_noatime(&self, noatime: bool) {
        self.noatime.store(noatime, Ordering::Relaxed);
    }

    /// Writes what the mount and its client count.
    pub fn write_metrics(&self, page: &mut nyala_metrics::Page) {
        self.requests.write(page, &self.client.stats(), self.client.map().version.0);
    }

    /// Whether reading changes access times.
    pub(super) fn counts_reads(&self) -> bool {
        !self.noatime.load(Ordering::Relaxed)
    }

    pub(super) fn is_delegated(&self, inode: InodeId) -> bool {
        matches!(self.client.delegation(inode), DelegationMode::Shared | DelegationMode::Exclusive)
            && !self.cache.moved.has_several(inode)
    }

    /// What comes of using a file that a path led to.
    fn once_more<T>(&self, ctx: &Context, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| {
            if *error == Errno::ESTALE {
                self.again.note_stale(ctx);
            }
        })
    }

    /// How long the kernel may keep a name.
    pub(super) fn name_ttl(&self, delegated: bool) -> Duration {
        if delegated && self.cache.keeps_names() { self.client.delegation_time() } else { Duration::ZERO }
    }

    /// How long the kernel may keep attributes.
    pub(super) fn attr_ttl(&self, delegated: bool) -> Duration {
        if delegated && self.cache.keeps() { self.client.delegation_time() } else { Duration::ZERO }
    }

    /// The entry that a thread's look-up finds, or a directory that it makes.
    pub(super) fn found(&self, ctx: &Context, parent: Ino, name: &[u8], found: &Lookup) -> Option<Entry> {
        let attr = found.attr.as_ref()?;
        let mut entry = self.entry(attr, found.entry_delegated, found.attr_delegated);
        if attr.kind == FileKind::Directory {
            let node = self.cache.moved.found(attr.inode, (parent, name), ctx.pid, Instant::now());
            if node.parted {
                self.cache.part(attr.inode, node.from, self.client.delegation_time());
            }
            entry.ino = node.ino;
            self.keep_one(&mut entry);
        }
        Some(entry)
    }

    /// The kernel keeps nothing of a directory that it may have several nodes of.
    fn keep_one(&self, entry: &mut Entry) {
        if self.cache.moved.has_several(inode(entry.ino)) {
            (entry.entry_ttl, entry.attr_ttl) = (Duration::ZERO, Duration::ZERO);
        }
    }

    /// The entry of a name in a listing.
    pub(super) fn listed(&self, dir: Ino, name: &[u8], attr: &nyala_wire::Attr, names_delegated: bool) -> Entry {
        let mut entry = self.entry(attr, names_delegated, self.is_delegated(attr.inode));
        if attr.kind == FileKind::Directory {
            entry.ino = self.cache.moved.listed(attr.inode, (dir, name));
            self.keep_one(&mut entry);
        }
        entry
    }

    fn forgotten(&self, ino: Ino, times: u64) {
        if self.cache.dirs.has_removed() {
            self.cache.dirs.forgotten(ino);
        }
        if self.cache.moved.has_known() {
            self.cache.moved.forgotten(ino, times);
        }
    }

    /// Attributes as the kernel gets them.
    pub(super) fn shown(&self, attr: &nyala_wire::Attr) -> Attr {
        let mut shown = convert::attr(attr);
        self.cache.pages.note_size(attr.inode, attr.size);
        self.access_times.overlay(attr.inode, &mut shown.atime);
        shown
    }

    /// The entry of a name in a directory.
    pub(super) fn entry(&self, attr: &nyala_wire::Attr, name_delegated: bool, attr_delegated: bool) -> Entry {
        self.cache.dirs.seen(attr);
        Entry {
            ino: Ino(attr.inode.0),
            generation: 0,
            attr: self.shown(attr),
            entry_ttl: self.name_ttl(name_delegated),
            attr_ttl: self.attr_ttl(attr_delegated),
        }
    }
}

fn asks_attributes(opcode: u32) -> bool {
    opcode == Opcode::Getattr as u32 || opcode == Opcode::Statx as u32
}

impl Handler for NyalaFs {
    fn features(&self) -> Features {
        Features { posix_locks: true, flock: true, posix_acl: true, dont_mask: true, export: true }
    }

    async fn init(&self, negotiated: &Negotiated) -> Result<()> {
        if !negotiated.has_epochs() {
            let minor = negotiated.kernel_minor;
            tracing::warn!(minor, "this kernel (before Linux 6.16) cannot be told to forget names: it keeps none");
        }
        self.cache.started(negotiated.has_epochs());
        Ok(())
    }

    fn time_limit(&self) -> Option<Duration> {
        self.client.retry_timeout()
    }

    fn bounded<T>(&self, ctx: &Context, work: impl Future<Output = T>) -> impl Future<Output = T> {
        let user = ActingUser { uid: ctx.uid, gid: ctx.gid, pid: ctx.pid, groups: callers::groups };
        self.client.bounded(self.client.on_behalf(user, work))
    }

    async fn follow<T>(&self, arrived: Arrived, work: impl Future<Output = T>) -> T {
        let Some(trace) = self.traces.id(&arrived) else { return work.await };
        let (done, exchanges) = self.client.follow(trace, work).await;
        let asked = exchanges.into_iter().map(|exchange| traces::Asked {
            address: exchange.address,
            request: exchange.request,
            message_type: exchange.message_type,
            took: (exchange.began, exchange.ended),
        });
        self.traces.add(trace, arrived, Instant::now(), asked);
        done
    }

    fn arrived(&self, opcode: u32, uid: u32) {
        self.requests.arrived(opcode, uid);
    }

    fn answered(&self, opcode: u32, time: Duration, failed: bool) {
        self.requests.answered(opcode, time, failed);
    }

    fn begins(&self, opcode: u32, ino: Ino) {
        if asks_attributes(opcode) {
            self.cache.attributes_asked(ino);
        }
    }

    fn ended(&self, opcode: u32, ino: Ino) {
        if asks_attributes(opcode) {
            self.cache.attributes_sent(ino);
        }
    }

    async fn destroy(&self) {
        if let Err(error) = self.client.shutdown().await {
            tracing::error!(%error, "not everything was written before the mount ended");
        }
    }

    async fn lookup(&self, ctx: &Context, parent: Ino, name: &[u8]) -> Result<Entry> {
        names::lookup(self, ctx, parent, name).await
    }

    async fn forget(&self, ino: Ino, times: u64) {
        self.forgotten(ino, times);
    }

    async fn batch_forget(&self, forgets: &[(Ino, u64)]) {
        forgets.iter().for_each(|(ino, times)| self.forgotten(*ino, *times));
    }

    async fn getattr(&self, ctx: &Context, ino: Ino, _: Option<Fh>) -> Result<Attributes> {
        let (attr, ttl) = self.once_more(ctx, attrs::get(self, "getattr", ino).await)?;
        Ok(Attributes { attr: self.shown(&attr), ttl })
    }

    async fn setattr(&self, ctx: &Context, ino: Ino, set: &SetAttr) -> Result<Attributes> {
        self.once_more(ctx, attrs::set(self, ctx, ino, set).await)
    }

    async fn statx(&self, ctx: &Context, ino: Ino, _: Option<Fh>, _: u32, _: u32) -> Result<StatxReply> {
        let (attr, ttl) = self.once_more(ctx, attrs::get(self, "statx", ino).await)?;
        Ok(StatxReply { attr: self.shown(&attr), btime: Some(convert::btime(&attr)), ttl })
    }

    async fn readlink(&self, _: &Context, ino: Ino) -> Result<Vec<u8>> {
        self.client.readlink(inode(ino)).await.map_err(|e| errno("readlink", ino, e))
    }

    async fn symlink(&self, ctx: &Context, parent: Ino, name: &[u8], target: &[u8]) -> Result<Entry> {
        names::symlink(self, ctx, parent, name, target).await
    }

    async fn mknod(&self, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> Result<Entry> {
        names::mknod(self, ctx, parent, name, new).await
    }

    async fn mkdir(&self, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> Result<Entry> {
        names::mkdir(self, ctx, parent, name, new).await
    }

    async fn unlink(&self, _: &Context, parent: Ino, name: &[u8]) -> Result<()> {
        self.client.unlink(inode(parent), name).await.map_err(|e| errno("unlink", parent, e))
    }

    async fn rmdir(&self, _: &Context, parent: Ino, name: &[u8]) -> Result<()> {
        names::rmdir(self, parent, name).await
    }

    async fn rename(&self, _: &Context, parent: Ino, name: &[u8], to: Ino, to_name: &[u8], flags: u32) -> Result<()> {
        names::rename(self, (parent, name), (to, to_name), flags).await
    }

    async fn link(&self, _: &Context, ino: Ino, new_parent: Ino, new_name: &[u8]) -> Result<Entry> {
        names::link(self, ino, new_parent, new_name).await
    }

    async fn open(&self, ctx: &Context, ino: Ino, args: &OpenArgs) -> Result<Opened> {
        let opened = self.once_more(ctx, files::open(self, ctx, ino, args).await);
        // Until then: the kernel asks for attributes before it opens.
        if opened.is_ok() {
            self.again.done(ctx);
        }
        opened
    }

    async fn create(
        &self,
        ctx: &Context,
        parent: Ino,
        name: &[u8],
        new: &NewInode,
        args: &OpenArgs,
    ) -> Result<Created> {
        names::create(self, ctx, parent, name, new, args).await
    }

    async fn tmpfile(&self, ctx: &Context, parent: Ino, new: &NewInode, args: &OpenArgs) -> Result<Created> {
        names::tmpfile(self, ctx, parent, new, args).await
    }

    async fn read(&self, _: &Context, ino: Ino, args: &ReadArgs) -> Result<ReadData> {
        files::read(self, ino, args).await
    }

    async fn write(&self, ctx: &Context, ino: Ino, args: &WriteArgs, data: WriteData) -> Result<u32> {
        files::write(self, ctx, ino, args, &data).await
    }

    async fn flush(&self, ctx: &Context, ino: Ino, fh: Fh, lock_owner: u64) -> Result<()> {
        let _ending = locks::begin_close(self, ctx, ino, fh, lock_owner);
        let flushed = self.files.get(fh)?.handle.flush().await;
        locks::flushed(self, ino, lock_owner).await;
        flushed.map_err(|e| errno("close", ino, e))
    }

    async fn release(&self, _: &Context, ino: Ino, args: &ReleaseArgs) -> Result<()> {
        locks::released(self, ino, args).await;
        files::release(self, ino, args.fh).await
    }

    async fn fsync(&self, _: &Context, ino: Ino, fh: Fh, datasync: bool) -> Result<()> {
        self.files.get(fh)?.handle.fsync(datasync).await.map_err(|e| errno("fsync", ino, e))
    }

    async fn opendir(&self, _: &Context, ino: Ino, _: &OpenArgs) -> Result<Opened> {
        dirs::open(self, ino).await
    }

    async fn readdir(&self, _: &Context, ino: Ino, fh: Fh, offset: u64, buf: &mut DirBuffer) -> Result<()> {
        let dir = self.dirs.get(fh)?;
        dirs::fill(self, &dir, ino, offset, buf).await
    }

    async fn releasedir(&self, _: &Context, ino: Ino, args: &ReleaseArgs) -> Result<()> {
        dirs::release(self, ino, args.fh).await
    }

    async fn fsyncdir(&self, _: &Context, ino: Ino, _: Fh, _: bool) -> Result<()> {
        self.client.fsync_dir(inode(ino)).await.map_err(|e| errno("fsyncdir", ino, e))
    }

    async fn statfs(&self, _: &Context, ino: Ino) -> Result<StatFs> {
        attrs::statfs(self, ino).await
    }

    async fn setxattr(
        &self,
        ctx: &Context,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        flags: i32,
        kill_sgid: bool,
    ) -> Result<()> {
        xattrs::set(self, ctx, ino, (name, value), flags, kill_sgid).await
    }

    async fn getxattr(&self, ctx: &Context, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        xattrs::get(self, ctx, ino, name).await
    }

    async fn listxattr(&self, ctx: &Context, ino: Ino) -> Result<Vec<Vec<u8>>> {
        let mut names = self.client.listxattr(inode(ino)).await.map_err(|e| errno("listxattr", ino, e))?;
        names.retain(|name| xattrs::is_shown(name, ctx.uid));
        Ok(names)
    }

    async fn removexattr(&self, _: &Context, ino: Ino, name: &[u8]) -> Result<()> {
        xattrs::check(name)?;
        self.client.removexattr(inode(ino), name).await.map_err(|e| errno("removexattr", ino, e))
    }

    async fn getlk(&self, _: &Context, ino: Ino, args: &LockArgs) -> Result<Lock> {
        locks::get(self, ino, args).await
    }

    async fn setlk(&self, _: &Context, ino: Ino, args: &LockArgs) -> Result<()> {
        locks::set(self, ino, args).await
    }

    async fn flock(&self, _: &Context, ino: Ino, args: &LockArgs) -> Result<()> {
        locks::flock(self, ino, args).await
    }

    async fn fallocate(&self, ctx: &Context, ino: Ino, fh: Fh, offset: u64, len: u64, mode: i32) -> Result<()> {
        files::fallocate(self, ctx, ino, fh, offset..offset.saturating_add(len), mode).await
    }

    async fn lseek(&self, _: &Context, ino: Ino, fh: Fh, offset: u64, whence: i32) -> Result<u64> {
        files::seek(self, ino, fh, offset, whence).await
    }

    async fn copy_file_range(&self, ctx: &Context, args: &CopyArgs) -> Result<u64> {
        files::copy(self, ctx, args).await
    }

    async fn syncfs(&self, _: &Context, ino: Ino) -> Result<()> {
        self.client.sync_all().await.map_err(|e| errno("syncfs", ino, e))
    }
}
