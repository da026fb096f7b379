// SPDX-License-Identifier: Apache-2.0

//! Asks for all names of a directory, once names that are not there were asked for often enough.
//!
//! **Failure model.** That of [`crate::delegation::logic::all_names`]. The delegation may go at any time: what came before is of no use
//! then. A listing that fails is one that was not asked for.

use crate::delegation::cache::cacheable;
use crate::delegation::logic::all_names::{AllOf, pays};
use crate::delegation::logic::generations::Generations;
use crate::error::Result;
use crate::namespace::fragments::Fragments;
use crate::namespace::owner::Namespace;
use crate::rpc::failure::unexpected_reply;
use nyala_wire::InodeId;
use nyala_wire::fragments::CookieRange;
use nyala_wire::meta::{MAX_LIST_ENTRIES, MetaOp, MetaReply, Owner};
use std::sync::Arc;

/// Names, and the inodes that they point to.
type Names = Vec<(Vec<u8>, InodeId)>;

/// A name is not there.
pub(super) async fn missed(namespace: &Arc<Namespace>, fragments: &Fragments, dir: InodeId, name: &[u8]) {
    let at = fragments.holder(dir, name);
    let range = fragments.range(dir, at);
    let first = namespace.ctx.config.misses_before_listing;
    let now_ms = namespace.ctx.now_ms();
    let cached = namespace.delegations.lock(at).cached(at, now_ms).map(|cached| cached.consider_gathering(first));
    let Some(misses) = cached.flatten() else { return };
    if is_worth_listing(namespace, at, misses).await {
        // why ignored: names are looked up one by one then, as before.
        let _ = know_all_names(namespace, dir, at, range).await;
    }
}

async fn is_worth_listing(namespace: &Arc<Namespace>, at: InodeId, misses: u32) -> bool {
    // More are forgotten again for the sake of others.
    let most = namespace.ctx.config.max_kept_entries as u64 / 2;
    namespace.getattr(at).await.is_ok_and(|attr| attr.size <= most && pays(misses, attr.size))
}

async fn know_all_names(namespace: &Arc<Namespace>, dir: InodeId, at: InodeId, range: CookieRange) -> Result<()> {
    let now_ms = namespace.ctx.now_ms();
    let (stamp, ticket) = {
        let mut shard = namespace.delegations.lock(at);
        let is_quiet = namespace.delegations.generations().note(Generations::slot(at)).is_some();
        let stamp = shard.stamp(at);
        match shard.cached(at, now_ms).filter(|_| is_quiet && stamp.is_some()) {
            Some(cached) => (stamp, cached.names.gather()),
            None => return Ok(()),
        }
    };
    let Some((all, names)) = list_all(namespace, dir, at, range).await? else { return Ok(()) };
    let mut shard = namespace.delegations.lock(at);
    let Some(cached) = cacheable(&mut shard, at, stamp, false, namespace.ctx.now_ms()) else { return Ok(()) };
    namespace.delegations.added_names(cached.names.gathered(ticket, all, names));
    drop(shard);
    namespace.delegations.bound_names();
    Ok(())
}

/// All names of an inode in a range, unless there are too many.
async fn list_all(
    namespace: &Namespace,
    dir: InodeId,
    at: InodeId,
    mut range: CookieRange,
) -> Result<Option<(AllOf, Names)>> {
    let (what, first) = ("list a directory", range.from.saturating_sub(1));
    let (mut after, mut names) = (first, Names::new());
    while names.len() <= namespace.ctx.config.max_kept_entries / 2 {
        let op = MetaOp::ReadDir { dir: at, after, max_entries: MAX_LIST_ENTRIES, plus: false };
        let MetaReply::Listing(part) = namespace.cluster.clone().meta(what, op, Owner::default()).await? else {
            return Err(unexpected_reply(what));
        };
        let last = part.entries.last().map(|entry| entry.cookie);
        names.extend(part.entries.into_iter().map(|entry| (entry.name.as_bytes().to_vec(), entry.inode)));
        match (part.end, part.next, last) {
            (true, ..) if first == 0 => return Ok(Some((AllOf::Directory, names))),
            (true, ..) => return Ok(Some((AllOf::Fragment { dir, range }, names))),
            (_, Some(next), _) => {
                range.upto = range.upto.min(next);
                return Ok(Some((AllOf::Fragment { dir, range }, names)));
            }
            (_, _, Some(last)) => after = last,
            _ => return Err(unexpected_reply(what)),
        }
    }
    Ok(None)
}
