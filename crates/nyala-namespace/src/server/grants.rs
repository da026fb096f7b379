// SPDX-License-Identifier: Apache-2.0

//! What replies show and grant. The bookkeeping, and its failure model, is [`crate::delegations`].

use super::held;
use super::state::State;
use crate::delegations::Need;
use nyala_wire::meta::{ANSWER_HEAD_BYTES, DelegationMode, Grants, MetaOp, MetaReply, MetaRequest, Want};
use nyala_wire::{InodeId, SessionId, codec};
use std::borrow::Cow;
use std::slice;

/// The body of a reply.
pub fn body(grants: Grants, reply: &MetaReply) -> Vec<u8> {
    let mut body = Vec::with_capacity(192);
    body.extend_from_slice(&grants.head_bytes());
    codec::encode_into(reply, &mut body);
    body
}

/// The body of a reply that grants nothing.
pub fn plain(reply: &MetaReply) -> Vec<u8> {
    body(Grants::default(), reply)
}

/// The body of a kept reply, which grants nothing.
pub fn kept_body(kept: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(ANSWER_HEAD_BYTES + kept.len());
    body.extend_from_slice(&Grants::default().head_bytes());
    body.extend_from_slice(kept);
    body
}

/// Puts the grants into the head of a body.
pub fn set_grants(body: &mut [u8], grants: Grants) {
    if let Some(head) = body.get_mut(..ANSWER_HEAD_BYTES) {
        head.copy_from_slice(&grants.head_bytes());
    }
}

/// The inodes whose attributes or content a reply shows.
pub fn shown(reply: &MetaReply) -> Cow<'_, [InodeId]> {
    let one = match reply {
        MetaReply::Entry(entry) => entry.attr.as_ref(),
        MetaReply::Attr(attr) | MetaReply::Inline { attr, .. } => Some(attr),
        MetaReply::Attrs(attrs) => return attrs.iter().map(|attr| attr.inode).collect(),
        MetaReply::EntryInfo(info) => Some(&info.attr),
        MetaReply::Opened(file) => Some(&file.attr),
        MetaReply::Created { file, .. } => file.as_ref().map(|file| &file.attr),
        _ => None,
    };
    one.map_or(Cow::Borrowed(&[]), |attr| Cow::Borrowed(slice::from_ref(&attr.inode)))
}

/// Leaves attributes out of a listing that somebody else may have changed without saying so yet.
pub fn cut_listing(state: &State, session: SessionId, reply: &mut MetaReply) {
    if let MetaReply::Listing(listing) = reply {
        for entry in listing.entries.iter_mut().filter(|entry| entry.attr.is_some()) {
            if state.delegations.in_the_way(entry.inode, session, Need::Read) {
                entry.attr = None;
            }
        }
    }
}

/// The mode that a request for a delegation should get.
pub fn best(state: &State, request: &MetaRequest, inode: InodeId) -> DelegationMode {
    let (write, cached) = (request.want.has(Want::WRITE), request.want.has(Want::CACHED));
    state.delegations.best(inode, request.session, write, cached, state.now.ms)
}

/// What a reply grants: what an `Acquire` has waited for (`awaited`), or can be had. Nothing that a transaction is changing.
pub fn grant(
    state: &mut State,
    request: &MetaRequest,
    reply: &mut MetaReply,
    awaited: Option<DelegationMode>,
) -> Grants {
    if !request.want.has(Want::DELEGATIONS) {
        return Grants::default();
    }
    let (session, now_ms) = (request.session, state.now.ms);
    let (locks, delegations) = (&state.ground.locks, &mut state.delegations);
    let seq = delegations.next_seq();
    let mut shared = |inode: InodeId| {
        !locks.in_use(inode)
            && delegations.give(inode, session, DelegationMode::Shared, seq, now_ms) != DelegationMode::None
    };
    let mut given = Grants { seq, ..Grants::default() };
    if let MetaOp::Lookup { parent: dir, .. } | MetaOp::ReadDir { dir, .. } = &request.op {
        given.dir = shared(*dir);
    }
    given.inodes = match reply {
        MetaReply::Listing(listing) => {
            for entry in listing.entries.iter_mut().filter(|entry| entry.attr.is_some()) {
                if !shared(entry.inode) {
                    entry.attr = None;
                }
            }
            DelegationMode::Shared
        }
        // One that is missing voids all, so that what is granted is never more than what the client takes it for.
        MetaReply::Entry(_) | MetaReply::Attr(_) | MetaReply::Attrs(_) | MetaReply::EntryInfo(_) => {
            let all = shown(reply);
            let asked = all.len();
            if asked > 0 && all.iter().filter(|inode| shared(**inode)).count() == asked {
                DelegationMode::Shared
            } else {
                DelegationMode::None
            }
        }
        MetaReply::Opened(file) => {
            let inode = file.attr.inode;
            let (write, cached) = (request.want.has(Want::WRITE), request.want.has(Want::CACHED));
            match awaited {
                _ if locks.in_use(inode) => DelegationMode::None,
                Some(mode) => delegations.insist(inode, session, mode, seq),
                None => {
                    let mode = delegations.best(inode, session, write, cached, now_ms);
                    delegations.give(inode, session, mode, seq, now_ms)
                }
            }
        }
        MetaReply::Created { inode, file: Some(_), .. } if !locks.in_use(*inode) => {
            delegations.give(*inode, session, DelegationMode::Exclusive, seq, now_ms)
        }
        _ => DelegationMode::None,
    };
    if held::keep(state) { given } else { nothing(seq, reply) }
}

/// There was no room to write down who holds it.
fn nothing(seq: u64, reply: &mut MetaReply) -> Grants {
    if let MetaReply::Listing(listing) = reply {
        listing.entries.iter_mut().for_each(|entry| entry.attr = None);
    }
    Grants { seq, ..Grants::default() }
}
