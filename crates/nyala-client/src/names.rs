// SPDX-License-Identifier: Apache-2.0

//! Directories: listings with attributes, and paths.
//!
//! **Failure model.** Entries come and go while a directory is listed or a path is followed: an entry whose inode is gone
//! is listed without attributes, a path fails with ENOENT. Symbolic links may form loops: 40 are followed.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::maps::odd;
use nyala_wire::meta::{ListedEntry, Listing, MAX_GET_ATTRS, MAX_LIST_ENTRIES, MetaOp, MetaReply, Owner};
use nyala_wire::{Attr, ErrorCode, FileKind, InodeId, Name, TargetId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::task::JoinSet;

const MAX_LINKS: usize = 40;

pub(crate) fn name(bytes: &[u8]) -> Result<Name> {
    Name::new(bytes).map_err(Error::server("check a name"))
}

impl Core {
    pub(crate) async fn lookup(self: &Arc<Core>, parent: InodeId, bytes: &[u8]) -> Result<Attr> {
        let op = MetaOp::Lookup { parent, name: name(bytes)? };
        let mut attr = self.meta_attr("look up a name", op, Owner::default()).await?;
        self.overlay(&mut attr);
        Ok(attr)
    }

    /// Lays own unsent changes over attributes.
    pub(crate) fn overlay(&self, attr: &mut Attr) {
        if let Some(file) = self.files.get(attr.inode) {
            let state = file.state.lock();
            if !state.is_clean() || state.own_end.is_some() {
                state.overlay(attr);
            }
        }
    }

    pub(crate) async fn getattrs(self: &Arc<Core>, inodes: &[InodeId]) -> Result<Vec<Attr>> {
        let view = self.maps.view();
        let mut by_server: BTreeMap<Option<TargetId>, Vec<InodeId>> = BTreeMap::new();
        for &inode in inodes {
            by_server.entry(view.map.slot_target(inode.slot())).or_default().push(inode);
        }
        let mut asks = JoinSet::new();
        for part in by_server.values().flat_map(|inodes| inodes.chunks(MAX_GET_ATTRS)) {
            let (core, inodes) = (self.clone(), part.to_vec());
            asks.spawn(async move {
                let op = MetaOp::GetAttrs { inodes };
                match core.meta("get attributes", op, Owner::default()).await? {
                    MetaReply::Attrs(attrs) => Ok(attrs),
                    _ => Err(odd("get attributes")),
                }
            });
        }
        let mut out = Vec::with_capacity(inodes.len());
        while let Some(attrs) = asks.join_next().await {
            out.extend(attrs.unwrap_or(Err(Error::ShutDown))?);
        }
        out.iter_mut().for_each(|attr| self.overlay(attr));
        Ok(out)
    }

    pub(crate) async fn readdir(
        self: &Arc<Core>,
        dir: InodeId,
        after: u64,
        max_entries: u32,
        plus: bool,
    ) -> Result<Listing> {
        let op = MetaOp::ReadDir { dir, after, max_entries: max_entries.clamp(1, MAX_LIST_ENTRIES), plus };
        let mut listing = match self.meta("list a directory", op, Owner::default()).await? {
            MetaReply::Listing(listing) => listing,
            _ => return Err(odd("list a directory")),
        };
        if plus {
            let missing = |entry: &&ListedEntry| entry.attr.is_none();
            let elsewhere: Vec<InodeId> = listing.entries.iter().filter(missing).map(|entry| entry.inode).collect();
            let found = self.getattrs(&elsewhere).await?;
            let found: HashMap<InodeId, Attr> = found.into_iter().map(|attr| (attr.inode, attr)).collect();
            for entry in &mut listing.entries {
                match &mut entry.attr {
                    Some(attr) => self.overlay(attr),
                    none => *none = found.get(&entry.inode).cloned(),
                }
            }
        }
        Ok(listing)
    }

    pub(crate) async fn readlink(self: &Arc<Core>, inode: InodeId) -> Result<Vec<u8>> {
        match self.meta("read a symbolic link", MetaOp::ReadLink { inode }, Owner::default()).await? {
            MetaReply::Bytes(target) => Ok(target.into()),
            _ => Err(odd("read a symbolic link")),
        }
    }

    pub(crate) async fn parent(self: &Arc<Core>, dir: InodeId) -> Result<InodeId> {
        match self.meta("find the directory above", MetaOp::GetParent { dir }, Owner::default()).await? {
            MetaReply::Inode(inode) => Ok(inode),
            _ => Err(odd("find the directory above")),
        }
    }

    pub(crate) async fn getattr(self: &Arc<Core>, inode: InodeId) -> Result<Attr> {
        let file = self.files.get(inode);
        let epoch = file.as_ref().map(|file| file.state.lock().epoch);
        let mut attr = self.meta_attr("get attributes", MetaOp::GetAttr { inode }, Owner::default()).await?;
        if let (Some(file), Some(epoch)) = (file, epoch) {
            let mut state = file.state.lock();
            if state.layout.is_some() {
                let now_ms = self.now_ms();
                let foreign = state.attr.as_ref().is_some_and(|old| old.mtime != attr.mtime);
                state.install_attr(&attr, epoch, now_ms);
                if foreign && state.is_inline() {
                    // The content may have changed too, and came not with this reply.
                    state.attr_ms = 0;
                }
                state.overlay(&mut attr);
            }
        }
        Ok(attr)
    }

    pub(crate) async fn resolve(self: &Arc<Core>, path: &[u8], follow: bool) -> Result<Attr> {
        let mut rest: Vec<Vec<u8>> = parts(path);
        let mut links = 0;
        let mut here = self.getattr(InodeId::ROOT).await?;
        while let Some(part) = rest.pop() {
            if here.kind != FileKind::Directory {
                return Err(Error::refused(ErrorCode::NOT_A_DIRECTORY, "a part of the path is not a directory"));
            }
            if part == b".." {
                let above = self.parent(here.inode).await?;
                here = self.getattr(above).await?;
                continue;
            }
            let next = self.lookup(here.inode, &part).await?;
            if next.kind != FileKind::Symlink || !follow {
                here = next;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(Error::refused(ErrorCode::LOOP, "too many symbolic links"));
            }
            let target = self.readlink(next.inode).await?;
            if target.starts_with(b"/") {
                here = self.getattr(InodeId::ROOT).await?;
            }
            rest.extend(parts(&target));
        }
        Ok(here)
    }
}

/// The parts of a path, last first.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|&byte| byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .rev()
        .map(<[u8]>::to_vec)
        .collect()
}
