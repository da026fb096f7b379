// SPDX-License-Identifier: Apache-2.0

//! The name space of the file system in memory.

use super::{MemFs, State};
use nyala_fuse::types::*;
use nyala_fuse::{DirBuffer, Errno};

pub fn make(fs: &MemFs, ctx: &Context, parent: Ino, name: &[u8], mode: u32, rdev: u32) -> Result<Entry> {
    let mut state = fs.state.lock();
    let ino = state.add(mode, ctx.uid, ctx.gid, rdev);
    state.add_name(parent, name, ino)
}

pub fn symlink(fs: &MemFs, ctx: &Context, parent: Ino, name: &[u8], target: &[u8]) -> Result<Entry> {
    let mut state = fs.state.lock();
    let ino = state.add(libc::S_IFLNK | 0o777, ctx.uid, ctx.gid, 0);
    let node = state.node(Ino(ino))?;
    node.target = target.to_vec();
    node.attr.size = target.len() as u64;
    state.add_name(parent, name, ino)
}

pub fn unlink(fs: &MemFs, parent: Ino, name: &[u8]) -> Result<()> {
    let mut state = fs.state.lock();
    let ino = state.child(parent, name)?;
    state.node(parent)?.entries.remove(name);
    state.node(Ino(ino))?.attr.nlink -= 1;
    Ok(())
}

fn refuse_full(state: &mut State, ino: u64) -> Result<()> {
    if state.node(Ino(ino))?.entries.is_empty() { Ok(()) } else { Err(Errno::ENOTEMPTY) }
}

pub fn rmdir(fs: &MemFs, parent: Ino, name: &[u8]) -> Result<()> {
    let mut state = fs.state.lock();
    let ino = state.child(parent, name)?;
    refuse_full(&mut state, ino)?;
    state.node(parent)?.entries.remove(name);
    Ok(())
}

pub fn rename(fs: &MemFs, parent: Ino, name: &[u8], to: Ino, to_name: &[u8], flags: u32) -> Result<()> {
    let mut state = fs.state.lock();
    let ino = state.child(parent, name)?;
    if let Ok(old) = state.child(to, to_name) {
        if flags & libc::RENAME_NOREPLACE != 0 {
            return Err(Errno::EEXIST);
        }
        refuse_full(&mut state, old)?;
    }
    state.node(parent)?.entries.remove(name);
    state.node(to)?.entries.insert(to_name.to_vec(), ino);
    Ok(())
}

/// Cookies are positions in the sorted list, beginning with 1.
pub fn readdir(fs: &MemFs, ino: Ino, offset: u64, buf: &mut DirBuffer) -> Result<()> {
    let mut state = fs.state.lock();
    let entries: Vec<(Vec<u8>, u64)> =
        state.node(ino)?.entries.iter().map(|(name, child)| (name.clone(), *child)).collect();
    for (cookie, (name, child)) in (1..).zip(entries).skip(offset as usize) {
        let entry = state.entry(child)?;
        let kind = ((entry.attr.mode & libc::S_IFMT) >> 12) as u8;
        let added =
            if buf.is_plus() { buf.add_entry(&entry, cookie, &name) } else { buf.add(child, cookie, kind, &name) };
        if !added {
            break;
        }
    }
    Ok(())
}
