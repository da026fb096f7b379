// SPDX-License-Identifier: Apache-2.0

//! Open and close. A session holds a file open once, however many handles it has.

use super::env::Env;
use super::inline;
use super::inodes::destroy;
use crate::access;
use crate::change::{Change, Step};
use crate::keys;
use nyala_wire::meta::{FileReply, InlineContent, MetaOp, MetaReply};
use nyala_wire::storage_grants::{StorageGrant, StorageRights};
use nyala_wire::{ErrorCode, FileKind, InodeId, SessionId};

/// Runs one of the operations on files that are to be used.
pub fn run(change: &mut Change, env: &Env, op: &MetaOp) -> Step<MetaReply> {
    match op {
        MetaOp::Open { inode } => open(change, env, *inode),
        MetaOp::StorageGrant(inode) => storage_grant(change, env, *inode),
        _ => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
    }
}

/// Opens a file.
pub fn open(change: &mut Change, env: &Env, inode: InodeId) -> Step<MetaReply> {
    Ok(MetaReply::Opened(Box::new(open_here(change, env.session, inode)?)))
}

/// Opens a file on this server and says what there is to know about it.
pub fn open_here(change: &mut Change, session: SessionId, inode: InodeId) -> Step<FileReply> {
    let reply = look(change, inode)?;
    let key = keys::open(inode, session);
    if !change.has(&key)? {
        change.put(key, Vec::new());
    }
    Ok(reply)
}

/// Opens a file that this change makes: nobody has it open.
pub fn open_new(change: &mut Change, session: SessionId, inode: InodeId) -> Step<FileReply> {
    let reply = look(change, inode)?;
    change.put(keys::open(inode, session), Vec::new());
    Ok(reply)
}

/// What there is to know about a file, without opening it.
pub fn file_info(change: &mut Change, inode: InodeId) -> Step<MetaReply> {
    Ok(MetaReply::Opened(Box::new(look(change, inode)?)))
}

/// What a client may do with a file's chunks. Its code is added where the keys are: here it is zeros.
pub fn storage_grant(change: &mut Change, env: &Env, inode: InodeId) -> Step<MetaReply> {
    if change.inode(inode)?.file.is_none() {
        return Err(ErrorCode::INVALID.into());
    }
    let rights = env.user.map_or(Ok(StorageRights::Write), |who| access::storage_rights(change, who, inode))?;
    Ok(MetaReply::StorageGrant(StorageGrant { inode, rights, code: [0; 16].into() }))
}

/// The same as it is part of other replies.
pub fn look(change: &mut Change, inode: InodeId) -> Step<FileReply> {
    let record = change.inode(inode)?;
    let attr = record.attr(inode);
    let Some(file) = record.file.clone() else {
        let directory = record.kind == FileKind::Directory;
        return Err(if directory { ErrorCode::IS_A_DIRECTORY } else { ErrorCode::INVALID }.into());
    };
    let inline = match file.inline_version {
        // Empty: nothing was ever kept.
        Some(0) => Some(InlineContent { version: 0, data: Vec::new().into() }),
        Some(version) => {
            let data = inline::get(change, inode, &file)?;
            Some(InlineContent { version, data: data.into() })
        }
        None => None,
    };
    Ok(FileReply { attr, layout: file.layout, inline, inline_limit: file.inline_limit, leftovers: None })
}

/// The session no longer holds the file open; one without links goes with its last opener.
pub fn close(change: &mut Change, session: SessionId, inode: InodeId) -> Step<MetaReply> {
    close_here(change, session, inode)?;
    Ok(MetaReply::Done)
}

/// Does what [`close`] says; fine if the file is not open or gone.
pub fn close_here(change: &mut Change, session: SessionId, inode: InodeId) -> Step<()> {
    let key = keys::open(inode, session);
    if !change.has(&key)? {
        return Ok(());
    }
    change.delete(key);
    let orphan = change.find_inode(inode)?.is_some_and(|record| record.nlink == 0);
    if orphan && !change.is_open(inode)? {
        destroy(change, inode)?;
    }
    Ok(())
}
