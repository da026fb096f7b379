// SPDX-License-Identifier: Apache-2.0

//! What the reply to a transaction says besides the kept reply.

use super::grants::kept_body;
use super::state::State;
use nyala_wire::meta::{DelegationMode, MetaRequest, add_dirs};
use nyala_wire::{Attr, InodeId};

/// The body of the reply to a transaction, which grants nothing, with the directories of this server that it names as they are now, where the
/// session has a delegation. Its client believes them if it has had that throughout: nobody else has changed them then.
pub fn body(state: &mut State, request: &MetaRequest, kept: &[u8]) -> Vec<u8> {
    let mut body = kept_body(kept);
    let State { ground, delegations, .. } = state;
    let mut dirs = ground.dirs_here(&request.op);
    dirs.dedup();
    dirs.retain(|dir| {
        let mode = delegations.mode(*dir, request.session);
        matches!(mode, DelegationMode::Shared | DelegationMode::Exclusive) && !ground.locks.in_use(*dir)
    });
    let mut attr =
        |dir: &InodeId| ground.look(None, |mut change| change.dir(*dir).map(|(record, _)| record.attr(*dir)));
    // What cannot be told its client asks for.
    let attrs: Vec<Attr> = dirs.iter().filter_map(|dir| attr(dir).ok()).collect();
    if !attrs.is_empty() {
        add_dirs(&mut body, &attrs);
    }
    body
}
