// SPDX-License-Identifier: Apache-2.0

//! One pass over all servers: what each says goes into [`Pass`]. Failure model: see the parent module.
//!
//! The order counts where a file is removed meanwhile: names and queues of removals are read first, then inodes, then chunk files. Of a
//! file that goes in between there is no chunk file any more, or its queue was seen.

use super::ask::Ask;
use super::pages::{Page, Pages, take_in};
use super::progress::Progress;
use super::report::Unchecked;
use crate::exit::Failure;
use nyala_fsck::pass::Pass;
use nyala_wire::check::{MAX_SCAN_INODES, ScanRequest};
use nyala_wire::map::TargetKind;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{InodeId, TargetId};
use std::collections::BTreeSet;
use std::rc::Rc;
use tokio::sync::mpsc;

/// Rows of a page.
const ROWS: u32 = 1024;
/// Pages that wait to be sorted.
const PAGES: usize = 2;

/// Asks all servers. `only`: the inodes that count, of a pass that looks again; absent: everything.
pub async fn scan(
    ask: &Rc<Ask>,
    pass: &mut Pass,
    only: Option<&BTreeSet<InodeId>>,
    progress: &mut Progress,
) -> Result<Vec<Unchecked>, Failure> {
    let map = ask.map();
    let meta: Vec<TargetId> = map.metadata_servers().collect();
    let storage: Vec<TargetId> = map.targets_of(TargetKind::Storage).map(|target| target.id).collect();
    let mut unchecked = Vec::new();
    let (pages, read) = mpsc::channel(PAGES);
    meta.iter().for_each(|target| spawn_rows(ask, *target, false, &pages));
    drop(pages);
    take_in(read, pass, progress, &mut unchecked).await?;
    let (pages, read) = mpsc::channel(PAGES);
    for target in &meta {
        match only {
            None => spawn_rows(ask, *target, true, &pages),
            Some(inodes) => spawn_inodes(ask, *target, inodes.iter().copied().collect(), &pages),
        }
    }
    drop(pages);
    take_in(read, pass, progress, &mut unchecked).await?;
    let (pages, read) = mpsc::channel(PAGES);
    storage.iter().for_each(|target| spawn_chunks(ask, *target, &pages));
    drop(pages);
    take_in(read, pass, progress, &mut unchecked).await?;
    Ok(unchecked)
}

fn spawn_rows(ask: &Rc<Ask>, target: TargetId, inodes: bool, pages: &Pages) {
    let (ask, pages) = (ask.clone(), pages.clone());
    tokio::task::spawn_local(async move {
        let mut from = Vec::new();
        loop {
            let request = ScanRequest { inodes, from: from.into(), most: ROWS, of: Vec::new(), compare: None };
            let (page, next) = match ask.scan(target, &request).await {
                Ok(reply) => (Page::Facts(target, reply.facts, reply.position), reply.next),
                Err(failure) => (Page::Failed(target, TargetKind::Meta, failure), None),
            };
            let gone = pages.send(page).await.is_err();
            match next {
                Some(next) if !gone => from = next.into(),
                _ => return,
            }
        }
    });
}

fn spawn_inodes(ask: &Rc<Ask>, target: TargetId, inodes: Vec<InodeId>, pages: &Pages) {
    let (ask, pages) = (ask.clone(), pages.clone());
    tokio::task::spawn_local(async move {
        for some in inodes.chunks(MAX_SCAN_INODES) {
            let request =
                ScanRequest { inodes: true, from: Vec::new().into(), most: ROWS, of: some.to_vec(), compare: None };
            let page = match ask.scan(target, &request).await {
                Ok(reply) => Page::Inodes(target, reply.facts),
                Err(failure) => Page::Failed(target, TargetKind::Meta, failure),
            };
            let failed = matches!(page, Page::Failed(..));
            if pages.send(page).await.is_err() || failed {
                return;
            }
        }
    });
}

fn spawn_chunks(ask: &Rc<Ask>, target: TargetId, pages: &Pages) {
    let (ask, pages) = (ask.clone(), pages.clone());
    tokio::task::spawn_local(async move {
        let mut from = Some(ChunkFileId::default());
        while let Some(at) = from {
            let page = match ask.list(target, at).await {
                Ok((files, next)) => {
                    from = next.filter(|next| *next > at);
                    Page::Chunks(target, files)
                }
                Err(failure) => Page::Failed(target, TargetKind::Storage, failure),
            };
            let failed = matches!(page, Page::Failed(..));
            if pages.send(page).await.is_err() || failed {
                return;
            }
        }
        // Nobody is there to hear it.
        let _ = pages.send(Page::Listed(target)).await;
    });
}
