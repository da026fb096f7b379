// SPDX-License-Identifier: Apache-2.0

//! New directories. The first levels of the name space are spread over the servers, by transactions; in trees below them, a directory is
//! made where the one above it is, by one record (`docs/decisions/0051-near-directories.md`).

use super::acl;
use super::create::entry_reply;
use super::env::Env;
use super::inodes::{new_record, touch_dir};
use super::link::MAX_LINKS;
use crate::acl::Inherited;
use crate::change::{Change, Fault, Step};
use crate::records::{DirPart, InodeRecord};
use crate::tx::Plan;
use minicbor::bytes::ByteVec;
use nyala_wire::meta::{MetaReply, NewEntry, Owner};
use nyala_wire::meta_tx::TxPart;
use nyala_wire::{ErrorCode, FileKind, InodeId, Slot};

/// Makes a directory, here or by a transaction on the server of the slot that it gets.
pub fn run(change: &mut Change, env: &Env, entry: &NewEntry) -> Step<MetaReply> {
    check_links(change, entry.parent, FileKind::Directory)?;
    if change.find_entry(entry.parent, &entry.name)?.is_some() {
        return Err(ErrorCode::EXISTS.into());
    }
    let slot = pick_slot(change, env, entry.parent)?;
    let directory = change.directory(entry.parent)?;
    let Inherited { perm, access, default } = acl::inherit(change, entry, true)?;
    let (parent, part) = change.dir(entry.parent)?;
    let (pattern, depth) = (part.pattern, part.depth_below());
    let record = new_record(parent, FileKind::Directory, perm | (parent.perm & 0o2000), env);
    if env.map.slot_target(slot) != Some(env.me) {
        let part = TxPart::MakeDir {
            slot,
            parent: directory,
            perm: record.perm,
            owner: Owner { uid: record.uid, gid: record.gid },
            pattern,
            acl: access.map(ByteVec::from),
            default_acl: default.map(ByteVec::from),
            depth: Some(depth),
        };
        return Err(Fault::Elsewhere(Box::new(Plan::Mkdir { entry: entry.clone(), part })));
    }
    let inode = change.allocate(slot)?;
    change.insert_inode(inode, as_dir(record, DirPart { depth: Some(depth), ..DirPart::new(directory, pattern) }))?;
    acl::give(change, inode, access.as_deref(), default.as_deref())?;
    change.add_entry(entry.parent, &entry.name, inode, FileKind::Directory)?;
    touch_dir(change, entry.parent, env.now)?;
    entry_reply(change, inode)
}

/// Whether a directory can take another entry of this kind: a directory in it is one more link of it.
pub fn check_links(change: &mut Change, dir: InodeId, kind: FileKind) -> Step<()> {
    let (record, _) = change.dir(dir)?;
    let full = kind == FileKind::Directory && record.nlink >= MAX_LINKS;
    if full { Err(ErrorCode::TOO_MANY_LINKS.into()) } else { Ok(()) }
}

/// Makes a directory's record of a new inode's.
pub fn as_dir(record: InodeRecord, part: DirPart) -> InodeRecord {
    InodeRecord { nlink: 2, dir: Some(part), ..record }
}

/// The slot of a directory that is made in this one: that which it got already, one of the same server's, or any server's.
fn pick_slot(change: &mut Change, env: &Env, parent: InodeId) -> Step<Slot> {
    if let Some(made) = change.made() {
        return Ok(made.inode.slot());
    }
    let (record, part) = change.dir(parent)?;
    let near = if part.keeps_near(record.nlink) { env.placement.pick_slot_of(env.me, env.random) } else { None };
    let slot = near.or_else(|| env.placement.pick_slot(env.random, 0));
    slot.ok_or_else(|| ErrorCode::NOT_READY.with("no metadata target is online").into())
}
