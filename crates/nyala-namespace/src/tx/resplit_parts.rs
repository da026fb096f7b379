// SPDX-License-Identifier: Apache-2.0

//! The parts of a step of splitting a directory ([`super::resplit`]). Pure.

use super::resplit::{Move, Resplit};
use crate::change::{Change, Fault, Step};
use crate::ns::acl;
use crate::records::InodeRecord;
use minicbor::bytes::ByteVec;
use nyala_wire::fragments::Fragment;
use nyala_wire::meta::Owner;
use nyala_wire::meta_tx::{PartResult, TxPart};
use nyala_wire::{ErrorCode, InodeId, Slot, Time};

/// The directory, and the fragments concerned that are here: they are locked meanwhile.
pub fn locked(resplit: &Resplit, is_here: &dyn Fn(Slot) -> bool) -> Vec<InodeId> {
    let concerned: Vec<InodeId> = match &resplit.step {
        Move::Add(_) => Vec::new(),
        Move::Drop => resplit.before.last().map(|last| last.inode).into_iter().collect(),
        Move::Entries { parts, .. } => [&parts.0, &parts.1].into_iter().filter_map(inode_of).collect(),
    };
    let mut all: Vec<InodeId> = concerned.into_iter().filter(|inode| is_here(inode.slot())).collect();
    all.push(resplit.dir);
    all.sort_unstable();
    all.dedup();
    all
}

/// The parts, as things are now. Nothing is done about other fragments than those that the step was decided for.
pub fn parts(resplit: &Resplit, change: &mut Change) -> Step<Vec<TxPart>> {
    let (record, part) = change.dir(resplit.dir)?;
    if part.fragments() != resplit.before || part.range.is_some() {
        return Err(Fault::Blocked);
    }
    let (at, record) = (part.own_range().from, record.clone());
    match &resplit.step {
        Move::Add(slot) => {
            let default_acl = acl::default_list(change, resplit.dir)?;
            Ok(vec![fragment(resplit.dir, *slot, &record, default_acl, at)])
        }
        Move::Drop => {
            let last = resplit.before.last().ok_or(Fault::Blocked)?;
            Ok(vec![TxPart::RemoveFragment { inode: last.inode }])
        }
        Move::Entries { at, upto, parts } => {
            let mut after = resplit.before.clone();
            after.get_mut(*at).ok_or(ErrorCode::BAD_MESSAGE)?.upto = *upto;
            let (give, take) = (**parts).clone();
            Ok(vec![give, take, set(resplit, after, None)])
        }
    }
}

/// The part that follows from the result of the first one.
pub fn made(resplit: &Resplit, results: &[PartResult]) -> Step<Option<TxPart>> {
    let (before, attr) = match (&resplit.step, results.first()) {
        (Move::Entries { .. }, _) => return Ok(None),
        (_, Some(PartResult::Attr(attr))) => (&resplit.before, attr),
        _ => return Err(ErrorCode::BAD_MESSAGE.into()),
    };
    Ok(Some(match resplit.step {
        Move::Drop => {
            let rest = before.split_last().map_or_else(Vec::new, |(_, rest)| rest.to_vec());
            set(resplit, rest, Some(attr.mtime))
        }
        _ => {
            let upto = before.last().map_or(0, |last| last.upto);
            let more = Fragment { inode: attr.inode, upto };
            set(resplit, before.iter().copied().chain([more]).collect(), None)
        }
    }))
}

fn set(resplit: &Resplit, fragments: Vec<Fragment>, changed: Option<Time>) -> TxPart {
    TxPart::SetFragments { dir: resplit.dir, fragments, changed }
}

/// A new fragment gives to new entries what its directory does.
fn fragment(of: InodeId, slot: Slot, dir: &InodeRecord, default_acl: Option<ByteVec>, at: u64) -> TxPart {
    let part = dir.dir.as_ref();
    let (pattern, depth) = (part.and_then(|part| part.pattern), part.and_then(|part| part.depth));
    let owner = Owner { uid: dir.uid, gid: dir.gid };
    TxPart::MakeFragment { slot, of, perm: dir.perm, owner, pattern, default_acl, at, depth }
}

fn inode_of(part: &TxPart) -> Option<InodeId> {
    match part {
        TxPart::GiveEntries { inode, .. } | TxPart::TakeEntries { inode, .. } => Some(*inode),
        _ => None,
    }
}
