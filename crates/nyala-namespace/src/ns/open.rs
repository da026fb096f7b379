// SPDX-License-Identifier: Apache-2.0

//! Open and close. A session holds a file open once, however many handles it has.

use super::env::Env;
use super::inline;
use super::inodes::destroy;
use crate::change::{Change, Step};
use crate::keys;
use nyala_wire::meta::{FileReply, InlineContent, MetaReply};
use nyala_wire::{ErrorCode, FileKind, InodeId, SessionId};

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

/// What there is to know about a file, without opening it.
pub fn file_info(change: &mut Change, inode: InodeId) -> Step<MetaReply> {
    Ok(MetaReply::Opened(Box::new(look(change, inode)?)))
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
