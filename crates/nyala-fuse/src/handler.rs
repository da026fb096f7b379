// SPDX-License-Identifier: Apache-2.0

//! The one interface between a mount and what it shows.
//!
//! Methods are asynchronous and must never block the thread: many requests share it. They may be polled once by the
//! session's reader before they get a task of their own, so one that is ready at once costs no task. Their futures need
//! not be `Send`; with several threads one handler is called from all of them. A future is dropped unfinished only when
//! the mount is gone, or it waits for a lock and its caller is interrupted. A request whose caller is killed, or that takes
//! longer than [`Handler::time_limit`], is answered with an error while its future goes on to its end; what that would have given the
//! kernel is then taken back with `release` and `forget`. A handler that panics makes its one request fail with `EIO`.
//!
//! Whatever a handler does not implement answers `ENOSYS`; for many operations (flush, access, fsync, lseek,
//! copy_file_range, statx, tmpfile, …) the kernel then does without for the rest of the mount.
//!
//! Lookup counts: every [`Entry`] with a non-zero inode that a handler returns (lookup, mknod, mkdir, symlink, link,
//! create, tmpfile, and each entry that [`DirBuffer::add_entry`] accepted) counts as one; `forget` takes counts back.
//! When the mount ends all counts are void, without forgets.

use crate::buf::WriteData;
use crate::dirbuf::DirBuffer;
use crate::errno::Errno;
use crate::types::*;
use std::future::Future;
use std::time::Duration;

/// What a mount shows. See the module's documentation for the rules.
#[allow(unused_variables, reason = "the defaults need no arguments, the documentation needs their names")]
pub trait Handler: Send + Sync + 'static {
    /// What to ask of the kernel; read once, before INIT is answered.
    fn features(&self) -> Features {
        Features::default()
    }

    /// The kernel is there and agreed to this. An error ends the session before any request.
    fn init(&self, negotiated: &Negotiated) -> impl Future<Output = Result<()>> {
        async { Ok(()) }
    }

    /// A request of this number has come from a program of this user; for counting. Most that the kernel sends come here, interrupts among
    /// them.
    fn arrived(&self, opcode: u32, uid: u32) {}

    /// A request of this number, which came so long ago, is being answered; for counting.
    fn answered(&self, opcode: u32, time: Duration, failed: bool) {}

    /// A request of this number for this inode is about to be served.
    fn begins(&self, opcode: u32, ino: Ino) {}

    /// What [`Handler::begins`] was told of is answered: the kernel has what it was told.
    fn ended(&self, opcode: u32, ino: Ino) {}

    /// The longest time from a request to its answer; `None`: no limit. Waiting for locks has none.
    fn time_limit(&self) -> Option<Duration> {
        None
    }

    /// Runs a request's work, for its caller, such that whatever it waits for is given up at the time limit.
    fn bounded<T>(&self, ctx: &Context, work: impl Future<Output = T>) -> impl Future<Output = T> {
        work
    }

    /// Runs a request's work; whoever wants to know how long it takes, and what for, looks at it here.
    fn follow<T>(&self, arrived: Arrived, work: impl Future<Output = T>) -> impl Future<Output = T> {
        work
    }

    /// The mount is gone and no request is running. Called once.
    fn destroy(&self) -> impl Future<Output = ()> {
        async {}
    }

    /// Finds a name. A name that does not exist is `ENOENT`, or an entry with inode zero to have that remembered.
    fn lookup(&self, ctx: &Context, parent: Ino, name: &[u8]) -> impl Future<Output = Result<Entry>> {
        async { Err(Errno::ENOSYS) }
    }

    /// The kernel lost `nlookup` of its references to the inode.
    fn forget(&self, ino: Ino, nlookup: u64) -> impl Future<Output = ()> {
        async {}
    }

    /// Several forgets.
    fn batch_forget(&self, forgets: &[(Ino, u64)]) -> impl Future<Output = ()> {
        async move {
            for (ino, nlookup) in forgets {
                self.forget(*ino, *nlookup).await;
            }
        }
    }

    /// Attributes; `fh` when the call was on an open file.
    fn getattr(&self, ctx: &Context, ino: Ino, fh: Option<Fh>) -> impl Future<Output = Result<Attributes>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Changes attributes, all of them or none.
    fn setattr(&self, ctx: &Context, ino: Ino, set: &SetAttr) -> impl Future<Output = Result<Attributes>> {
        async { Err(Errno::ENOSYS) }
    }

    /// The target of a symbolic link.
    fn readlink(&self, ctx: &Context, ino: Ino) -> impl Future<Output = Result<Vec<u8>>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Makes a symbolic link.
    fn symlink(&self, ctx: &Context, parent: Ino, name: &[u8], target: &[u8]) -> impl Future<Output = Result<Entry>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Makes a file, device node, pipe or socket.
    fn mknod(&self, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> impl Future<Output = Result<Entry>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Makes a directory. The mode has no type bits.
    fn mkdir(&self, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> impl Future<Output = Result<Entry>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Removes a name that is not a directory.
    fn unlink(&self, ctx: &Context, parent: Ino, name: &[u8]) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Removes an empty directory.
    fn rmdir(&self, ctx: &Context, parent: Ino, name: &[u8]) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Renames; `flags` are `RENAME_NOREPLACE`, `RENAME_EXCHANGE`, `RENAME_WHITEOUT`.
    fn rename(
        &self,
        ctx: &Context,
        parent: Ino,
        name: &[u8],
        new_parent: Ino,
        new_name: &[u8],
        flags: u32,
    ) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Gives an inode another name.
    fn link(&self, ctx: &Context, ino: Ino, new_parent: Ino, new_name: &[u8]) -> impl Future<Output = Result<Entry>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Opens a file. Without an implementation the kernel never asks again, and keeps cached pages over opens.
    fn open(&self, ctx: &Context, ino: Ino, args: &OpenArgs) -> impl Future<Output = Result<Opened>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Makes and opens a file; with `O_EXCL` in `args.flags` an existing name is `EEXIST`, without it is opened.
    fn create(
        &self,
        ctx: &Context,
        parent: Ino,
        name: &[u8],
        new: &NewInode,
        args: &OpenArgs,
    ) -> impl Future<Output = Result<Created>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Makes and opens a file without a name.
    fn tmpfile(
        &self,
        ctx: &Context,
        parent: Ino,
        new: &NewInode,
        args: &OpenArgs,
    ) -> impl Future<Output = Result<Created>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Reads. More than `args.size` is cut.
    fn read(&self, ctx: &Context, ino: Ino, args: &ReadArgs) -> impl Future<Output = Result<ReadData>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Writes; says how many bytes. The data is in the buffer that the kernel filled; dropping it frees the buffer.
    fn write(&self, ctx: &Context, ino: Ino, args: &WriteArgs, data: WriteData) -> impl Future<Output = Result<u32>> {
        async { Err(Errno::ENOSYS) }
    }

    /// An open file was closed (once for every duplicate of it); also drops the owner's POSIX locks.
    fn flush(&self, ctx: &Context, ino: Ino, fh: Fh, lock_owner: u64) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// The last close. The kernel does not wait for it nor look at an error.
    fn release(&self, ctx: &Context, ino: Ino, args: &ReleaseArgs) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Makes a file's content durable, and unless `datasync` all of its attributes.
    fn fsync(&self, ctx: &Context, ino: Ino, fh: Fh, datasync: bool) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Opens a directory. Without an implementation the kernel never asks again, and caches listings for ever.
    fn opendir(&self, ctx: &Context, ino: Ino, args: &OpenArgs) -> impl Future<Output = Result<Opened>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Puts entries into `buf` until it is full, beginning after the entry whose cookie is `offset` (0: at the start).
    fn readdir(
        &self,
        ctx: &Context,
        ino: Ino,
        fh: Fh,
        offset: u64,
        buf: &mut DirBuffer,
    ) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// As `readdir`, where `buf` takes attributes too. Without an implementation, names only.
    fn readdirplus(
        &self,
        ctx: &Context,
        ino: Ino,
        fh: Fh,
        offset: u64,
        buf: &mut DirBuffer,
    ) -> impl Future<Output = Result<()>> {
        self.readdir(ctx, ino, fh, offset, buf)
    }

    /// The last close of a directory.
    fn releasedir(&self, ctx: &Context, ino: Ino, args: &ReleaseArgs) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Makes a directory's entries durable.
    fn fsyncdir(&self, ctx: &Context, ino: Ino, fh: Fh, datasync: bool) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Space and inodes.
    fn statfs(&self, ctx: &Context, ino: Ino) -> impl Future<Output = Result<StatFs>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Sets an extended attribute; `flags` are `XATTR_CREATE` and `XATTR_REPLACE`. `kill_sgid`: an ACL is set by
    /// someone who may not keep the setgid bit.
    fn setxattr(
        &self,
        ctx: &Context,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        flags: i32,
        kill_sgid: bool,
    ) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// The value of an extended attribute, `ENODATA` when there is none. The session compares it with the caller's size.
    fn getxattr(&self, ctx: &Context, ino: Ino, name: &[u8]) -> impl Future<Output = Result<Vec<u8>>> {
        async { Err(Errno::ENOSYS) }
    }

    /// The names of all extended attributes. The session packs them and compares them with the caller's size.
    fn listxattr(&self, ctx: &Context, ino: Ino) -> impl Future<Output = Result<Vec<Vec<u8>>>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Removes an extended attribute.
    fn removexattr(&self, ctx: &Context, ino: Ino, name: &[u8]) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// `access(2)`; not asked with `default_permissions`.
    fn access(&self, ctx: &Context, ino: Ino, mask: u32) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// The first lock that conflicts, or one of kind `F_UNLCK`. Needs [`Features::posix_locks`].
    fn getlk(&self, ctx: &Context, ino: Ino, args: &LockArgs) -> impl Future<Output = Result<Lock>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Takes or drops a byte-range lock. Needs [`Features::posix_locks`]. One that waits ends with `EINTR` and its
    /// future dropped when the caller is interrupted, so the handler must be ready to give a lock back that arrives late.
    fn setlk(&self, ctx: &Context, ino: Ino, args: &LockArgs) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// Takes or drops a whole-file lock; `args.lock.kind` as for setlk. Needs [`Features::flock`]. Interrupted as setlk.
    fn flock(&self, ctx: &Context, ino: Ino, args: &LockArgs) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// `fallocate(2)`.
    fn fallocate(
        &self,
        ctx: &Context,
        ino: Ino,
        fh: Fh,
        offset: u64,
        len: u64,
        mode: i32,
    ) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }

    /// `SEEK_DATA` and `SEEK_HOLE`.
    fn lseek(&self, ctx: &Context, ino: Ino, fh: Fh, offset: u64, whence: i32) -> impl Future<Output = Result<u64>> {
        async { Err(Errno::ENOSYS) }
    }

    /// `copy_file_range(2)`; says how many bytes.
    fn copy_file_range(&self, ctx: &Context, args: &CopyArgs) -> impl Future<Output = Result<u64>> {
        async { Err(Errno::ENOSYS) }
    }

    /// `statx(2)` where it asks for more than getattr gives. `flags` and `mask` as there.
    fn statx(
        &self,
        ctx: &Context,
        ino: Ino,
        fh: Option<Fh>,
        flags: u32,
        mask: u32,
    ) -> impl Future<Output = Result<StatxReply>> {
        async { Err(Errno::ENOSYS) }
    }

    /// `syncfs(2)`.
    fn syncfs(&self, ctx: &Context, ino: Ino) -> impl Future<Output = Result<()>> {
        async { Err(Errno::ENOSYS) }
    }
}
