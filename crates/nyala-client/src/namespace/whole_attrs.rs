// SPDX-License-Identifier: Apache-2.0

//! Attributes as programs see them: of a directory that is split, those of all its fragments together, at one moment.
//!
//! **Failure model.** Entries may move between two answers, and would be counted twice or not at all: what is added up is what may be kept
//! all at the same time, or else what was said while the fragments stayed the same.

use crate::delegation::cache::DelegationCache;
use crate::error::Result;
use crate::namespace::fragments::Fragments;
use crate::namespace::logic::whole;
use crate::namespace::owner::Namespace;
use nyala_wire::meta::DelegationMode;
use nyala_wire::{Attr, InodeId};
use std::collections::HashSet;
use std::sync::Arc;

pub(crate) struct WholeAttrs {
    pub(super) namespace: Arc<Namespace>,
    pub(super) fragments: Arc<Fragments>,
    pub(super) delegations: Arc<DelegationCache>,
}

impl WholeAttrs {
    pub(crate) async fn getattr(&self, inode: InodeId) -> Result<Attr> {
        self.of(self.namespace.getattr(inode).await?).await
    }

    pub(crate) async fn getattrs(&self, inodes: &[InodeId]) -> Result<Vec<Attr>> {
        let mut attrs = self.namespace.getattrs(inodes).await?;
        for attr in attrs.iter_mut().filter(|attr| attr.is_split()) {
            *attr = self.of(attr.clone()).await?;
        }
        Ok(attrs)
    }

    /// The whole of what a server says of an inode.
    pub(crate) async fn of(&self, attr: Attr) -> Result<Attr> {
        if !attr.is_split() {
            return Ok(attr);
        }
        let (dir, mut again) = (attr.inode, self.fragments.again());
        loop {
            let own = self.namespace.getattr(dir).await?;
            if !own.is_split() {
                return Ok(own);
            }
            let fragments = match self.fragments.known_now(dir) {
                Some(fragments) => fragments,
                None => self.fragments.learn(dir).await?,
            };
            let inodes: Vec<InodeId> = fragments.iter().map(|fragment| fragment.inode).collect();
            let parts = self.namespace.getattrs(&inodes).await?;
            if let Some(attr) = self.cached(dir) {
                return Ok(attr);
            }
            if self.fragments.learn(dir).await? == fragments && parts.len() == fragments.len() {
                return Ok(whole(&own, &parts));
            }
            again.pause("get attributes").await?;
        }
    }

    /// From what may be kept.
    fn cached(&self, dir: InodeId) -> Option<Attr> {
        let fragments = self.fragments.known_now(dir)?;
        let own = self.delegations.cached_attr(dir)?;
        let parts: Option<Vec<Attr>> =
            fragments.iter().map(|fragment| self.delegations.cached_attr(fragment.inode)).collect();
        let attr = whole(&own, &parts?);
        // The directory's delegation was held all the while.
        self.fragments.known_now(dir).filter(|now| *now == fragments).map(|_| attr)
    }

    /// What this client may do with an inode now, and with all fragments of one that is a directory.
    pub(crate) fn delegation(&self, inode: InodeId) -> DelegationMode {
        let own = self.delegations.delegation(inode);
        let is_split = || self.delegations.cached_attr(inode).is_some_and(|attr| attr.is_split());
        if !self.fragments.was_split(inode) && (own == DelegationMode::None || !is_split()) {
            return own;
        }
        match self.fragments.known_now(inode) {
            None => DelegationMode::None,
            Some(list) => list.iter().map(|one| self.delegations.delegation(one.inode)).fold(own, DelegationMode::min),
        }
    }

    /// The inodes that have a directory's names.
    pub(crate) async fn all_fragments(&self, dir: InodeId) -> Result<HashSet<InodeId>> {
        let mut all = HashSet::from([dir]);
        if self.fragments.was_split(dir) || self.namespace.getattr(dir).await?.is_split() {
            all.extend(self.fragments.learn(dir).await?.iter().map(|fragment| fragment.inode));
        }
        Ok(all)
    }
}
