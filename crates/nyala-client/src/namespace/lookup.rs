// SPDX-License-Identifier: Apache-2.0

//! Names and listings with attributes; from what is kept under delegations where that is true.
//!
//! **Failure model.** Entries come and go while a directory is listed: an entry whose inode is gone
//! is listed without attributes.

use crate::delegation::cache::cacheable;
use crate::delegation::logic::cached_inode::CachedInode;
use crate::delegation::logic::generations::Generations;
use crate::error::{Error, Result};
use crate::file::open::Removal;
use crate::namespace::owner::Namespace;
use crate::namespace::server_lookup::Purpose;
use crate::rpc::failure::unexpected_reply;
use crate::types::Lookup;
use nyala_transport::trace::{carried, under};
use nyala_wire::meta::{
    DelegationMode, ListedEntry, Listing, MAX_GET_ATTRS, MAX_LIST_ENTRIES, MetaOp, MetaReply, Owner,
};
use nyala_wire::{Attr, ErrorCode, InodeId, Name, TargetId};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::task::JoinSet;

pub(crate) fn name(bytes: &[u8]) -> Result<Name> {
    Name::new(bytes).map_err(Error::server("check a name"))
}

impl Namespace {
    pub(crate) async fn lookup_entry(self: &Arc<Namespace>, parent: InodeId, bytes: &[u8]) -> Result<Lookup> {
        self.lookup_for(parent, bytes, Purpose::Use).await
    }

    pub(crate) async fn lookup_for(
        self: &Arc<Namespace>,
        parent: InodeId,
        bytes: &[u8],
        purpose: Purpose,
    ) -> Result<Lookup> {
        let name = name(bytes)?;
        let attr = match self.delegations.cached(parent, |cached| cached.entry(bytes)) {
            Some(None) => None,
            Some(Some(inode)) => match self.delegations.cached_attr(inode) {
                Some(attr) => Some(attr),
                None if self.expects_open(parent, inode, purpose) => self.fetch_entry(parent, name, purpose).await?,
                None => match self.getattr(inode).await {
                    // It went away meanwhile; the server knows what is there now.
                    Err(error) if matches!(error.code(), ErrorCode::NOT_FOUND | ErrorCode::STALE) => {
                        self.fetch_entry(parent, name, purpose).await?
                    }
                    other => {
                        let attr = other?;
                        self.note_lookup(parent, &attr, purpose);
                        Some(attr)
                    }
                },
            },
            None => self.fetch_entry(parent, name, purpose).await?,
        };
        let delegated =
            |inode| matches!(self.delegations.delegation(inode), DelegationMode::Shared | DelegationMode::Exclusive);
        let attr_delegated = attr.as_ref().is_some_and(|attr| delegated(attr.inode));
        let entry_delegated = delegated(parent)
            && self.delegations.cached(parent, |cached| cached.entry(bytes))
                == Some(attr.as_ref().map(|attr| attr.inode));
        Ok(Lookup { attr, entry_delegated, attr_delegated })
    }

    pub(crate) async fn getattr(self: &Arc<Namespace>, inode: InodeId) -> Result<Attr> {
        if let Some(attr) = self.delegations.cached_attr(inode) {
            return Ok(attr);
        }
        let note = self.delegations.note(inode);
        let op = MetaOp::GetAttr { inode };
        let answer = self.cluster.meta_wanting("get attributes", op, Owner::default(), self.cluster.want()).await?;
        let MetaReply::Attr(attr) = &answer.reply else { return Err(unexpected_reply("get attributes")) };
        let mut attr = attr.clone();
        self.delegations.take_attr(&answer, &note, &mut attr);
        Ok(attr)
    }

    pub(crate) async fn getattrs(self: &Arc<Namespace>, inodes: &[InodeId]) -> Result<Vec<Attr>> {
        let view = self.cluster.maps.view();
        let mut by_server: BTreeMap<Option<TargetId>, Vec<InodeId>> = BTreeMap::new();
        let mut out = Vec::with_capacity(inodes.len());
        for &inode in inodes {
            match self.delegations.cached_attr(inode) {
                Some(attr) => out.push(attr),
                None => by_server.entry(view.map.slot_target(inode.slot())).or_default().push(inode),
            }
        }
        let mut asks = JoinSet::new();
        for part in by_server.values().flat_map(|inodes| inodes.chunks(MAX_GET_ATTRS)) {
            let (namespace, inodes) = (self.clone(), part.to_vec());
            asks.spawn(carried(under(), async move {
                let note = namespace.delegations.note_all();
                let op = MetaOp::GetAttrs { inodes };
                let mut answer = namespace
                    .cluster
                    .meta_wanting("get attributes", op, Owner::default(), namespace.cluster.want())
                    .await?;
                let reply = std::mem::replace(&mut answer.reply, MetaReply::Done);
                let MetaReply::Attrs(mut attrs) = reply else { return Err(unexpected_reply("get attributes")) };
                namespace.delegations.take_attrs(&answer, &note, attrs.iter_mut());
                Ok(attrs)
            }));
        }
        while let Some(attrs) = asks.join_next().await {
            out.extend(attrs.unwrap_or(Err(Error::ShutDown))?);
        }
        Ok(out)
    }

    pub(crate) async fn readdir(
        self: &Arc<Namespace>,
        dir: InodeId,
        after: u64,
        max_entries: u32,
        plus: bool,
    ) -> Result<Listing> {
        let max_entries = max_entries.clamp(1, MAX_LIST_ENTRIES);
        let mut listing = match self.delegations.cached(dir, |cached| cached.listing(after, max_entries)) {
            Some(listing) => listing,
            None => self.fetch_listing(dir, after, max_entries, plus).await?,
        };
        if plus {
            let missing = |entry: &&ListedEntry| entry.attr.is_none();
            let elsewhere: Vec<InodeId> = listing.entries.iter().filter(missing).map(|entry| entry.inode).collect();
            let found = self.getattrs(&elsewhere).await?;
            let found: HashMap<InodeId, Attr> = found.into_iter().map(|attr| (attr.inode, attr)).collect();
            for entry in listing.entries.iter_mut().filter(|entry| entry.attr.is_none()) {
                entry.attr = found.get(&entry.inode).cloned();
            }
        }
        Ok(listing)
    }

    async fn fetch_listing(
        self: &Arc<Namespace>,
        dir: InodeId,
        after: u64,
        max_entries: u32,
        plus: bool,
    ) -> Result<Listing> {
        let slot = Generations::slot(dir);
        let (noted, stamp, all) = {
            let shard = self.delegations.lock(dir);
            let generations = self.delegations.generations();
            (generations.note(slot), shard.stamp(dir), self.delegations.note_all_in(&generations))
        };
        let op = MetaOp::ReadDir { dir, after, max_entries, plus };
        let mut answer =
            self.cluster.meta_wanting("list a directory", op, Owner::default(), self.cluster.want()).await?;
        let reply = std::mem::replace(&mut answer.reply, MetaReply::Done);
        let MetaReply::Listing(mut listing) = reply else { return Err(unexpected_reply("list a directory")) };
        self.delegations.take_attrs(&answer, &all, listing.entries.iter_mut().filter_map(|entry| entry.attr.as_mut()));
        let mut shard = self.delegations.lock(dir);
        let mode = if answer.grants.dir { DelegationMode::Shared } else { DelegationMode::None };
        let granted = self.delegations.granted(&mut shard, dir, &answer, mode);
        let generations = self.delegations.generations();
        let same = generations.same(slot, noted);
        // Of a directory that is too large to be kept with others its beginning is kept.
        let limit = self.ctx.config.max_kept_entries / 2;
        let fits = |cached: &&mut CachedInode| cached.weight() + 2 * listing.entries.len() <= limit;
        if let Some(cached) =
            cacheable(&mut shard, dir, stamp, granted, self.ctx.now_ms()).filter(|_| same).filter(fits)
        {
            let bare = |entry: &ListedEntry| ListedEntry { attr: None, ..entry.clone() };
            let entries: Vec<ListedEntry> = listing.entries.iter().map(bare).collect();
            let added = 2 * entries.len();
            cached.put_listing(after, Listing { entries, ..listing });
            self.delegations.added_names(added);
        }
        drop(generations);
        drop(shard);
        self.delegations.bound_names();
        Ok(listing)
    }

    pub(crate) async fn readlink(self: &Arc<Namespace>, inode: InodeId) -> Result<Vec<u8>> {
        if let Some(target) = self.delegations.cached(inode, |cached| cached.link.clone()) {
            return Ok(target);
        }
        let note = self.delegations.note(inode);
        match self.cluster.meta("read a symbolic link", MetaOp::ReadLink { inode }, Owner::default()).await? {
            MetaReply::Bytes(target) => {
                let target: Vec<u8> = target.into();
                self.delegations.remember(&note, |cached| cached.link = Some(target.clone()));
                Ok(target)
            }
            _ => Err(unexpected_reply("read a symbolic link")),
        }
    }

    /// Before a name that is not a directory's is removed or replaced: the inode behind it. If it is open here without its
    /// server knowing, the server is told; who opens it before the removal is over asks the server.
    pub(crate) async fn before_removal(
        self: &Arc<Namespace>,
        parent: InodeId,
        bytes: &[u8],
    ) -> Result<Option<Removal>> {
        if !self.ctx.config.delegations {
            return Ok(None);
        }
        let victim = match self.delegations.cached(parent, |cached| cached.entry(bytes)) {
            Some(known) => known,
            None => self.lookup_for(parent, bytes, Purpose::Change).await?.attr.map(|attr| attr.inode),
        };
        match victim {
            Some(inode) => self.ops.register_open(inode).await.map(Some),
            None => Ok(None),
        }
    }

    /// Before a directory is removed: its inode, if that is known or something that is known may concern it.
    pub(crate) async fn before_rmdir(self: &Arc<Namespace>, parent: InodeId, bytes: &[u8]) -> Result<Option<InodeId>> {
        if !self.ctx.config.delegations {
            return Ok(None);
        }
        let concerned = || self.files.any_used() || self.delegations.links_seen.load(Ordering::Relaxed);
        match self.delegations.cached(parent, |cached| cached.entry(bytes)) {
            Some(known) => Ok(known),
            None if concerned() => {
                Ok(self.lookup_for(parent, bytes, Purpose::Change).await?.attr.map(|attr| attr.inode))
            }
            None => Ok(None),
        }
    }

    /// The directory above one; known here where this client may keep the name that it was found under.
    pub(crate) async fn parent(self: &Arc<Namespace>, dir: InodeId) -> Result<InodeId> {
        let stands_for = |above, name: &[u8]| self.delegations.cached(above, |cached| cached.entry(name)).flatten();
        if let Some(above) = self.parents.of(dir, stands_for) {
            return Ok(above);
        }
        match self.cluster.meta("find the directory above", MetaOp::GetParent { dir }, Owner::default()).await? {
            MetaReply::Inode(inode) => Ok(inode),
            _ => Err(unexpected_reply("find the directory above")),
        }
    }
}
