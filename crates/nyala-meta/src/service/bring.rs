// SPDX-License-Identifier: Apache-2.0

//! A look-up that brings what opening the file would ask for next.
//!
//! Failure model: somebody else may have the file under a lease, wait for it, or be changing it. Then the answer is the
//! plain entry, and the client asks when it opens the file; nobody is asked to let go for a guess. Nothing else comes
//! between this look at the leases and the grant: until then the shard does nothing else, and where it has to wait first it
//! looks again.

use super::state::State;
use nyala_namespace::change::{Change, Step};
use nyala_namespace::ns::open;
use nyala_wire::FileKind;
use nyala_wire::meta::{EntryReply, MetaReply, MetaRequest, Want};

/// Puts the file in the place of its entry, where that was asked for and its lease can be had at once.
pub fn content(state: &State, request: &MetaRequest, change: &mut Change, reply: MetaReply) -> Step<MetaReply> {
    let MetaReply::Entry(EntryReply { inode, kind: FileKind::File, attr: Some(_) }) = reply else { return Ok(reply) };
    let asked = request.want.has(Want::LEASES.and(Want::CONTENT));
    if !asked
        || change.locks().in_use(inode)
        || !state.leases.borrow().is_free_to_read(inode, request.session, state.now_ms())
    {
        return Ok(reply);
    }
    state.count("lookup.content");
    Ok(MetaReply::Opened(Box::new(open::look(change, inode)?)))
}
