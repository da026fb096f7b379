// SPDX-License-Identifier: Apache-2.0

//! Operations on names.

use super::convert::{errno, inode, mode, owner};
use super::fs::NyalaFs;
use super::moved::At;
use super::{again, attrs, by_number, files};
use crate::Errno;
use crate::types::*;
use nyala_client::{FileHandle, Lookup};
use nyala_wire::meta::{DelegationMode, Rename};
use nyala_wire::{Attr, FileKind, InodeId};
use std::time::Duration;

/// A name; one that is missing may be remembered as missing.
pub async fn lookup(fs: &NyalaFs, ctx: &Context, parent: Ino, name: &[u8]) -> Result<Entry> {
    if by_number::is_asked(name) {
        return by_number::lookup(fs, parent, name).await;
    }
    let found = fs.client.lookup_entry(inode(parent), name).await.map_err(|e| errno("lookup", parent, e))?;
    let mut found = again::found(fs, ctx, parent, name, found).await;
    found.entry_delegated &= !fs.cache.moved.has_several(inode(parent));
    match fs.found(ctx, parent, name, &found) {
        Some(entry) => Ok(entry),
        None => match fs.name_ttl(found.entry_delegated) {
            Duration::ZERO => Err(Errno::ENOENT),
            ttl => Ok(Entry::missing(ttl)),
        },
    }
}

/// The entry of something new.
fn made(fs: &NyalaFs, what: &'static str, parent: Ino, made: nyala_client::Result<Attr>) -> Result<Entry> {
    let attr = made.map_err(|e| errno(what, parent, e))?;
    Ok(fs.entry(&attr, fs.is_delegated(inode(parent)), fs.is_delegated(attr.inode)))
}

/// A symbolic link.
pub async fn symlink(fs: &NyalaFs, ctx: &Context, parent: Ino, name: &[u8], target: &[u8]) -> Result<Entry> {
    made(fs, "symlink", parent, fs.client.symlink(inode(parent), name, target, owner(ctx)).await)
}

/// A file, pipe, socket or device.
pub async fn mknod(fs: &NyalaFs, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> Result<Entry> {
    let kind = if new.mode & libc::S_IFMT == 0 { Some(FileKind::File) } else { FileKind::from_mode(new.mode) };
    let kind = kind.ok_or(Errno::EINVAL)?;
    made(fs, "mknod", parent, fs.client.mknod(inode(parent), name, kind, mode(new), new.rdev, owner(ctx)).await)
}

/// A directory.
pub async fn mkdir(fs: &NyalaFs, ctx: &Context, parent: Ino, name: &[u8], new: &NewInode) -> Result<Entry> {
    let made = fs.client.mkdir(inode(parent), name, mode(new), owner(ctx)).await;
    let attr = made.map_err(|e| errno("mkdir", parent, e))?;
    let (entry_delegated, attr_delegated) = (fs.is_delegated(inode(parent)), fs.is_delegated(attr.inode));
    let made = Lookup { attr: Some(attr), entry_delegated, attr_delegated };
    fs.found(ctx, parent, name, &made).ok_or(Errno::EIO)
}

/// Another name. The kernel takes the attributes without comparing versions, so it may not keep them.
pub async fn link(fs: &NyalaFs, ino: Ino, parent: Ino, name: &[u8]) -> Result<Entry> {
    let attr = fs.client.link(inode(ino), inode(parent), name).await.map_err(|e| errno("link", ino, e))?;
    Ok(fs.entry(&attr, fs.is_delegated(inode(parent)), false))
}

/// Removes a directory; whoever is in it can still look at it.
pub async fn rmdir(fs: &NyalaFs, parent: Ino, name: &[u8]) -> Result<()> {
    let last = fs.client.lookup_entry(inode(parent), name).await.ok().and_then(|found| found.attr);
    fs.client.rmdir(inode(parent), name).await.map_err(|e| errno("rmdir", parent, e))?;
    last.into_iter().for_each(|attr| fs.cache.dirs.removed(attr));
    Ok(())
}

/// Renames. A directory that is replaced is one that is removed.
pub async fn rename(fs: &NyalaFs, from: (Ino, &[u8]), to: (Ino, &[u8]), flags: u32) -> Result<()> {
    if flags & !(libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE) != 0 {
        return Err(Errno::EINVAL);
    }
    let valid = |name| nyala_wire::Name::new(name).map_err(|e| Errno::from_raw(e.code.errno()));
    let rename = Rename {
        from_parent: inode(from.0),
        from_name: valid(from.1)?,
        to_parent: inode(to.0),
        to_name: valid(to.1)?,
        no_replace: flags & libc::RENAME_NOREPLACE != 0,
        exchange: flags & libc::RENAME_EXCHANGE != 0,
    };
    let last = if flags == 0 { replaced_directory(fs, rename.to_parent, to.1).await } else { None };
    let (exchange, from_dir, to_dir) = (rename.exchange, rename.from_parent, rename.to_parent);
    fs.client.rename(rename).await.map_err(|e| errno("rename", from.0, e))?;
    // The kernel takes a name along with the lifetime that it has from the old directory. Without a delegation on the new one
    // nobody would say when it is true no more.
    if !fs.is_delegated(to_dir) || (exchange && !fs.is_delegated(from_dir)) {
        fs.cache.forget_names();
    }
    fs.cache.moved.renamed(At::new(from.0, from.1), At::new(to.0, to.1), exchange);
    last.into_iter().for_each(|attr| fs.cache.dirs.removed(attr));
    Ok(())
}

/// What is under a name, if it is a directory and can be said without asking.
async fn replaced_directory(fs: &NyalaFs, parent: InodeId, name: &[u8]) -> Option<Attr> {
    if !fs.is_delegated(parent) {
        return None;
    }
    let found = fs.client.lookup_entry(parent, name).await.ok()?;
    found.attr.filter(|attr| attr.kind == FileKind::Directory)
}

/// Makes and opens a file, or opens the one that is there.
pub async fn create(
    fs: &NyalaFs,
    ctx: &Context,
    parent: Ino,
    name: &[u8],
    new: &NewInode,
    args: &OpenArgs,
) -> Result<Created> {
    let exclusive = args.flags & libc::O_EXCL != 0;
    let fail = |error| errno("create", parent, error);
    let made = fs.client.create(inode(parent), name, mode(new), owner(ctx), exclusive).await;
    let (mut attr, handle) = made.map_err(fail)?;
    if args.flags & libc::O_TRUNC != 0 && attr.size > 0 {
        let kill_suidgid = args.kill_suidgid;
        let outside_group = if kill_suidgid { attrs::outside_group(ctx, &attr) } else { None };
        let set = nyala_wire::meta::SetAttr { size: Some(0), kill_suidgid, outside_group, ..Default::default() };
        attr = fs.client.setattr(attr.inode, set).await.map_err(fail)?;
    }
    Ok(created(fs, parent, &attr, handle, args))
}

/// Makes and opens a file that has no name.
pub async fn tmpfile(fs: &NyalaFs, ctx: &Context, parent: Ino, new: &NewInode, args: &OpenArgs) -> Result<Created> {
    let made = fs.client.tmpfile(inode(parent), mode(new), owner(ctx)).await;
    let (attr, handle) = made.map_err(|error| errno("tmpfile", parent, error))?;
    Ok(created(fs, parent, &attr, handle, args))
}

/// As for `link`, the attributes may not be kept: the kernel asks again when it needs them, which a program that makes,
/// writes and closes a file never does.
fn created(fs: &NyalaFs, parent: Ino, attr: &Attr, handle: FileHandle, args: &OpenArgs) -> Created {
    let entry = fs.entry(attr, fs.is_delegated(inode(parent)), false);
    // A new file is nobody else's: `None` only says that the delegation went again at once.
    let uncached = handle.delegation() == DelegationMode::Uncached;
    Created { entry, opened: files::opened(fs, handle, args.flags, uncached) }
}
