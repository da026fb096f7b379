// SPDX-License-Identifier: Apache-2.0

//! Clients that move files' data to other targets, as `nyala entry migrate` does, while others use the files: from targets to the mirror
//! group, back, and to other names where it is; in runs with SIM_CODED also encoded over all targets, from where whoever writes moves it back.
//!
//! **Failure model.** A move is refused while another client has the file open, or asks for it; it fails like any other operation. What has to
//! hold in the end: [`crate::check::data_moves`].

use super::cluster::{Cluster, Role};
use super::setup::{CODE, DIRS};
use super::work::{Done, Worker};
use crate::check::data_moves::ChunkFiles;
use crate::check::ledger;
use crate::random::Random;
use nyala_client::types::Destination;
use nyala_client::{Client, Error};
use nyala_wire::{ErrorCode, InodeId, Layout, Pattern, StripePattern, TargetId};

/// Files whose data is moved; the last one is replaced by others all the time.
const FILES: [&str; 5] = ["small", "large", "wide", "log", "name"];

/// With these a file's data stays where it is, and all goes on.
const REFUSALS: [ErrorCode; 5] =
    [ErrorCode::AGAIN, ErrorCode::BUSY, ErrorCode::STALE, ErrorCode::NOT_FOUND, ErrorCode::NO_SPACE];

/// Moves a file's data; whether there was one.
pub async fn one(worker: &mut Worker, dir: usize) -> Done {
    let file = *worker.random.pick(&FILES);
    let client = worker.client.clone();
    let inode = client.lookup(worker.dirs[dir], file.as_bytes()).await?.inode;
    let Some(before) = layout(&client, inode).await? else { return Ok(()) };
    let to = destination(&mut worker.random, &client, &before);
    tracing::debug!("client {}: moves {}/{file}, {before:?}, to {to:?}", worker.id, DIRS[dir]);
    ledger(|ledger| ledger.data_moves.begin(inode, &before));
    match client.move_data(inode, &to, |_| {}).await {
        Ok((bytes, now)) => {
            ledger(|ledger| {
                let what = if bytes > 0 { "with data at storage" } else { "without any" };
                ledger.count(&format!("data moves: {:?} to {:?}, {what}", before.pattern, now.pattern));
                let wrong = ledger.data_moves.done(inode, now);
                ledger.found("data is moved once", wrong);
            });
            Ok(())
        }
        Err(error) => {
            let nothing_done = matches!(error, Error::Server { what: "choose targets", .. });
            ledger(|ledger| {
                if nothing_done {
                    ledger.data_moves.refused(inode);
                }
                let when = if nothing_done { "before the copy" } else { "during it" };
                ledger.count(&format!("data moves: refused or failed {when}"));
            });
            if REFUSALS.iter().any(|code| error.is(*code)) { Ok(()) } else { Err(error) }
        }
    }
}

/// Where a file's data is, if it is still there.
async fn layout(client: &Client, inode: InodeId) -> Result<Option<Layout>, Error> {
    match client.entry_info(inode).await {
        Err(error) if error.is(ErrorCode::NOT_FOUND) || error.is(ErrorCode::STALE) => Ok(None),
        info => Ok(info?.layout),
    }
}

/// The mirror group, which there is one of, or some targets.
fn destination(random: &mut Random, client: &Client, before: &Layout) -> Destination {
    let usual = client.map().settings.default_pattern;
    if ledger(|ledger| ledger.data_moves.are_coded) && random.one_in(2) {
        let code = Some(CODE);
        return Destination { pattern: StripePattern { pattern: Pattern::Ec, code, ..usual }, avoid: Vec::new() };
    }
    if random.one_in(2) {
        let pattern = StripePattern { pattern: Pattern::Mirror, num_targets: 1, ..usual };
        return Destination { pattern, avoid: Vec::new() };
    }
    let pattern = StripePattern { pattern: Pattern::Raid0, num_targets: 1 + random.below(3) as u16, ..usual };
    let from = (before.pattern == Pattern::Raid0).then(|| *random.pick(&before.targets));
    Destination { pattern, avoid: from.into_iter().collect() }
}

/// What has become of the files, once nobody moves their data any more.
pub async fn look_at_layouts(client: &Client) -> Done {
    for inode in ledger(|ledger| ledger.data_moves.files()) {
        let last = layout(client, inode).await?;
        ledger(|ledger| {
            ledger.count("data moves: layouts judged");
            let wrong = ledger.data_moves.ends(inode, last);
            ledger.found("what was moved stays moved", wrong);
        });
    }
    Ok(())
}

/// What is wrong with the chunk files of those files.
pub fn judge(cluster: &Cluster) -> Option<String> {
    let mut storage = cluster.with_role(Role::Storage);
    // The mirror group is of the targets with the lowest ids.
    storage.sort_by_key(|number| cluster.target_of(*number));
    let each = storage.into_iter().enumerate().map(|(at, number)| {
        let files = cluster.servers[number].rack.chunks.files().into_iter().filter(|(_, bytes)| *bytes > 0);
        let target = TargetId(cluster.target_of(number).unwrap_or(0));
        ChunkFiles { target, is_mirror: at < 2, names: files.map(|(name, _)| name).collect() }
    });
    let there: Vec<ChunkFiles> = each.collect();
    ledger(|ledger| ledger.data_moves.judge(&there))
}
