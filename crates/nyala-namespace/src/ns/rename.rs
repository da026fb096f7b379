// SPDX-License-Identifier: Apache-2.0

//! Rename, when everything that it touches is here; else it becomes a transaction.

use super::env::Env;
use crate::change::{Change, Fault, Step};
use crate::tx::plan::Found;
use crate::tx::rename_parts::{moves_directory, rename_parts};
use crate::tx::{Plan, parts};
use nyala_wire::meta::{MetaReply, Rename};
use nyala_wire::{ErrorCode, InodeId, Name};

/// Renames, replacing or exchanging as asked.
pub fn run(change: &mut Change, env: &Env, rename: &Rename) -> Step<MetaReply> {
    if rename.no_replace && rename.exchange {
        return Err(ErrorCode::INVALID.into());
    }
    let from = found(change, rename.from_parent, &rename.from_name)?.ok_or(ErrorCode::NOT_FOUND)?;
    let elsewhere = || Err(Fault::Elsewhere(Box::new(Plan::Rename(rename.clone()))));
    if !env.is_here(rename.to_parent) {
        return elsewhere();
    }
    let to = found(change, rename.to_parent, &rename.to_name)?;
    let dirs = (change.directory(rename.from_parent)?, change.directory(rename.to_parent)?);
    let Some(list) = rename_parts(rename, dirs, from, to)? else {
        return Ok(MetaReply::Done);
    };
    // A directory that moves needs the cluster-wide rename lock and a look at its ancestors, which may be anywhere.
    let here = |slot| env.map.slot_target(slot) == Some(env.me);
    if moves_directory(rename, dirs, from, to) || !list.iter().all(|part| here(part.slot())) {
        return elsewhere();
    }
    for part in &list {
        let result = parts::check(change, part, env.now)?;
        parts::perform(change, part, &result, env.now)?;
    }
    Ok(MetaReply::Done)
}

/// What stands under a name.
pub fn found(change: &mut Change, dir: InodeId, name: &Name) -> Step<Option<Found>> {
    change.dir(dir)?;
    Ok(change.find_entry(dir, name)?.map(|(_, entry)| (entry.inode, entry.kind)))
}
