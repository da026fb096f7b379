// SPDX-License-Identifier: Apache-2.0

//! Fragments of split directories (`nyala_wire::fragments`). Pure.
//!
//! A fragment's inode is a directory's of its own, with what new entries get from it, and nobody but metadata servers and clients'
//! libraries knows its number. Entries move by their rows: what is known of them, their places included, stays as it is.

pub mod entries;
mod moving;
pub mod parts;

use super::acl;
use crate::change::{Change, Fault, Step};
use crate::tx::Plan;
use nyala_wire::meta::{MetaOp, MetaReply};
use nyala_wire::{ErrorCode, InodeId};

/// The fragments of a directory.
pub fn list(change: &mut Change, dir: InodeId) -> Step<MetaReply> {
    Ok(MetaReply::Fragments(change.dir(dir)?.1.fragments().to_vec()))
}

/// What a split directory has in common with its fragments is changed at all of them.
pub fn elsewhere_if_split(change: &mut Change, op: &MetaOp) -> Step<()> {
    let inode = match op {
        MetaOp::SetAttr { inode, .. } => *inode,
        MetaOp::SetXattr { inode, name, .. } | MetaOp::RemoveXattr { inode, name } if acl::is_one(name) => *inode,
        MetaOp::SetPattern { dir, .. } => *dir,
        _ => return Ok(()),
    };
    let part = change.find_inode(inode)?.and_then(|record| record.dir.as_ref());
    match part {
        Some(part) if part.range.is_some() => {
            Err(ErrorCode::INVALID.with("a fragment is not to be changed alone").into())
        }
        Some(part) if part.fragments.is_some() => {
            Err(Fault::Elsewhere(Box::new(Plan::Common { dir: inode, op: Box::new(op.clone()) })))
        }
        _ => Ok(()),
    }
}
