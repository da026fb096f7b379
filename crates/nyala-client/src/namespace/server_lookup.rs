// SPDX-License-Identifier: Apache-2.0

//! Lookups at the server, and lookup-opens: of a file that is likely to be opened next the reply carries the content.
//!
//! **Failure model.** Content that comes unasked for a while later is a guess. It is believed only of a file of which this
//! client knew nothing when it asked, did nothing to since, and still knows nothing; and only with its delegation. All else is
//! what it would be without content: attributes. A file that is not opened after all waits among the idle ones, where
//! the oldest go.

use crate::delegation::cache::{Note, cacheable};
use crate::delegation::logic::generations::{Generations, Noted};
use crate::error::Result;
use crate::namespace::owner::Namespace;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::meta::MetaAnswer;
use nyala_wire::meta::{DelegationMode, FileReply, MetaOp, MetaReply, Owner, Want};
use nyala_wire::{Attr, ErrorCode, FileKind, InodeId, Name};
use std::sync::Arc;

/// What a name is looked up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Whatever comes next; a file may be opened.
    Use,
    /// The name is going to be removed or moved.
    Change,
}

/// A name that is being asked for, and how things stood before.
struct Asked {
    dir: InodeId,
    slot: usize,
    noted: Noted,
    stamp: Option<u64>,
    all: Note,
    purpose: Purpose,
}

impl Namespace {
    pub(crate) async fn fetch_entry(
        self: &Arc<Namespace>,
        parent: InodeId,
        name: Name,
        purpose: Purpose,
    ) -> Result<Option<Attr>> {
        let (asked, want) = self.prepare_lookup(parent, name.as_bytes(), purpose);
        let bytes = name.as_bytes().to_vec();
        let op = MetaOp::Lookup { parent, name };
        let answer = match self.cluster.meta_wanting("look up a name", op, Owner::default(), want).await {
            Err(error) if error.is(ErrorCode::NOT_FOUND) => return Ok(None),
            other => other?,
        };
        let (inode, attr) = match &answer.reply {
            MetaReply::NoEntry => (None, None),
            MetaReply::Entry(entry) => (Some(entry.inode), entry.attr.clone()),
            MetaReply::Opened(file) => (Some(file.attr.inode), Some(file.attr.clone())),
            _ => return Err(unexpected_reply("look up a name")),
        };
        self.cache_entry(&answer, &asked, bytes, inode, attr.as_ref());
        match (inode, attr) {
            (None, _) => Ok(None),
            (Some(_), Some(mut attr)) => {
                match &answer.reply {
                    MetaReply::Opened(file) => self.take_content(&answer, &asked.all, file, &mut attr),
                    _ => self.delegations.take_attr(&answer, &asked.all, &mut attr),
                }
                Ok(Some(attr))
            }
            (Some(inode), None) => self.getattr(inode).await.map(Some),
        }
    }

    /// How things stand, and what to ask for: content too where that pays, and could be believed, so not while this client
    /// is changing something.
    fn prepare_lookup(&self, dir: InodeId, name: &[u8], purpose: Purpose) -> (Asked, Want) {
        let slot = Generations::slot((dir, name));
        let (noted, stamp, all) = {
            let shard = self.delegations.lock(dir);
            let generations = self.delegations.generations();
            (generations.note(slot), shard.stamp(dir), self.delegations.note_all_in(&generations))
        };
        let expected = |dir| self.delegations.predictor().predicts_open(dir);
        let with_content = purpose == Purpose::Use && all.is_quiet() && expected(dir);
        let want = if with_content { self.cluster.want().and(Want::CONTENT) } else { self.cluster.want() };
        (Asked { dir, slot, noted, stamp, all, purpose }, want)
    }

    /// Takes in what a look-up says of a file, content included if nothing is known of it here.
    fn take_content(&self, answer: &MetaAnswer, note: &Note, reply: &FileReply, attr: &mut Attr) {
        let file = self.files.acquire(attr.inode);
        let mut shard = self.delegations.lock(attr.inode);
        let generations = self.delegations.generations();
        let known = file.state.lock().is_known();
        if !known {
            self.delegations.take_file_in(&mut shard, &generations, answer, note, &file, reply);
        }
        // Of a file that was just loaded this only lays over the answer what there is of its own.
        self.delegations.take_attr_in(&mut shard, &generations, answer, note, attr);
        drop(generations);
        drop(shard);
        self.files.release(&file);
    }

    /// A server was asked about a file by its name.
    pub(crate) fn note_lookup(&self, dir: InodeId, attr: &Attr, purpose: Purpose) {
        if attr.kind != FileKind::File || purpose != Purpose::Use || !self.ctx.config.delegations {
            return;
        }
        // Where its content is here already, opening it needs nothing.
        let known = self.files.get(attr.inode).is_some_and(|file| file.state.lock().is_loaded());
        self.delegations.predictor().looked_up(dir, Some(attr.inode).filter(|_| !known), self.ctx.now_ms());
    }

    /// Whether asking for a name that is known brings more than asking for the attributes: its content, with one request.
    pub(crate) fn expects_open(&self, dir: InodeId, inode: InodeId, purpose: Purpose) -> bool {
        purpose == Purpose::Use && dir.slot() == inode.slot() && self.delegations.predictor().predicts_open(dir)
    }

    fn cache_entry(&self, answer: &MetaAnswer, asked: &Asked, name: Vec<u8>, is: Option<InodeId>, attr: Option<&Attr>) {
        let &Asked { dir, slot, noted, stamp, purpose, ref all } = asked;
        let now_ms = self.ctx.now_ms();
        if let Some(attr) = attr {
            self.note_lookup(dir, attr, purpose);
        }
        let mut shard = self.delegations.lock(dir);
        let mode = if answer.grants.dir { DelegationMode::Shared } else { DelegationMode::None };
        let granted = self.delegations.granted(&mut shard, dir, answer, mode);
        let generations = self.delegations.generations();
        let same = generations.same(slot, noted);
        let Some(cached) = cacheable(&mut shard, dir, stamp, granted, now_ms).filter(|_| same) else { return };
        // What came with the delegation, if nothing was changed in the directory meanwhile.
        if let Some(attr) = answer.dirs.iter().find(|attr| attr.inode == dir)
            && self.delegations.is_true_yet(all, &generations, dir)
        {
            cached.attr = Some(attr.clone());
        }
        if is.is_none() {
            cached.names.missed();
        }
        if cached.put_entry(name, is) {
            self.delegations.added_names(1);
            drop(generations);
            drop(shard);
            self.delegations.bound_names();
        }
    }
}
