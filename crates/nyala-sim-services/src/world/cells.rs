// SPDX-License-Identifier: Apache-2.0

//! What clients do to files with cells: places in a file of which each is written and read as a whole, a register.

use super::errors::is;
use super::setup::DIRS;
use super::work::{Done, Worker};
use crate::check::append::word;
use crate::check::ledger;
use nyala_wire::ErrorCode;
use nyala_wire::meta::SetAttr;
use std::collections::BTreeSet;

/// A file with cells: their number, their length and the distance between their beginnings.
pub struct Kind {
    pub name: &'static str,
    pub cells: u32,
    len: usize,
    apart: u64,
}

pub const KINDS: [Kind; 3] = [
    Kind { name: "small", cells: 4, len: 800, apart: 1000 },
    Kind { name: "large", cells: 8, len: 6000, apart: 50_000 },
    Kind { name: "wide", cells: 3, len: 100_000, apart: 110_000 },
];

pub async fn write(worker: &mut Worker, dir: usize) -> Done {
    let (kind, cell) = any(worker);
    write_cell(worker, dir, kind, cell).await
}

fn any(worker: &mut Worker) -> (&'static Kind, u32) {
    let kind = &KINDS[worker.random.index(KINDS.len())];
    (kind, worker.random.index(kind.cells as usize) as u32)
}

async fn write_cell(worker: &mut Worker, dir: usize, kind: &Kind, cell: u32) -> Done {
    let handle = worker.handle(dir, kind.name).await?;
    let file = (format!("{}/{}", DIRS[dir], kind.name), cell);
    let stamp = ledger(|ledger| {
        let now = ledger.tick();
        ledger.registers.entry(file.clone()).or_default().begin(worker.id, now, now);
        now
    });
    tracing::debug!("client {}: writes {stamp} to {file:?}", worker.id);
    handle.write(u64::from(cell) * kind.apart, &stamp.to_le_bytes().repeat(kind.len / 8)).await?;
    ledger(|ledger| {
        let now = ledger.tick();
        ledger.registers.entry(file).or_default().done(worker.id, now);
    });
    Ok(())
}

pub async fn read(worker: &mut Worker, dir: usize) -> Done {
    let (kind, cell) = any(worker);
    read_cell(worker, dir, kind, cell).await
}

pub async fn read_cell(worker: &mut Worker, dir: usize, kind: &Kind, cell: u32) -> Done {
    let handle = worker.handle(dir, kind.name).await?;
    let file = (format!("{}/{}", DIRS[dir], kind.name), cell);
    let from = ledger(|ledger| ledger.tick());
    let mut bytes = handle.read(u64::from(cell) * kind.apart, kind.len).await?.concat();
    bytes.resize(kind.len, 0);
    let values: BTreeSet<u64> = bytes.chunks(8).map(word).collect();
    tracing::debug!("client {}: reads {values:?} in {file:?} from {from} on", worker.id);
    ledger(|ledger| {
        ledger.tick();
        let register = ledger.registers.entry(file.clone()).or_default();
        let wrong = values.iter().find_map(|value| register.judge(*value, from));
        let wrong = wrong.map(|wrong| format!("client {} reads {file:?}: {wrong}", worker.id));
        ledger.found("nothing stale is read, what was synced is there", wrong);
    });
    Ok(())
}

pub async fn truncate(worker: &mut Worker, dir: usize) -> Done {
    let kind = &KINDS[worker.random.index(KINDS.len())];
    let handle = worker.handle(dir, kind.name).await?;
    let file = format!("{}/{}", DIRS[dir], kind.name);
    let id = worker.id;
    tracing::debug!("client {id}: truncates {file}");
    let each = |work: &dyn Fn(&mut crate::check::register::Register, u64)| {
        ledger(|ledger| {
            let now = ledger.tick();
            (0..kind.cells).for_each(|cell| work(ledger.registers.entry((file.clone(), cell)).or_default(), now));
        });
    };
    each(&|register, now| register.begin(id, 0, now));
    worker.client.setattr(handle.inode(), SetAttr { size: Some(0), ..SetAttr::default() }).await?;
    each(&|register, now| register.done(id, now));
    Ok(())
}

/// Gives a file another name, or sets its mode, while what was just written to it is sent: answers to changes of a file must not bring back what it was
/// before others that were answered first.
pub async fn link(worker: &mut Worker, dir: usize) -> Done {
    let (kind, cell) = any(worker);
    write_cell(worker, dir, kind, cell).await?;
    let handle = worker.handle(dir, kind.name).await?;
    let (client, at, inode) = (worker.client.clone(), worker.dirs[dir], handle.inode());
    let (name, links) = (format!("again{}", worker.id), worker.random.one_in(2));
    let change = async {
        let changed = match links {
            true => client.link(inode, at, name.as_bytes()).await,
            false => client.setattr(inode, SetAttr { perm: Some(0o640), ..SetAttr::default() }).await,
        };
        match changed {
            // An earlier life of this client made it.
            Err(error) if links && is(&error, ErrorCode::EXISTS) => Ok(()),
            changed => changed.map(drop),
        }
    };
    // In this order: the file is changed at its server before it hears what was written.
    let (changed, sent) = tokio::join!(change, handle.flush());
    sent.and(changed)?;
    read_cell(worker, dir, kind, cell).await?;
    if !links {
        return Ok(());
    }
    match client.unlink(at, name.as_bytes()).await {
        Err(error) if is(&error, ErrorCode::NOT_FOUND) => Ok(()),
        removed => removed,
    }
}
