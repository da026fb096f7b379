// SPDX-License-Identifier: Apache-2.0

//! The client's interface: everything by inode.

use crate::config::ClientConfig;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::file::encode;
use crate::file::encoding::{Encoded, Encoding};
use crate::file::handle::FileHandle;
use crate::file::move_data;
use crate::listener::CacheListener;
use crate::maintenance::thread;
use crate::namespace::lookup::name;
use crate::namespace::path;
use crate::rpc::acting_user::ActingUser;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::root;
use crate::rpc::transport::{Network, Rpc};
use crate::types::{ClientStats, Destination, FsStats, Lookup, Mode, OpenOptions, SetXattr};
use nyala_transport::trace::Exchange;
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::meta::{
    DelegationMode, EntryInfo, FileLock, Listing, MetaOp, MetaReply, NewEntry, Owner, Rename, SetAttr,
};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{Attr, ErrorCode, FileKind, GroupId, InodeId, Layout, StripePattern, TargetId};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A client of one cluster. Clones share it; it may be used from any thread that has a tokio runtime, and from several at
/// once: every thread has connections of its own.
#[derive(Clone)]
pub struct Client {
    core: Arc<Core>,
}

fn entry(parent: InodeId, bytes: &[u8], mode: Mode) -> Result<NewEntry> {
    Ok(NewEntry { parent, name: name(bytes)?, perm: mode.perm & 0o7777, umask: mode.umask & 0o777 })
}

impl Client {
    /// The inode that is meant: a client that is kept to a directory has that for a root, and calls it as the file system's root is called.
    async fn meant(&self, inode: InodeId) -> Result<InodeId> {
        root::meant(&self.core.cluster, inode).await
    }

    /// Gets the cluster map (waits for it until `retry_timeout`) and starts the background work.
    pub async fn connect(config: ClientConfig) -> Result<Client> {
        let network = Network::new(&config);
        Client::connect_over(config, Arc::new(network)).await
    }

    /// The same over anything that carries requests.
    pub async fn connect_over(config: ClientConfig, rpc: Arc<dyn Rpc>) -> Result<Client> {
        let core = Core::new(config, rpc)?;
        core.cluster.first_map().await?;
        thread::start(&core)?;
        Ok(Client { core })
    }

    /// The longest time that a call waits for servers; `None`: no limit.
    pub fn retry_timeout(&self) -> Option<Duration> {
        self.core.ctx.retry_timeout()
    }

    /// Runs a call, or several, such that all that they wait for together ends within [`Client::retry_timeout`]. Without it every
    /// single wait has that limit.
    pub async fn bounded<T>(&self, call: impl Future<Output = T>) -> T {
        crate::rpc::deadline::within(self.core.ctx.retry_timeout(), call).await
    }

    /// Runs a call on behalf of a user of this host. Without it a call is on nobody's: where this client's key has a rule about users, servers
    /// then allow what any user may whom the key may act as.
    pub async fn on_behalf<T>(&self, user: ActingUser, call: impl Future<Output = T>) -> T {
        crate::rpc::acting_user::on_behalf(user, call).await
    }

    /// Runs a call and follows the requests that it sends under a trace's id, if there is a tracer; with those that ended.
    pub async fn follow<T>(&self, trace: u64, call: impl Future<Output = T>) -> (T, Vec<Exchange>) {
        crate::rpc::following::follow(self.core.ctx.config.tracer.as_deref(), trace, call).await
    }

    /// The cluster map now.
    pub fn map(&self) -> Arc<ClusterMap> {
        self.core.cluster.maps.view().map.clone()
    }

    /// Counters.
    pub fn stats(&self) -> ClientStats {
        self.core.stats()
    }

    /// Who is to be told when something that this client said may be kept is true no longer. Set before anything is asked.
    pub fn set_listener(&self, listener: Arc<dyn CacheListener>) {
        self.core.delegations.set_listener(self.core.directories.fragments().in_numbers_above(listener));
    }

    /// How long a layer above may keep delegated things without asking again.
    pub fn delegation_time(&self) -> Duration {
        self.core.delegations.delegation_time()
    }

    /// What this client may do with an inode now; `None` too while the delegation is on its way back.
    pub fn delegation(&self, inode: InodeId) -> DelegationMode {
        self.core.directories.attrs.delegation(self.core.cluster.proofs.meant(inode))
    }

    /// Looks up a name, and says what may be kept of the answer.
    pub async fn lookup_entry(&self, parent: InodeId, name: &[u8]) -> Result<Lookup> {
        let parent = self.meant(parent).await?;
        let found = self.core.directories.lookup(parent, name).await?;
        found.attr.iter().for_each(|attr| self.core.namespace.parents.found(attr, parent, name));
        Ok(found)
    }

    /// The first lock that stands in the way of this one (`F_GETLK`).
    pub async fn get_lock(&self, inode: InodeId, lock: FileLock) -> Result<Option<FileLock>> {
        self.core.locks.get_lock(inode, lock).await
    }

    /// Takes a lock or gives it up. EAGAIN if another one is in the way, unless `wait`; EDEADLK if waiting cannot end.
    /// Dropping the future leaves no lock behind.
    pub async fn set_lock(&self, inode: InodeId, lock: FileLock, wait: bool) -> Result<()> {
        self.core.locks.set_lock(inode, lock, wait).await
    }

    /// Copies bytes from one file to another; on the storage targets where it can be. Returns how many: fewer than `len`
    /// where `from` ends.
    pub async fn copy_range(
        &self,
        from: &FileHandle,
        from_offset: u64,
        to: &FileHandle,
        offset: u64,
        len: u64,
    ) -> Result<u64> {
        self.core.ops.copy_range(from, from_offset, to, offset, len).await
    }

    /// Makes and opens a file without a name (`O_TMPFILE`).
    pub async fn tmpfile(&self, dir: InodeId, mode: impl Into<Mode>, owner: Owner) -> Result<(Attr, FileHandle)> {
        let dir = self.meant(dir).await?;
        let (attr, opened) = self.core.namespace.tmpfile(entry(dir, b"unnamed", mode.into())?, owner).await?;
        Ok((attr, FileHandle::new(self.core.clone(), opened)))
    }

    /// Looks up a name; ENOENT if it does not exist.
    pub async fn lookup(&self, parent: InodeId, name: &[u8]) -> Result<Attr> {
        let parent = self.meant(parent).await?;
        let missing = Error::refused(ErrorCode::NOT_FOUND, "there is no such name");
        self.core.directories.lookup(parent, name).await?.attr.ok_or(missing)
    }

    /// Attributes of an inode; this client's own unsent changes included.
    pub async fn getattr(&self, inode: InodeId) -> Result<Attr> {
        let inode = self.meant(inode).await?;
        self.core.directories.attrs.getattr(inode).await
    }

    /// Attributes of many inodes, in any order; those that are gone are left out.
    pub async fn getattrs(&self, inodes: &[InodeId]) -> Result<Vec<Attr>> {
        let top = root::root(&self.core.cluster).await?;
        let meant: Vec<InodeId> =
            inodes.iter().map(|inode| if *inode == InodeId::ROOT { top } else { *inode }).collect();
        self.core.directories.attrs.getattrs(&meant).await
    }

    /// Changes attributes. A new size or modification time comes after everything this client wrote before.
    pub async fn setattr(&self, inode: InodeId, set: SetAttr) -> Result<Attr> {
        let inode = self.meant(inode).await?;
        let attr = self.core.ops.setattr(inode, set).await?;
        self.core.directories.attrs.of(attr).await
    }

    /// Target of a symbolic link.
    pub async fn readlink(&self, inode: InodeId) -> Result<Vec<u8>> {
        self.core.namespace.readlink(inode).await
    }

    /// Makes a directory.
    pub async fn mkdir(&self, parent: InodeId, name: &[u8], mode: impl Into<Mode>, owner: Owner) -> Result<Attr> {
        let parent = self.meant(parent).await?;
        let entry = entry(parent, name, mode.into())?;
        let made =
            self.core.directories.make("make a directory", entry, owner, |entry| MetaOp::Mkdir { entry }).await?;
        self.core.namespace.parents.found(&made, parent, name);
        Ok(made)
    }

    /// Makes a fifo, socket, device or closed regular file.
    pub async fn mknod(
        &self,
        parent: InodeId,
        name: &[u8],
        kind: FileKind,
        mode: impl Into<Mode>,
        rdev: u32,
        owner: Owner,
    ) -> Result<Attr> {
        let parent = self.meant(parent).await?;
        let entry = entry(parent, name, mode.into())?;
        self.core
            .directories
            .make("make a node", entry, owner, |entry| MetaOp::Mknod { entry, kind, rdev, pattern: None })
            .await
    }

    /// Makes a closed regular file with a stripe pattern of its own. An older metadata server ignores the pattern: what came of it
    /// is in [`Client::entry_info`].
    pub async fn mkfile(
        &self,
        parent: InodeId,
        name: &[u8],
        mode: impl Into<Mode>,
        owner: Owner,
        pattern: StripePattern,
    ) -> Result<Attr> {
        pattern.check().map_err(Error::server("check the pattern"))?;
        let entry = entry(parent, name, mode.into())?;
        let op = |entry| MetaOp::Mknod { entry, kind: FileKind::File, rdev: 0, pattern: Some(pattern) };
        self.core.directories.make("make a file", entry, owner, op).await
    }

    /// Makes a symbolic link.
    pub async fn symlink(&self, parent: InodeId, name: &[u8], target: &[u8], owner: Owner) -> Result<Attr> {
        let parent = self.meant(parent).await?;
        let entry = entry(parent, name, Mode::from(0o777))?;
        let op = |entry| MetaOp::Symlink { entry, target: target.to_vec().into() };
        self.core.directories.make("make a symbolic link", entry, owner, op).await
    }

    /// Makes another name for an inode.
    pub async fn link(&self, inode: InodeId, parent: InodeId, bytes: &[u8]) -> Result<Attr> {
        let parent = self.meant(parent).await?;
        let link = |at| self.core.namespace.link(inode, at, bytes);
        self.core.directories.at_fragment("make a link", (parent, bytes), link).await
    }

    /// Removes a name that is not a directory's.
    pub async fn unlink(&self, parent: InodeId, bytes: &[u8]) -> Result<()> {
        let parent = self.meant(parent).await?;
        let unlink = |at| self.core.namespace.unlink(at, bytes);
        self.core.directories.at_fragment("remove a name", (parent, bytes), unlink).await
    }

    /// Removes an empty directory.
    pub async fn rmdir(&self, parent: InodeId, bytes: &[u8]) -> Result<()> {
        let parent = self.meant(parent).await?;
        self.core.directories.rmdir(parent, bytes).await
    }

    /// Renames.
    pub async fn rename(&self, rename: Rename) -> Result<()> {
        let from_parent = self.meant(rename.from_parent).await?;
        let to_parent = self.meant(rename.to_parent).await?;
        self.core.directories.rename(Rename { from_parent, to_parent, ..rename }).await
    }

    /// Makes and opens a file, or (unless `exclusive`) opens the one that is there.
    pub async fn create(
        &self,
        parent: InodeId,
        name: &[u8],
        mode: impl Into<Mode>,
        owner: Owner,
        exclusive: bool,
    ) -> Result<(Attr, FileHandle)> {
        let parent = self.meant(parent).await?;
        let (namespace, entry) = (&self.core.namespace, entry(parent, name, mode.into())?);
        let create = |parent| namespace.create(NewEntry { parent, ..entry.clone() }, owner, exclusive);
        let (attr, opened) = self.core.directories.at_fragment("create a file", (parent, name), create).await?;
        Ok((attr, FileHandle::new(self.core.clone(), opened)))
    }

    /// Opens a file.
    pub async fn open(&self, inode: InodeId, options: OpenOptions) -> Result<FileHandle> {
        if options.truncate {
            self.setattr(inode, SetAttr { size: Some(0), ..SetAttr::default() }).await?;
        }
        let opened = self.core.ops.open_handle(inode, None, options).await?;
        Ok(FileHandle::new(self.core.clone(), opened))
    }

    /// Lists a directory after a cookie (0: from the start).
    pub async fn readdir(&self, dir: InodeId, after_cookie: u64, max_entries: u32, plus: bool) -> Result<Listing> {
        let dir = self.meant(dir).await?;
        let listing = self.core.directories.readdir(dir, after_cookie, max_entries, plus).await?;
        self.core.namespace.parents.listed(&listing, dir);
        Ok(listing)
    }

    /// Value of an extended attribute.
    pub async fn getxattr(&self, inode: InodeId, name: &[u8]) -> Result<Vec<u8>> {
        let inode = self.meant(inode).await?;
        self.core.namespace.getxattr(inode, name).await
    }

    /// Sets an extended attribute.
    pub async fn setxattr(&self, inode: InodeId, name: &[u8], value: &[u8], how: SetXattr) -> Result<()> {
        let inode = self.meant(inode).await?;
        let (name, value) = (name.to_vec().into(), value.to_vec().into());
        let SetXattr { create, replace, kill_sgid } = how;
        let op = MetaOp::SetXattr { inode, name, value, create, replace, kill_sgid };
        self.core.namespace.change_xattr("set an extended attribute", inode, op).await
    }

    /// Names of extended attributes.
    pub async fn listxattr(&self, inode: InodeId) -> Result<Vec<Vec<u8>>> {
        let inode = self.meant(inode).await?;
        self.core.namespace.listxattr(inode).await
    }

    /// Removes an extended attribute.
    pub async fn removexattr(&self, inode: InodeId, name: &[u8]) -> Result<()> {
        let inode = self.meant(inode).await?;
        let op = MetaOp::RemoveXattr { inode, name: name.to_vec().into() };
        self.core.namespace.change_xattr("remove an extended attribute", inode, op).await
    }

    /// Size and use of the file system; at most a second old.
    pub async fn statfs(&self) -> Result<FsStats> {
        if let Some((at, stats)) = *self.core.capacity.lock()
            && at.elapsed() < Duration::from_secs(1)
        {
            return Ok(stats);
        }
        let reply = self.core.cluster.ask_management("ask for capacities", MgmtRequest::Capacities).await?;
        let MgmtReply::Capacities(capacities) = reply else { return Err(unexpected_reply("ask for capacities")) };
        let map = self.map();
        let mut stats = FsStats::default();
        for one in capacities {
            match map.target(one.target).map(|target| target.kind) {
                Some(TargetKind::Storage) => {
                    stats.total_bytes += one.capacity.total_bytes;
                    stats.free_bytes += one.capacity.free_bytes;
                }
                // What a mirror holds is counted once.
                Some(TargetKind::Meta) if map.server_on(one.target).is_none() => {}
                Some(TargetKind::Meta) => {
                    stats.total_inodes += one.capacity.total_inodes;
                    stats.free_inodes += one.capacity.free_inodes;
                }
                None => {}
            }
        }
        *self.core.capacity.lock() = Some((Instant::now(), stats));
        Ok(stats)
    }

    /// Where an inode and its data are.
    pub async fn entry_info(&self, inode: InodeId) -> Result<EntryInfo> {
        let inode = self.meant(inode).await?;
        match self.core.cluster.meta("get entry info", MetaOp::EntryInfo { inode }, Owner::default()).await? {
            MetaReply::EntryInfo(info) => {
                let attr = self.core.directories.attrs.of(info.attr.clone()).await?;
                Ok(EntryInfo { attr, ..*info })
            }
            _ => Err(unexpected_reply("get entry info")),
        }
    }

    /// Has `range` (offset and length, bytes) of a chunk file on the member `bad` of a mirror group replaced by what a
    /// good member has. That it was done does not say that it worked.
    pub async fn repair_copy(&self, group: GroupId, file: ChunkFileId, range: (u64, u32), bad: TargetId) -> Result<()> {
        self.core.cluster.repair_copy(group, file, range, bad).await
    }

    /// Removes a chunk file of an inode that does not exist from one target.
    pub async fn remove_chunk_file(&self, file: ChunkFileId, target: TargetId) -> Result<()> {
        self.core.cluster.remove_chunk_file(file, target).await
    }

    /// Cuts what lies at storage beside a file's inline content. Whether it could: the content is inline, nobody else uses the
    /// file, and its metadata server knows that a client may have left something there.
    pub async fn cut_beside_inline(&self, inode: InodeId) -> Result<bool> {
        let handle = self.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await?;
        let cut = self.core.writeback.cut_beside_inline(handle.file()).await;
        handle.release().await?;
        cut
    }

    /// Cuts what lies at storage behind a striped file's end, or beside inline content, with this client's hold on the file for
    /// nothing else. Whether it could: nobody else uses the file.
    pub async fn cut_behind_end(&self, inode: InodeId) -> Result<bool> {
        let handle = self.open(inode, OpenOptions::default()).await?;
        let cut = self.core.writeback.cut_behind_end(handle.file()).await;
        handle.release().await?;
        cut
    }

    /// Moves a file's data to other targets: its inode, names, times and content stay. `moved` hears how many bytes are copied. AGAIN if
    /// somebody has the file open, here or elsewhere, or asks for it meanwhile: then nothing is changed.
    pub async fn move_data(&self, inode: InodeId, to: &Destination, moved: impl Fn(u64)) -> Result<(u64, Layout)> {
        move_data::migrate(&self.core.ops, inode, to, &moved).await
    }

    /// Encodes a file that nobody has open, if there is something to do. `moved` hears how many bytes are copied. AGAIN if somebody has it
    /// open, or asks for it meanwhile: then nothing is changed.
    pub async fn encode(&self, inode: InodeId, wanted: &Encoding, moved: impl Fn(u64)) -> Result<Encoded> {
        encode::encode(&self.core.ops, inode, wanted, &moved).await
    }

    /// Removes a chunk file that lies where the layout of its file has none, as what an interrupted move of its data leaves. Whether it
    /// could: the layout has none there, and nobody else uses the file.
    pub async fn remove_beside_layout(&self, chunk: ChunkFileId, target: TargetId) -> Result<bool> {
        let handle = self.open(chunk.inode, OpenOptions::default()).await?;
        let done = move_data::remove_beside_layout(&self.core.ops, handle.file(), chunk, target).await;
        handle.release().await?;
        done
    }

    /// Returns when all changes of a mirrored chunk file that were under way are on all members.
    pub async fn settled(&self, group: GroupId, file: ChunkFileId) -> Result<()> {
        self.core.cluster.settled(group, file).await
    }

    /// Sets what a directory gives to new files.
    pub async fn set_pattern(&self, dir: InodeId, pattern: StripePattern) -> Result<()> {
        let dir = self.meant(dir).await?;
        pattern.check().map_err(Error::server("check the pattern"))?;
        self.core.namespace.change_xattr("set the pattern", dir, MetaOp::SetPattern { dir, pattern }).await
    }

    /// The directory above a directory.
    pub async fn parent(&self, dir: InodeId) -> Result<InodeId> {
        let dir = self.meant(dir).await?;
        let top = root::root(&self.core.cluster).await?;
        if dir == top {
            return Ok(InodeId::ROOT);
        }
        Ok(self.core.cluster.proofs.called(self.core.namespace.parent(dir).await?))
    }

    /// Follows a path from the root; symbolic links, in the middle and at the end, only if asked.
    pub async fn resolve(&self, path: &[u8], follow: bool) -> Result<Attr> {
        path::resolve(&self.core.directories, root::root(&self.core.cluster).await?, path, follow).await
    }

    /// Everything written and done so far is on disk (`syncfs`).
    pub async fn sync_all(&self) -> Result<()> {
        self.core.sync_all().await
    }

    /// A directory's changes so far are on disk.
    pub async fn fsync_dir(&self, dir: InodeId) -> Result<()> {
        let dir = self.meant(dir).await?;
        for inode in self.core.directories.attrs.all_fragments(dir).await? {
            match self.map().slot_target(inode.slot()) {
                Some(target) => {
                    self.core.cluster.meta_at("sync a directory", MetaOp::Sync, target).await?;
                    self.core.cluster.confirm(inode).await?;
                }
                None => return self.core.sync_all().await,
            }
        }
        Ok(())
    }

    /// Writes everything out, closes files and sessions. The client does nothing afterwards.
    pub async fn shutdown(&self) -> Result<()> {
        self.core.shut_down().await
    }
}
