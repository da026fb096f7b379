// SPDX-License-Identifier: Apache-2.0

//! Open files.
//!
//! **Failure model.** A handle that the kernel reads and writes directly can still get pages into the kernel's cache, by
//! `mmap`; such requests can be told apart (they name no lock owner, or say that they come from the cache), and from the
//! first of them on the file's content is treated as kept by the kernel. An append can land elsewhere than the kernel
//! thinks, when others have appended: what it thinks of the file is then withdrawn. Taking setuid bits away comes after
//! the write, when the attributes are known that were true while it happened.

use super::convert::{errno, inode};
use super::fs::NyalaFs;
use super::{atime, attrs};
use crate::types::*;
use crate::{Errno, InvalRange};
use nyala_client::{FileHandle, OpenOptions, SeekTarget, wall_clock};
use nyala_wire::ErrorCode;
use nyala_wire::meta::{DelegationMode, SetAttr, SetTime};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What Linux adds to the flags of an open for execution; the C library does not name it.
const FMODE_EXEC: i32 = 0x20;
const SETUID_SETGID: u16 = 0o6000;
const CAPABILITY: &[u8] = b"security.capability";

/// An open file.
pub struct OpenFile {
    /// The client's.
    pub handle: FileHandle,
    /// Reads and writes bypass the kernel's page cache, besides those of mappings.
    direct: bool,
    /// It has, or may have, pages in the kernel's cache.
    has_pages: AtomicBool,
    /// Not used yet, and the kernel drops pages before it is.
    fresh: AtomicBool,
    /// Reading counts for the access time, and something was read.
    counts_reads: bool,
    was_read: AtomicBool,
    /// It had no capabilities when it was first written.
    no_capability: AtomicBool,
}

/// Whether a file opened so is read and written directly from the start: what is only written need not be kept, an
/// append has to be placed by the servers, and who says O_DIRECT means it.
fn is_direct(flags: i32) -> bool {
    flags & libc::O_ACCMODE == libc::O_WRONLY || flags & (libc::O_APPEND | libc::O_DIRECT) != 0
}

fn is_written(flags: i32) -> bool {
    matches!(flags & libc::O_ACCMODE, libc::O_WRONLY | libc::O_RDWR)
}

/// Opens a file.
pub async fn open(fs: &NyalaFs, ctx: &Context, ino: Ino, args: &OpenArgs) -> Result<Opened> {
    fs.cache.recheck(ino);
    let options = OpenOptions {
        truncate: args.flags & libc::O_TRUNC != 0,
        // Each write says by itself whether it appends.
        append: false,
        write: is_written(args.flags),
        // A program is mapped, whatever comes.
        buffered: args.flags & FMODE_EXEC != 0,
    };
    let handle = fs.client.open(inode(ino), options).await.map_err(|e| errno("open", ino, e))?;
    if args.kill_suidgid {
        kill_suidgid(fs, ctx, ino, &handle).await?;
    }
    let uncached = handle.delegation() == DelegationMode::Uncached;
    Ok(opened(fs, handle, args.flags, uncached))
}

/// Gives an open file to the kernel.
pub fn opened(fs: &NyalaFs, handle: FileHandle, flags: i32, uncached: bool) -> Opened {
    let direct = fs.options.direct_io || uncached || is_direct(flags) || !fs.cache.keeps();
    handle.set_buffered(!direct);
    let counts_reads = flags & libc::O_NOATIME == 0;
    // Without a delegation, what the kernel has from earlier is not to be trusted; it was withdrawn, or nearly. And what the
    // kernel has it gives to readers without a word here: where the access time is due, the next read is to come here.
    let due =
        counts_reads && fs.counts_reads() && handle.known_attr().is_some_and(|attr| atime::due(&attr, wall_clock()));
    let keep_cache = !direct && !due && fs.is_delegated(handle.inode());
    if !direct {
        fs.cache.pages.note_open(handle.inode());
    }
    let has_pages = AtomicBool::new(!direct);
    // The kernel drops the pages it has when it hears of such an open file: at the latest when it first uses it.
    if !keep_cache {
        fs.cache.pages.begin_invalidation(handle.inode());
    }
    let fresh = AtomicBool::new(!keep_cache);
    let (was_read, no_capability) = (AtomicBool::new(false), AtomicBool::new(false));
    let file = OpenFile { handle, direct, has_pages, fresh, counts_reads, was_read, no_capability };
    let mode = OpenMode { direct_io: direct, parallel_direct_writes: direct, keep_cache, ..OpenMode::default() };
    Opened { fh: fs.files.add(Arc::new(file)), mode }
}

/// Reads.
pub async fn read(fs: &NyalaFs, ino: Ino, args: &ReadArgs) -> Result<ReadData> {
    let file = fs.files.get(args.fh)?;
    is_used(fs, ino, &file);
    if !file.direct || args.lock_owner.is_none() {
        keeps_pages(fs, ino, &file);
        fs.cache.pages.note_read(inode(ino), args.offset, u64::from(args.size));
    }
    let data = file.handle.read(args.offset, args.size as usize).await.map_err(|e| errno("read", ino, e))?;
    if file.counts_reads && !file.was_read.load(Ordering::Relaxed) && fs.counts_reads() {
        file.was_read.store(true, Ordering::Relaxed);
        // Without a delegation it is not known here whether it is due.
        if let Some(attr) = file.handle.known_attr().filter(|_| fs.is_delegated(inode(ino))) {
            fs.access_times.read(&attr, wall_clock());
        }
    }
    Ok(ReadData::Segments(data))
}

/// The kernel uses an open file.
fn is_used(fs: &NyalaFs, ino: Ino, file: &OpenFile) {
    if file.fresh.load(Ordering::Acquire) && file.fresh.swap(false, Ordering::AcqRel) {
        fs.cache.pages.end_invalidation(inode(ino));
    }
}

/// The kernel has pages through this handle from now on.
fn keeps_pages(fs: &NyalaFs, ino: Ino, file: &OpenFile) {
    if !file.has_pages.load(Ordering::Acquire) && !file.has_pages.swap(true, Ordering::AcqRel) {
        file.handle.set_buffered(true);
        fs.cache.pages.note_open(inode(ino));
    }
}

/// Writes, or appends.
pub async fn write(fs: &NyalaFs, ctx: &Context, ino: Ino, args: &WriteArgs, data: &[u8]) -> Result<u32> {
    let file = fs.files.get(args.fh)?;
    let fail = |error| errno("write", ino, error);
    is_used(fs, ino, &file);
    if args.from_cache {
        keeps_pages(fs, ino, &file);
    }
    if file.direct && !args.from_cache {
        kill_capability(fs, ino, &file).await?;
    }
    let began = (file.direct && !args.from_cache).then(|| fs.cache.pages.begin_direct_write(inode(ino)));
    let written = put(fs, ino, &file, args, data).await;
    if began.is_some_and(|began| fs.cache.pages.end_direct_write(inode(ino), began)) {
        let range = InvalRange::Bytes { offset: args.offset, len: data.len() as u64 };
        fs.cache.forget_content(ino, range).await;
    }
    if !file.direct && !args.from_cache && fs.cache.pages.end_buffered_write(inode(ino), args.offset, data.len() as u64)
    {
        fs.cache.forget_behind(ino, args.offset, data.len() as u64).await;
    }
    let written = written.map_err(fail)?;
    if args.kill_suidgid {
        kill_suidgid(fs, ctx, ino, &file.handle).await?;
    }
    // With the page cache the kernel sends an fsync itself.
    if file.direct && args.flags & libc::O_DSYNC != 0 && !args.from_cache {
        let datasync = args.flags & libc::O_SYNC != libc::O_SYNC;
        file.handle.fsync(datasync).await.map_err(fail)?;
    }
    u32::try_from(written).map_err(|_| Errno::EIO)
}

async fn put(fs: &NyalaFs, ino: Ino, file: &OpenFile, args: &WriteArgs, data: &[u8]) -> nyala_client::Result<usize> {
    if args.flags & libc::O_APPEND == 0 || args.from_cache {
        return file.handle.write(args.offset, data).await;
    }
    let at = file.handle.append(data).await?;
    if at != args.offset {
        misplaced(fs, ino, file, at, data.len()).await;
    }
    Ok(data.len())
}

/// An append landed where the kernel did not expect it: its attributes are old, and pages it may have there.
async fn misplaced(fs: &NyalaFs, ino: Ino, file: &OpenFile, offset: u64, len: usize) {
    if file.direct {
        fs.cache.forget_content(ino, InvalRange::Bytes { offset, len: len as u64 }).await;
    } else {
        // The kernel holds the locks of the pages that it took the data from, at the place it thought of.
        fs.cache.forget_content_later(ino);
    }
}

/// Takes setuid away, and setgid where that is to go, if there are any.
async fn kill_suidgid(fs: &NyalaFs, ctx: &Context, ino: Ino, handle: &FileHandle) -> Result<()> {
    let attr = match handle.known_attr() {
        Some(attr) => attr,
        None => attrs::get(fs, "clear setuid", ino).await?.0,
    };
    let outside_group = attrs::outside_group(ctx, &attr);
    let stays = attr.perm & 0o6010 == 0o2000 && outside_group.is_none();
    if attr.perm & SETUID_SETGID == 0 || stays {
        return Ok(());
    }
    let set = SetAttr { kill_suidgid: true, outside_group, ..SetAttr::default() };
    fs.client.setattr(inode(ino), set).await.map_err(|e| errno("clear setuid", ino, e))?;
    fs.cache.attributes_changed(ino);
    Ok(())
}

/// A write takes the file's capabilities away, whoever writes. Of writes through the page cache the kernel sees to that.
/// Under a delegation it is known whether there are any; without one the server is asked once for each open file.
async fn kill_capability(fs: &NyalaFs, ino: Ino, file: &OpenFile) -> Result<()> {
    if file.no_capability.load(Ordering::Relaxed) && !fs.is_delegated(inode(ino)) {
        return Ok(());
    }
    let fail = |error| errno("clear capabilities", ino, error);
    match fs.client.getxattr(inode(ino), CAPABILITY).await {
        Err(error) if error.is(ErrorCode::NO_DATA) => {}
        Err(error) => return Err(fail(error)),
        Ok(_) => match fs.client.removexattr(inode(ino), CAPABILITY).await {
            Err(error) if !error.is(ErrorCode::NO_DATA) => return Err(fail(error)),
            _ => {}
        },
    }
    file.no_capability.store(true, Ordering::Relaxed);
    Ok(())
}

/// The last close.
pub async fn release(fs: &NyalaFs, ino: Ino, fh: Fh) -> Result<()> {
    let file = fs.files.remove(fh)?;
    is_used(fs, ino, &file);
    if file.has_pages.load(Ordering::Acquire) {
        fs.cache.pages.note_close(inode(ino));
    }
    if file.was_read.load(Ordering::Relaxed) {
        touch(fs, ino, &file.handle).await;
    }
    file.handle.clone().release().await.map_err(|e| errno("release", ino, e))
}

/// Sets the access time of a file that was read, if that is due. The change time stays.
async fn touch(fs: &NyalaFs, ino: Ino, handle: &FileHandle) {
    let id = inode(ino);
    let noted = fs.access_times.noted(id);
    // Without a delegation it is not known here whether it is due, and nobody is asked for that, unless it was shown already.
    let known = match handle.known_attr().filter(|_| fs.is_delegated(id)) {
        None if noted.is_some() => fs.client.getattr(id).await.ok(),
        known => known,
    };
    let time = noted.unwrap_or_else(wall_clock);
    if let Some(attr) = known.filter(|attr| attr.nlink > 0 && attr.atime < time && atime::due(attr, time)) {
        let set = SetAttr { atime: Some(SetTime::At(time)), ctime: Some(attr.ctime), ..SetAttr::default() };
        if let Err(error) = fs.client.setattr(id, set).await {
            tracing::debug!(inode = %id, %error, "the access time was not set");
        }
        // What was noted the kernel was told of already: a read makes it ask for the access time again.
        if noted.is_none() {
            fs.cache.attributes_changed(ino);
        }
    }
    if let Some(time) = noted {
        fs.access_times.sent(id, time);
    }
}

/// `fallocate`. For others than root it takes setuid bits away, as a write does; the kernel leaves that to us unasked.
pub async fn fallocate(fs: &NyalaFs, ctx: &Context, ino: Ino, fh: Fh, range: Range<u64>, mode: i32) -> Result<()> {
    const KNOWN: i32 = libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
    if mode & !KNOWN != 0 {
        return Err(Errno::ENOTSUP);
    }
    let handle = fs.files.get(fh)?.handle.clone();
    let len = range.end - range.start;
    handle.fallocate(mode, range.start, len).await.map_err(|e| errno("fallocate", ino, e))?;
    if ctx.uid == 0 { Ok(()) } else { kill_suidgid(fs, ctx, ino, &handle).await }
}

/// `SEEK_DATA` and `SEEK_HOLE`.
pub async fn seek(fs: &NyalaFs, ino: Ino, fh: Fh, offset: u64, whence: i32) -> Result<u64> {
    let target = match whence {
        libc::SEEK_DATA => SeekTarget::Data,
        libc::SEEK_HOLE => SeekTarget::Hole,
        _ => return Err(Errno::EINVAL),
    };
    fs.files.get(fh)?.handle.seek(offset, target).await.map_err(|e| errno("lseek", ino, e))
}

/// `copy_file_range`.
pub async fn copy(fs: &NyalaFs, ctx: &Context, args: &CopyArgs) -> Result<u64> {
    let (from, to) = (fs.files.get(args.fh_in)?, fs.files.get(args.fh_out)?);
    let copied = fs.client.copy_range(&from.handle, args.offset_in, &to.handle, args.offset_out, args.len).await;
    let copied = copied.map_err(|e| errno("copy_file_range", args.ino_out, e))?;
    if ctx.uid != 0 {
        kill_suidgid(fs, ctx, args.ino_out, &to.handle).await?;
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bypasses_the_page_cache() {
        assert!(!is_direct(libc::O_RDONLY) && !is_direct(libc::O_RDWR));
        assert!(is_direct(libc::O_WRONLY) && is_direct(libc::O_RDWR | libc::O_APPEND));
        assert!(is_direct(libc::O_RDONLY | libc::O_DIRECT));
        assert!(is_written(libc::O_WRONLY) && is_written(libc::O_RDWR) && !is_written(libc::O_RDONLY));
    }
}
