// SPDX-License-Identifier: Apache-2.0

//! Emptying storage targets whose disks fail: files that are not mirrored are moved to other targets, one after the other.
//!
//! What is on a target its storage service says, to one client at a time; every mount asks now and then, so that somebody does it as long as
//! anybody is there. Members of mirror groups are replaced by management.
//!
//! **Failure model.** This client may end, or lose contact, at any moment: a file is moved whole or not at all ([`crate::file::move_data`]), and another client
//! begins anew from the list a minute later. A file that somebody has open, here or elsewhere, stays until a later pass, by whichever client; so does one of
//! which not all can be read, which is named in the log. The target may go away, or be taken to be well again: the map is looked at before
//! each file. Where no other target has room, everything stays where it is.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::file::encode::encode;
use crate::file::encoding::Encoding;
use crate::file::move_data::migrate;
use crate::maintenance::logic::evacuation::{Departure, departure, failing, has_room};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{ErrorCode, InodeId, TargetId};
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Chunk files that are asked for at once.
const PAGE: u32 = 64;
/// The storage service hears so often from the client that empties a target, or lets another one do it.
const HEARD_EVERY: Duration = Duration::from_secs(15);
/// Longest pause after a file; a shorter one takes as long as the file took.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// After each page: what is mirrored is only passed over.
const BETWEEN_PAGES: Duration = Duration::from_millis(20);

/// What came of a pass through a target.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    moved: u64,
    in_use: u64,
    refused: u64,
}

/// Empties what fails, for as long as the client lives. Looks after `every`, and not at the same moment as other clients.
pub(super) async fn run(client: Weak<Core>, every: Duration) {
    loop {
        let Some(number) = client.upgrade().map(|core| core.cluster.client_id()) else { return };
        tokio::time::sleep(every + every.mul_f64((number % 1000) as f64 / 1000.0)).await;
        let Some(core) = client.upgrade().filter(|core| !core.ctx.is_stopped()) else { return };
        for target in failing(&core.cluster.maps.view().map) {
            match empty(&core, target).await {
                Ok(Pass { moved: 0, in_use: 0, refused: 0 }) => {}
                Ok(pass) => tracing::info!(%target, ?pass, "files were moved off a target whose disk fails"),
                // Another client does it, or this one must not.
                Err(error) => {
                    tracing::debug!(%target, %error, "a target whose disk fails is not emptied by this client")
                }
            }
        }
    }
}

/// One pass through all that a target has.
async fn empty(core: &Arc<Core>, target: TargetId) -> Result<Pass> {
    let (mut pass, mut from, mut last) = (Pass::default(), Some(ChunkFileId::default()), None);
    while let Some(at) = from {
        let (files, next) = core.cluster.list_failing(target, at, PAGE).await?;
        for inode in files.into_iter().map(|listed| listed.file.inode) {
            // The chunk files of one inode are beside each other.
            if last.replace(inode) == Some(inode) {
                continue;
            }
            let map = core.cluster.maps.view().map.clone();
            if core.ctx.is_stopped() || !failing(&map).contains(&target) || !has_room(&map, target) {
                return Ok(pass);
            }
            let began = Instant::now();
            let moved = tokio::select! {
                moved = move_away(core, inode, target) => moved,
                never = stay_heard(core, target) => match never {},
            };
            if count(&mut pass, moved, inode, target)? {
                tokio::time::sleep(began.elapsed().min(LONGEST_PAUSE)).await;
            }
        }
        tokio::time::sleep(BETWEEN_PAGES).await;
        from = next.filter(|next| *next > at);
    }
    Ok(pass)
}

/// Tells the storage service that the target is still being emptied.
async fn stay_heard(core: &Arc<Core>, target: TargetId) -> Infallible {
    loop {
        tokio::time::sleep(HEARD_EVERY).await;
        // why ignored: the next page says it, if another client has taken over.
        let _ = core.cluster.list_failing(target, ChunkFileId::default(), 1).await;
    }
}

/// Whether a file was moved; an error, if no other will be.
fn count(pass: &mut Pass, moved: Result<bool>, inode: InodeId, target: TargetId) -> Result<bool> {
    match moved {
        Ok(true) => pass.moved += 1,
        Ok(false) => return Ok(false),
        Err(Error::ShutDown) => return Err(Error::ShutDown),
        Err(error) => match error.code() {
            ErrorCode::NOT_FOUND | ErrorCode::STALE => return Ok(false),
            ErrorCode::AGAIN | ErrorCode::BUSY => pass.in_use += 1,
            _ => {
                pass.refused += 1;
                tracing::warn!(%inode, %target, %error, "a file stays on a target whose disk fails");
            }
        },
    }
    Ok(true)
}

/// Moves a file, if it has data there that only clients move.
async fn move_away(core: &Arc<Core>, inode: InodeId, target: TargetId) -> Result<bool> {
    let info = core.cluster.look(inode).await?;
    match departure(&info.layout, &core.cluster.maps.view().map, target) {
        None => Ok(false),
        Some(Departure::Encode { avoid }) => {
            let wanted = Encoding { again: true, avoid, moves: Some(info.layout.moves), code: None };
            Ok(encode(&core.ops, inode, &wanted, &|_| {}).await?.is_some())
        }
        Some(Departure::Move(to)) => migrate(&core.ops, inode, &to, &|_| {}).await.map(|_| true),
    }
}
