// SPDX-License-Identifier: Apache-2.0

//! `xicli pool …`: spares that sets share, under a name. Several sets may have one pool; whoever needs a spare first takes it.
//!
//! **Failure model.** That of [`super::pools`]. A set that does not answer is said; its service takes its spares from the settings when it starts.

use super::device::drives_of;
use super::named;
use super::options::Options;
use super::pool_table::{shown, state};
use super::pools::{Pool, Pools, file};
use crate::compat::notice::notice;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use nyala_wire::raid::RaidOrder;
use std::path::Path;

/// Does what is asked of a pool.
pub fn run(words: &[&str], line: &Options) -> Outcome {
    with(words, line, &file())
}

fn with(words: &[&str], line: &Options, file: &Path) -> Outcome {
    match words {
        ["create"] => create(line, file),
        ["add"] => change(line, file, true),
        ["remove"] => change(line, file, false),
        ["delete"] => delete(line, file),
        ["show"] => show(line, file),
        ["activate" | "deactivate", ..] => Err(Failure::usage(
            "A pool is active for the sets that it is given to: xicli raid modify -n NAME -sp POOL, or null",
        )),
        _ => Err(Failure::usage("Missing command: create, add, remove, delete or show")),
    }
}

/// Drives for a pool: of this host they are empty.
fn spares(line: &Options) -> Result<Vec<String>, Failure> {
    if line.values("drives").is_empty() {
        return Err(Failure::usage("Missing argument: --drives <block devices>"));
    }
    drives_of(line.values("drives"))
}

fn create(line: &Options, file: &Path) -> Outcome {
    line.only(&["name", "drives"])?;
    let (name, drives, mut pools) = (line.need("name")?, spares(line)?, Pools::load(file)?);
    nyala_cluster::alias::check(name).map_err(|error| Failure::usage(format!("-n {name}: {error}")))?;
    if pools.named(name).is_ok() {
        return Err(Failure::failed(format!("There is a spare pool {name} already")));
    }
    expect_free(&pools, &drives)?;
    pools.pool.push(Pool { name: name.to_owned(), drives, sets: vec![] });
    pools.save(file)?;
    notice(&format!("a set takes spares of it once it is given to that: xicli raid modify -n NAME -sp {name}"));
    Ok(Exit::Ok)
}

fn expect_free(pools: &Pools, drives: &[String]) -> Result<(), Failure> {
    pools.expect_new(drives)?;
    match drives.iter().find(|drive| !matches!(state(drive), "free" | "-")) {
        Some(used) => Err(Failure::failed(format!("{used} is no empty directory: a spare is one"))),
        None => Ok(()),
    }
}

/// Adds drives to a pool, or takes them out.
fn change(line: &Options, file: &Path, add: bool) -> Outcome {
    line.only(&["name", "drives"])?;
    let (name, drives, mut pools) = (line.need("name")?, spares(line)?, Pools::load(file)?);
    if add {
        expect_free(&pools, &drives)?;
    }
    let pool = pools.named(name)?;
    if let Some(strange) = drives.iter().find(|drive| !add && !pool.drives.contains(drive)) {
        return Err(Failure::failed(format!("{strange} is not in the spare pool {name}")));
    }
    pool.drives.retain(|drive| !drives.contains(drive));
    if add {
        pool.drives.extend(drives.iter().cloned());
    }
    let sets = pool.sets.clone();
    pools.save(file)?;
    let (added, removed) = if add { (drives, vec![]) } else { (vec![], drives) };
    tell(&sets, &added, &removed)
}

fn delete(line: &Options, file: &Path) -> Outcome {
    line.only(&["name"])?;
    let (name, mut pools) = (line.need("name")?, Pools::load(file)?);
    let Pool { drives, sets, .. } = pools.named(name)?.clone();
    pools.pool.retain(|pool| pool.name != name);
    pools.save(file)?;
    tell(&sets, &[], &drives)
}

/// Tells the services of sets which spares they may take from now on, and which not.
pub fn tell(sets: &[String], added: &[String], removed: &[String]) -> Outcome {
    let order = |add: &[String], remove: &[String]| RaidOrder::Modify {
        bytes_per_s: None,
        errors: None,
        within_ms: None,
        add_spares: add.to_vec(),
        remove_spares: remove.to_vec(),
    };
    let mut end = Exit::Ok;
    for set in sets {
        // One by one: a spare that the set has taken is none of its spares any more, which is no reason to keep the others.
        let orders =
            added.chunks(1).map(|add| order(add, &[])).chain(removed.chunks(1).map(|remove| order(&[], remove)));
        for order in orders {
            if let Err(error) = block_on(async { named::order(set, order).await }) {
                notice(&format!("{set}: {error}"));
                end = Exit::Failed;
            }
        }
        let names = |drives: &[String]| drives.iter().map(|drive| format!("{drive:?}")).collect::<Vec<_>>().join(", ");
        let (has, has_not) = (names(added), names(removed));
        let settings = match (added.is_empty(), removed.is_empty()) {
            (true, true) => continue,
            (false, true) => format!("{has} come"),
            (true, false) => format!("{has_not} go"),
            (false, false) => format!("{has} come, and {has_not} go"),
        };
        notice(&format!("{set}: in the settings of its storage service, {settings} in `spares` of its target"));
    }
    Ok(end)
}

fn show(line: &Options, file: &Path) -> Outcome {
    line.only(&["name", "format", "units"])?;
    if let Some(format) = line.value("format")?.filter(|format| *format != "table") {
        return Err(Failure::usage(format!("--format {format}: pools are shown as a table")));
    }
    let mut pools = Pools::load(file)?;
    if let Some(name) = line.value("name")? {
        pools = Pools { pool: vec![pools.named(name)?.clone()] };
    }
    print(&shown(&pools))
}

#[cfg(test)]
mod tests;
