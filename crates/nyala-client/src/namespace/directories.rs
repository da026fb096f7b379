// SPDX-License-Identifier: Apache-2.0

//! Operations on names in directories that may be split: each is done at the fragment that holds its name.
//!
//! **Failure model.** That of [`super::fragments`].

use crate::error::Result;
use crate::namespace::fragments::Fragments;
use crate::namespace::owner::Namespace;
use crate::namespace::server_lookup::Purpose;
use crate::namespace::whole_attrs::WholeAttrs;
use crate::namespace::{all_names, listing};
use crate::types::Lookup;
use nyala_wire::meta::{Listing, MetaOp, NewEntry, Owner, Rename};
use nyala_wire::{Attr, ErrorCode, InodeId};
use std::sync::Arc;

pub(crate) struct Directories {
    pub(super) namespace: Arc<Namespace>,
    fragments: Arc<Fragments>,
    pub(crate) attrs: WholeAttrs,
}

impl Directories {
    pub(crate) fn new(namespace: Arc<Namespace>, fragments: Fragments) -> Directories {
        let (fragments, delegations) = (Arc::new(fragments), namespace.delegations.clone());
        let attrs = WholeAttrs { namespace: namespace.clone(), fragments: fragments.clone(), delegations };
        Directories { namespace, fragments, attrs }
    }

    pub(crate) fn fragments(&self) -> &Fragments {
        &self.fragments
    }

    /// Does something with a name, at the fragment that holds it.
    pub(crate) async fn at_fragment<T, F>(
        &self,
        what: &'static str,
        (dir, name): (InodeId, &[u8]),
        run: impl Fn(InodeId) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let mut again = self.fragments.again();
        loop {
            let at = self.fragments.holder(dir, name);
            match run(at).await {
                Err(error) if error.is(ErrorCode::OTHER_FRAGMENT) => drop(self.fragments.learn(dir).await?),
                Err(error) if at != dir && error.is(ErrorCode::NOT_FOUND) => {
                    if !self.fragments.has_moved(dir, name, at).await? {
                        return Err(error);
                    }
                }
                other => return other,
            }
            again.pause(what).await?;
        }
    }

    pub(crate) async fn lookup(&self, dir: InodeId, name: &[u8]) -> Result<Lookup> {
        let mut again = self.fragments.again();
        let mut found = loop {
            let at = self.fragments.holder(dir, name);
            match self.namespace.lookup_entry(at, name).await {
                Err(error) if error.is(ErrorCode::OTHER_FRAGMENT) => drop(self.fragments.learn(dir).await?),
                Ok(Lookup { attr: None, entry_delegated: false, .. })
                    if at != dir && self.fragments.has_moved(dir, name, at).await? => {}
                other => break other?,
            }
            again.pause("look up a name").await?;
        };
        match found.attr.take() {
            Some(attr) => {
                found.attr_delegated &= !attr.is_split();
                found.attr = Some(self.attrs.of(attr).await?)
            }
            None => all_names::missed(&self.namespace, &self.fragments, dir, name).await,
        }
        Ok(found)
    }

    /// Makes an entry; `op` says how, given where.
    pub(crate) async fn make(
        &self,
        what: &'static str,
        entry: NewEntry,
        owner: Owner,
        op: impl Fn(NewEntry) -> MetaOp,
    ) -> Result<Attr> {
        let make = |parent| self.namespace.make(what, op(NewEntry { parent, ..entry.clone() }), owner);
        self.at_fragment(what, (entry.parent, entry.name.as_bytes()), make).await
    }

    pub(crate) async fn rmdir(&self, parent: InodeId, name: &[u8]) -> Result<()> {
        let (what, mut again) = ("remove a directory", self.fragments.again());
        loop {
            match self.at_fragment(what, (parent, name), |at| self.namespace.rmdir(at, name)).await {
                Err(error) if error.is(ErrorCode::IS_SPLIT) => self.merge(parent, name).await?,
                other => return other,
            }
            again.pause(what).await?;
        }
    }

    pub(crate) async fn rename(&self, rename: Rename) -> Result<()> {
        let mut again = self.fragments.again();
        let from = (rename.from_parent, rename.from_name.as_bytes());
        let to = (rename.to_parent, rename.to_name.as_bytes());
        loop {
            let (from_parent, to_parent) = (self.fragments.holder(from.0, from.1), self.fragments.holder(to.0, to.1));
            let elsewhere = (from_parent, to_parent) != (from.0, to.0);
            match self.namespace.rename(Rename { from_parent, to_parent, ..rename.clone() }).await {
                Err(error) if error.is(ErrorCode::IS_SPLIT) => self.merge(to.0, to.1).await?,
                Err(error) if error.is(ErrorCode::OTHER_FRAGMENT) => {
                    self.fragments.learn(from.0).await?;
                    self.fragments.learn(to.0).await?;
                }
                Err(error) if elsewhere && error.is(ErrorCode::NOT_FOUND) => {
                    let moved = self.fragments.has_moved(from.0, from.1, from_parent).await?;
                    if !(self.fragments.has_moved(to.0, to.1, to_parent).await? || moved) {
                        return Err(error);
                    }
                }
                other => return other,
            }
            again.pause("rename").await?;
        }
    }

    /// Has an empty directory made whole, so that it can be removed.
    async fn merge(&self, parent: InodeId, name: &[u8]) -> Result<()> {
        let look = |at| self.namespace.lookup_for(at, name, Purpose::Change);
        let victim = self.at_fragment("look up a name", (parent, name), look).await?;
        match victim.attr {
            Some(attr) => self.fragments.merge(attr.inode).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn readdir(&self, dir: InodeId, after: u64, max: u32, plus: bool) -> Result<Listing> {
        let mut listing = listing::readdir(&self.namespace, &self.fragments, dir, after, max, plus).await?;
        for entry in &mut listing.entries {
            if let Some(attr) = entry.attr.take() {
                entry.attr = Some(self.attrs.of(attr).await?);
            }
        }
        Ok(listing)
    }
}
