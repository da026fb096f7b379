// SPDX-License-Identifier: Apache-2.0

//! What an operation over several servers consists of. Pure.

use super::resplit::Resplit;
use nyala_wire::meta::{EntryReply, MetaOp, MetaReply, NewEntry, Rename};
use nyala_wire::meta_tx::{PartResult, TxPart};
use nyala_wire::{FileKind, InodeId, Name};

/// An operation over several servers.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Make a directory whose inode is elsewhere.
    Mkdir {
        /// The new entry.
        entry: NewEntry,
        /// The inode's part.
        part: TxPart,
    },
    /// Remove a name whose inode is elsewhere.
    Remove {
        /// Directory of the name.
        parent: InodeId,
        /// The name.
        name: Name,
        /// The inode.
        inode: InodeId,
        /// What it is.
        kind: FileKind,
    },
    /// Make another name for an inode that is elsewhere.
    Link {
        /// The inode.
        inode: InodeId,
        /// Directory of the new name.
        parent: InodeId,
        /// The new name.
        name: Name,
    },
    /// Rename.
    Rename(Rename),
    /// Change what a split directory and all its fragments have in common.
    Common {
        /// The directory.
        dir: InodeId,
        /// The operation on it.
        op: Box<MetaOp>,
    },
    /// Change how a directory is split; the server's own.
    Resplit(Resplit),
}

/// What stands under a name: inode and kind.
pub type Found = (InodeId, FileKind);

impl Plan {
    /// The parts of an operation whose parts are known from the start; a rename's come from [`super::rename_parts`]. The last
    /// part of `Mkdir` and `Link` depends on the first one's result, see [`Plan::entry_part`].
    pub fn first_parts(&self) -> Vec<TxPart> {
        match self {
            Plan::Mkdir { part, .. } => vec![part.clone()],
            Plan::Link { inode, .. } => vec![TxPart::LinkCount { inode: *inode, delta: 1 }],
            Plan::Remove { parent, name, inode, kind } => vec![
                match kind {
                    FileKind::Directory => TxPart::RemoveDir { inode: *inode },
                    _ => TxPart::LinkCount { inode: *inode, delta: -1 },
                },
                TxPart::RemoveEntry { dir: *parent, name: name.clone(), inode: *inode },
            ],
            Plan::Rename(_) | Plan::Common { .. } | Plan::Resplit(_) => Vec::new(),
        }
    }

    /// The entry that a `Mkdir` or `Link` makes, once it is known which inode it is for.
    pub fn entry_part(&self, result: &PartResult) -> Option<TxPart> {
        let PartResult::Attr(attr) = result else { return None };
        let (parent, name) = match self {
            Plan::Mkdir { entry, .. } => (entry.parent, &entry.name),
            Plan::Link { parent, name, .. } => (*parent, name),
            _ => return None,
        };
        let (inode, kind) = (attr.inode, attr.kind);
        Some(TxPart::PutEntry { dir: parent, name: name.clone(), inode, kind, replaces: None })
    }

    /// The reply to the client, from the first part's result.
    pub fn reply(&self, first: Option<&PartResult>) -> MetaReply {
        match (self, first) {
            (Plan::Mkdir { .. } | Plan::Link { .. }, Some(PartResult::Attr(attr))) => {
                let (inode, kind) = (attr.inode, attr.kind);
                MetaReply::Entry(EntryReply { inode, kind, attr: Some(attr.clone()) })
            }
            _ => MetaReply::Done,
        }
    }
}
