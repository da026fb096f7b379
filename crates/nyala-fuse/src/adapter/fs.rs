// SPDX-License-Identifier: Apache-2.0

//! The handler: one short method per request.

use super::convert::{self, errno, inode, owner, perm};
use super::dirs::{self, Dir, OpenDirs};
use super::handles::Handles;
use crate::types::*;
use crate::{DirBuffer, Errno, Handler, WriteData};
use nyala_client::{Client, FileHandle, OpenOptions, SeekTarget};
use nyala_wire::meta::Rename;
use nyala_wire::{ErrorCode, FileKind};
use std::sync::Arc;
use std::time::Duration;

/// How a mount behaves.
#[derive(Clone, Debug)]
pub struct FsOptions {
    /// How long the kernel may use entries and attributes again; at most 1 s, which is the promise to other mounts.
    pub cache_time: Duration,
    /// Bypass the kernel's page cache for all files.
    pub direct_io: bool,
}

impl Default for FsOptions {
    fn default() -> FsOptions {
        FsOptions { cache_time: Duration::from_secs(1), direct_io: false }
    }
}

/// A mounted Nyala.
pub struct NyalaFs {
    pub(super) client: Client,
    pub(super) options: FsOptions,
    files: Handles<FileHandle>,
    dirs: Handles<Arc<Dir>>,
    open_dirs: OpenDirs,
}

impl NyalaFs {
    /// Shows what this client sees.
    pub fn new(client: Client, options: FsOptions) -> NyalaFs {
        NyalaFs { client, options, files: Handles::new(), dirs: Handles::new(), open_dirs: OpenDirs::default() }
    }

    /// An entry for the kernel.
    pub(super) fn entry(&self, attr: &nyala_wire::Attr) -> Entry {
        let ttl = self.options.cache_time;
        let (ino, attr) = (Ino(attr.inode.0), convert::attr(attr));
        Entry { ino, generation: 0, attr, entry_ttl: ttl, attr_ttl: ttl }
    }

    fn attributes(&self, attr: &nyala_wire::Attr) -> Attributes {
        Attributes { attr: convert::attr(attr), ttl: self.options.cache_time }
    }

    async fn attr_of(&self, what: &'static str, ino: Ino) -> Result<nyala_wire::Attr> {
        self.client.getattr(inode(ino)).await.or_else(|error| {
            let last = self.open_dirs.last(ino).filter(|_| error.is(ErrorCode::STALE));
            last.ok_or_else(|| errno(what, ino, error))
        })
    }

    fn opened(&self, handle: FileHandle) -> Opened {
        let mode = OpenMode { direct_io: self.options.direct_io, ..OpenMode::default() };
        Opened { fh: self.files.add(handle), mode }
    }
}

/// Attributes that another layer owns: ACLs come with their enforcement.
fn refuse_system(name: &[u8]) -> Result<()> {
    if name.starts_with(b"system.") { Err(Errno::ENOTSUP) } else { Ok(()) }
}

impl Handler for NyalaFs {
    async fn destroy(&self) {
        if let Err(error) = self.client.shutdown().await {
            tracing::error!(%error, "not everything was written before the mount ended");
        }
    }

    async fn lookup(&self, _: &Context, parent: Ino, name: &[u8]) -> Result<Entry> {
        let attr = self.client.lookup(inode(parent), name).await.map_err(|e| errno("lookup", parent, e))?;
        Ok(self.entry(&attr))
    }

    async fn forget(&self, _: Ino, _: u64) {}

    async fn batch_forget(&self, _: &[(Ino, u64)]) {}

    async fn getattr(&self, _: &Context, ino: Ino, _: Option<Fh>) -> Result<Attributes> {
        Ok(self.attributes(&self.attr_of("getattr", ino).await?))
    }

    async fn setattr(&self, _: &Context, ino: Ino, set: &SetAttr) -> Result<Attributes> {
        let set = convert::set_attr(set);
        let attr = self.client.setattr(inode(ino), set).await.map_err(|e| errno("setattr", ino, e))?;
        Ok(self.attributes(&attr))
    }

    async fn readlink(&self, _: &Context, ino: Ino) -> Result<Vec<u8>> {
        self.client.readlink(inode(ino)).await.map_err(|e| errno("readlink", ino, e))
    }

    async fn symlink(&self, ctx: &Context, parent: Ino, name: &[u8], target: &[u8]) -> Result<Entry> {
        let made = self.client.symlink(inode(parent), name, target, owner(ctx)).await;
        Ok(self.entry(&made.map_err(|e| errno("symlink", parent, e))?))
    }

    async fn mknod(&self, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> Result<Entry> {
        let kind = if new.mode & 0o170_000 == 0 { Some(FileKind::File) } else { FileKind::from_mode(new.mode) };
        let kind = kind.ok_or(Errno::EINVAL)?;
        let made = self.client.mknod(inode(parent), name, kind, perm(new), new.rdev, owner(ctx)).await;
        Ok(self.entry(&made.map_err(|e| errno("mknod", parent, e))?))
    }

    async fn mkdir(&self, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> Result<Entry> {
        let made = self.client.mkdir(inode(parent), name, perm(new), owner(ctx)).await;
        Ok(self.entry(&made.map_err(|e| errno("mkdir", parent, e))?))
    }

    async fn unlink(&self, _: &Context, parent: Ino, name: &[u8]) -> Result<()> {
        self.client.unlink(inode(parent), name).await.map_err(|e| errno("unlink", parent, e))
    }

    async fn rmdir(&self, _: &Context, parent: Ino, name: &[u8]) -> Result<()> {
        let last = if self.open_dirs.is_empty() { None } else { self.client.lookup(inode(parent), name).await.ok() };
        self.client.rmdir(inode(parent), name).await.map_err(|e| errno("rmdir", parent, e))?;
        last.into_iter().for_each(|attr| self.open_dirs.removed(attr));
        Ok(())
    }

    async fn rename(&self, _: &Context, parent: Ino, name: &[u8], to: Ino, to_name: &[u8], flags: u32) -> Result<()> {
        if flags & !(libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE) != 0 {
            return Err(Errno::EINVAL);
        }
        let valid = |name| nyala_wire::Name::new(name).map_err(|e| Errno::from_raw(e.code.errno()));
        let rename = Rename {
            from_parent: inode(parent),
            from_name: valid(name)?,
            to_parent: inode(to),
            to_name: valid(to_name)?,
            no_replace: flags & libc::RENAME_NOREPLACE != 0,
            exchange: flags & libc::RENAME_EXCHANGE != 0,
        };
        self.client.rename(rename).await.map_err(|e| errno("rename", parent, e))
    }

    async fn link(&self, _: &Context, ino: Ino, new_parent: Ino, new_name: &[u8]) -> Result<Entry> {
        let made = self.client.link(inode(ino), inode(new_parent), new_name).await;
        Ok(self.entry(&made.map_err(|e| errno("link", ino, e))?))
    }

    async fn open(&self, _: &Context, ino: Ino, args: &OpenArgs) -> Result<Opened> {
        // The kernel gives the offset of appending writes itself.
        let options = OpenOptions { truncate: args.flags & libc::O_TRUNC != 0, append: false };
        let handle = self.client.open(inode(ino), options).await.map_err(|e| errno("open", ino, e))?;
        if args.kill_suidgid {
            let set = nyala_wire::meta::SetAttr { kill_suidgid: true, ..Default::default() };
            self.client.setattr(inode(ino), set).await.map_err(|e| errno("open", ino, e))?;
        }
        Ok(self.opened(handle))
    }

    async fn create(
        &self,
        ctx: &Context,
        parent: Ino,
        name: &[u8],
        new: &NewInode,
        args: &OpenArgs,
    ) -> Result<Created> {
        let exclusive = args.flags & libc::O_EXCL != 0;
        let fail = |e| errno("create", parent, e);
        let made = self.client.create(inode(parent), name, perm(new), owner(ctx), exclusive).await;
        let (mut attr, handle) = made.map_err(fail)?;
        if args.flags & libc::O_TRUNC != 0 && attr.size > 0 {
            let set = nyala_wire::meta::SetAttr { size: Some(0), ..Default::default() };
            attr = self.client.setattr(attr.inode, set).await.map_err(fail)?;
        }
        Ok(Created { entry: self.entry(&attr), opened: self.opened(handle) })
    }

    async fn read(&self, _: &Context, ino: Ino, args: &ReadArgs) -> Result<ReadData> {
        let handle = self.files.get(args.fh)?;
        let data = handle.read(args.offset, args.size as usize).await.map_err(|e| errno("read", ino, e))?;
        Ok(ReadData::Segments(data))
    }

    async fn write(&self, _: &Context, ino: Ino, args: &WriteArgs, data: WriteData) -> Result<u32> {
        let handle = self.files.get(args.fh)?;
        let fail = |e| errno("write", ino, e);
        if args.kill_suidgid {
            let set = nyala_wire::meta::SetAttr { kill_suidgid: true, ..Default::default() };
            self.client.setattr(inode(ino), set).await.map_err(fail)?;
        }
        let written = handle.write(args.offset, &data).await.map_err(fail)?;
        u32::try_from(written).map_err(|_| Errno::EIO)
    }

    async fn flush(&self, _: &Context, ino: Ino, fh: Fh, _: u64) -> Result<()> {
        self.files.get(fh)?.flush().await.map_err(|e| errno("close", ino, e))
    }

    async fn release(&self, _: &Context, ino: Ino, args: &ReleaseArgs) -> Result<()> {
        self.files.remove(args.fh)?.release().await.map_err(|e| errno("release", ino, e))
    }

    async fn fsync(&self, _: &Context, ino: Ino, fh: Fh, datasync: bool) -> Result<()> {
        self.files.get(fh)?.fsync(datasync).await.map_err(|e| errno("fsync", ino, e))
    }

    async fn opendir(&self, _: &Context, ino: Ino, _: &OpenArgs) -> Result<Opened> {
        self.open_dirs.opened(ino);
        Ok(Opened { fh: self.dirs.add(Dir::new()), mode: OpenMode::default() })
    }

    async fn readdir(&self, _: &Context, ino: Ino, fh: Fh, offset: u64, buf: &mut DirBuffer) -> Result<()> {
        let dir = self.dirs.get(fh)?;
        dirs::fill(self, &dir, ino, offset, buf).await
    }

    async fn releasedir(&self, _: &Context, ino: Ino, args: &ReleaseArgs) -> Result<()> {
        self.open_dirs.closed(ino);
        self.dirs.remove(args.fh).map(|_| ())
    }

    async fn fsyncdir(&self, _: &Context, ino: Ino, _: Fh, _: bool) -> Result<()> {
        self.client.fsync_dir(inode(ino)).await.map_err(|e| errno("fsyncdir", ino, e))
    }

    async fn statfs(&self, _: &Context, ino: Ino) -> Result<StatFs> {
        const BLOCK: u32 = 4096;
        let stats = self.client.statfs().await.map_err(|e| errno("statfs", ino, e))?;
        let free = stats.free_bytes / u64::from(BLOCK);
        Ok(StatFs {
            block_bytes: BLOCK,
            blocks: stats.total_bytes / u64::from(BLOCK),
            blocks_free: free,
            blocks_available: free,
            files: stats.total_inodes,
            files_free: stats.free_inodes,
            name_max: nyala_wire::Name::MAX_BYTES as u32,
        })
    }

    async fn setxattr(&self, _: &Context, ino: Ino, name: &[u8], value: &[u8], flags: i32, _: bool) -> Result<()> {
        refuse_system(name)?;
        let (create, replace) = (flags & libc::XATTR_CREATE != 0, flags & libc::XATTR_REPLACE != 0);
        let set = self.client.setxattr(inode(ino), name, value, create, replace).await;
        set.map_err(|e| errno("setxattr", ino, e))
    }

    async fn getxattr(&self, _: &Context, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        refuse_system(name)?;
        self.client.getxattr(inode(ino), name).await.map_err(|e| errno("getxattr", ino, e))
    }

    async fn listxattr(&self, _: &Context, ino: Ino) -> Result<Vec<Vec<u8>>> {
        self.client.listxattr(inode(ino)).await.map_err(|e| errno("listxattr", ino, e))
    }

    async fn removexattr(&self, _: &Context, ino: Ino, name: &[u8]) -> Result<()> {
        refuse_system(name)?;
        self.client.removexattr(inode(ino), name).await.map_err(|e| errno("removexattr", ino, e))
    }

    async fn fallocate(&self, _: &Context, ino: Ino, fh: Fh, offset: u64, len: u64, mode: i32) -> Result<()> {
        self.files.get(fh)?.fallocate(mode, offset, len).await.map_err(|e| errno("fallocate", ino, e))
    }

    async fn lseek(&self, _: &Context, ino: Ino, fh: Fh, offset: u64, whence: i32) -> Result<u64> {
        let target = match whence {
            libc::SEEK_DATA => SeekTarget::Data,
            libc::SEEK_HOLE => SeekTarget::Hole,
            _ => return Err(Errno::EINVAL),
        };
        self.files.get(fh)?.seek(offset, target).await.map_err(|e| errno("lseek", ino, e))
    }

    async fn statx(&self, _: &Context, ino: Ino, _: Option<Fh>, _: u32, _: u32) -> Result<StatxReply> {
        let attr = self.attr_of("statx", ino).await?;
        let ttl = self.options.cache_time;
        Ok(StatxReply { attr: convert::attr(&attr), btime: Some(convert::btime(&attr)), ttl })
    }

    async fn syncfs(&self, _: &Context, ino: Ino) -> Result<()> {
        self.client.sync_all().await.map_err(|e| errno("syncfs", ino, e))
    }
}
