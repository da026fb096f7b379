// SPDX-License-Identifier: Apache-2.0

//! A scrub: finds damage on a target, and has it repaired where another copy is. Failure model: see the parent module.
//!
//! The repair is that of the services' own scrubs ([`nyala_storage::scrub::repair()`]). Only
//! what metadata says to be mirrored is repaired: elsewhere the other member has no such data to give.

use super::found::{Damage, ScrubReport};
use super::leftover::{self, Candidates};
use super::{Look, Owner};
use crate::exit::Failure;
use nyala_storage::scrub::{Copies, repair as repaired};
use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::walk::{WalkAt, WalkPiece, runs};
use nyala_wire::{DataLocation, GroupId, TargetId};
use std::time::Duration;

/// Damaged places of a target that are listed; more are only counted.
const LISTED: usize = 10_000;

/// What a scrub does.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Bytes that are read from each target in a second; 0: as fast as it goes.
    pub rate: u64,
    /// Damage is repaired where another copy is.
    pub repair: bool,
    /// Chunk files that no file needs are looked for, twice, so far apart.
    pub leftovers: Option<Duration>,
    /// Those that are found are removed.
    pub remove: bool,
}

/// Looks at all of a target.
pub async fn scrub(look: &Look, target: TargetId, work: Work) -> ScrubReport {
    let mut report = ScrubReport::of(target);
    if let Err(failure) = walk(look, &mut report, work).await {
        report.error = Some(failure.message);
    }
    report
}

async fn walk(look: &Look, report: &mut ScrubReport, work: Work) -> Result<(), Failure> {
    let target = report.target;
    let mut candidates = Candidates::default();
    let mut steps = look.walk(target, true, work.rate);
    while let Some(piece) = steps.take().await? {
        report.bytes = steps.bytes;
        if work.leftovers.is_some() {
            candidates.first_look(look, &piece).await?;
        }
        if piece.bad != 0 {
            repair(look, report, piece, work.repair).await?;
        }
    }
    if let Some(grace) = work.leftovers {
        report.more_leftovers = candidates.more;
        let again = async |at| look.again(target, at, false).await;
        report.leftovers = candidates.second_look(look, grace, again).await?;
        if work.remove {
            leftover::remove(look, target, &mut report.leftovers).await;
        }
    }
    Ok(())
}

async fn repair(look: &Look, report: &mut ScrubReport, piece: WalkPiece, repair: bool) -> Result<(), Failure> {
    let (target, at) = (report.target, piece.at);
    let (group, reason) = match look.owner(at.file).await? {
        Owner::Gone => return Ok(()),
        Owner::At(DataLocation::Group(group)) => {
            (Some(group), (!repair).then(|| "not repaired: --no-repair".to_owned()))
        }
        Owner::At(DataLocation::Target(_)) => (None, Some("not mirrored: restore the file".to_owned())),
        Owner::Unknown => (None, Some("its file has no data there".to_owned())),
    };
    let left = match (group, &reason) {
        (Some(group), None) => repaired(&Mirrored { look, target, group, at }, &piece).await?,
        _ => piece.bad,
    };
    for (bits, repaired) in [(piece.bad & !left, true), (left, false)] {
        for (first, count) in runs(bits) {
            let length = count * BLOCK_BYTES;
            report.damaged_bytes += length;
            report.repaired_bytes += if repaired { length } else { 0 };
            let failed = || reason.clone().unwrap_or_else(|| "no other member could give a good copy".to_owned());
            let damage = Damage {
                target,
                inode: at.file.inode.to_string(),
                inode_number: at.file.inode.0,
                index: at.file.index,
                offset: at.offset + first * BLOCK_BYTES,
                length,
                group,
                repaired,
                reason: (!repaired).then(failed),
            };
            if report.damage.len() < LISTED {
                report.damage.push(damage);
            }
        }
    }
    Ok(())
}

/// A damaged piece of a mirrored file on a target.
struct Mirrored<'a> {
    look: &'a Look,
    target: TargetId,
    group: GroupId,
    at: WalkAt,
}

impl Copies for Mirrored<'_> {
    type Error = Failure;

    async fn replace(&self, offset: u64, len: u32) {
        let Mirrored { look, target, group, at } = self;
        if let Err(error) = look.client.repair_copy(*group, at.file, (offset, len), *target).await {
            tracing::warn!(%group, target_id = %target, inode = %at.file.inode, %error, "a repair was not begun");
        }
    }

    async fn bad(&self) -> Result<u64, Failure> {
        Ok(self.look.again(self.target, self.at, true).await?.bad)
    }
}
