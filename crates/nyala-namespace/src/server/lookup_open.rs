// SPDX-License-Identifier: Apache-2.0

//! A lookup that answers what opening the file would ask for next.
//!
//! Failure model: somebody else may have the file under a delegation, wait for it, or be changing it. Then the answer is the plain
//! entry, and the client asks when it opens the file. Nothing comes between this look at the delegations and the grant.

use crate::access::may_see_content;
use crate::change::{Change, Fault, Step};
use crate::ns::open;
use nyala_wire::meta::{EntryReply, MetaReply, MetaRequest, Want};
use nyala_wire::{FileKind, InodeId};

/// A lookup that also opens: puts the file, with its content, in the place of its entry, where that was asked for and its
/// delegation can be had at once; whether it did. Somebody else may have the file under a delegation, wait for it, or be
/// changing it: then the answer is the plain entry, and nobody is asked to let go for a guess.
pub fn lookup_open(
    request: &MetaRequest,
    change: &mut Change,
    reply: MetaReply,
    free: &dyn Fn(InodeId) -> bool,
) -> Step<(MetaReply, bool)> {
    let MetaReply::Entry(EntryReply { inode, kind: FileKind::File, attr: Some(_) }) = reply else {
        return Ok((reply, false));
    };
    if !request.want.has(Want::DELEGATIONS.and(Want::CONTENT)) || change.locks().in_use(inode) || !free(inode) {
        return Ok((reply, false));
    }
    if let Some(user) = request.caller.as_deref()
        && !may_see_content(change, user, inode)?
    {
        return Ok((reply, false));
    }
    match open::look(change, inode) {
        Ok(file) => Ok((MetaReply::Opened(Box::new(file)), true)),
        // What is lost of the content is an error for who opens it; who removes the name has to find it.
        Err(Fault::Refused(_)) => Ok((reply, false)),
        Err(fault) => Err(fault),
    }
}
