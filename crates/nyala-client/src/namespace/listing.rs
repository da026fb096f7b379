// SPDX-License-Identifier: Apache-2.0

//! Lists directories that may be split.
//!
//! **Failure model.** That of [`super::fragments`]. A listing goes on with a cookie, which says where it was, wherever entries are by now.

use crate::error::Result;
use crate::namespace::fragments::Fragments;
use crate::namespace::owner::Namespace;
use nyala_wire::meta::Listing;
use nyala_wire::{ErrorCode, InodeId};
use std::sync::Arc;

/// Entries after a cookie, from one fragment after the other.
pub(super) async fn readdir(
    namespace: &Arc<Namespace>,
    fragments: &Fragments,
    dir: InodeId,
    mut after: u64,
    max: u32,
    plus: bool,
) -> Result<Listing> {
    let mut again = fragments.again();
    let mut all = Listing { entries: Vec::new(), end: false, next: None };
    loop {
        let at = fragments.holder_at(dir, after.saturating_add(1));
        let left = max.saturating_sub(all.entries.len() as u32).max(1);
        match namespace.readdir(at, after, left, plus).await {
            Ok(part) => {
                all.entries.extend(part.entries);
                all.end = part.end;
                let Some(next) = part.next.filter(|_| (all.entries.len() as u32) < max) else { break };
                after = next.saturating_sub(1);
                continue;
            }
            Err(error) if error.is(ErrorCode::OTHER_FRAGMENT) => drop(fragments.learn(dir).await?),
            Err(error) if at != dir && error.is(ErrorCode::NOT_FOUND) => drop(fragments.learn(dir).await?),
            Err(error) => return Err(error),
        }
        again.pause("list a directory").await?;
    }
    Ok(all)
}
