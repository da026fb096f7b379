// SPDX-License-Identifier: Apache-2.0

//! A client takes over, under its session here, what it has open and locked in slots that came from another server, where it had another
//! session. Until then that one is a guest here, which nobody polls for.
//!
//! Failure model: it may be repeated, and some of the guest's files may still be on their way here: the guest stays for those, and is
//! taken over once more. A guest that nobody takes over ends like any session that is not heard of.

use super::env::Env;
use super::lock;
use crate::change::{Change, Step};
use crate::keys;
use crate::records::SessionRecord;
use nyala_wire::meta::MetaReply;
use nyala_wire::{ErrorCode, InodeId, SessionId};

/// Gives what a guest holds to the session that asks.
pub fn run(change: &mut Change, env: &Env, guest: SessionId) -> Step<MetaReply> {
    let record: Option<SessionRecord> = change.record(&keys::session(guest))?;
    let Some(record) = record else { return Ok(MetaReply::Done) };
    if record.guest != Some(true) || guest.client() != env.session.client() {
        return Err(ErrorCode::NOT_PERMITTED.with("that session is another client's, or not a guest here").into());
    }
    let open = change.view().opened_by(guest)?;
    let locked = lock::locked_by(change.view(), guest)?;
    let (here, coming): (Vec<InodeId>, Vec<InodeId>) = open.into_iter().partition(|inode| env.is_here(*inode));
    for inode in here {
        change.find_inode(inode)?;
        change.delete(keys::open(inode, guest));
        change.put(keys::open(inode, env.session), Vec::new());
    }
    for inode in locked {
        change.find_inode(inode)?;
        lock::hand_over(change, (guest, env.session), inode)?;
    }
    if coming.is_empty() {
        change.delete(keys::session(guest));
    }
    Ok(MetaReply::Done)
}
