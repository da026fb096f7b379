// SPDX-License-Identifier: Apache-2.0

//! `nyala entry migrate PATH…`: files' data to other targets, mirror groups or pools, while their names, inodes and content stay.
//!
//! **Failure model.** Each file is moved for itself and whole: whoever is interrupted moves the rest with the same command, which passes
//! over what is where it should be. A file that another client has open, or asks for meanwhile, stays where it is, is counted, and makes the
//! exit code 1. For the rest: `nyala_client::Client::move_data`, and of the walk [`crate::entries`].

use super::entry_migrate_args::EntryMigrateArgs;
use super::words::word;
use crate::entries::{Search, Tree, Walked};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::units::human_bytes;
use nyala_wire::{ErrorCode, TargetId};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file that was moved, or would be.
#[derive(Serialize)]
struct Migrated<'a> {
    path: &'a Path,
    inode: String,
    size: u64,
    pattern: String,
    /// Targets, or mirror groups, that its data was on.
    from: &'a [TargetId],
    /// Where it is; absent: it was not moved.
    to: Option<Vec<TargetId>>,
}

/// What was done so far.
#[derive(Default)]
struct Counts {
    files: Cell<u64>,
    bytes: Cell<u64>,
    in_use: Cell<u64>,
    first: RefCell<Option<PathBuf>>,
}

/// Moves, or lists what would be moved.
pub fn run(args: EntryMigrateArgs, output: Output) -> Outcome {
    if !args.says_where() {
        return Err(Failure::usage(
            "say what the files are to leave (--targets, --nodes, --mirror-groups), or where they are to go (--to-pool, --to-pattern, \
            --to-num-targets)",
        ));
    }
    let counts = Counts::default();
    let search = Search {
        paths: &args.paths,
        cluster: &args.cluster,
        filter: &args.filter,
        max_depth: None,
        excludes: args.yes,
    };
    let told = search.each(output, "migrate", async |tree, walked| migrate(&args, &counts, tree, walked).await);
    let (files, size) = (counts.files.get(), human_bytes(counts.bytes.get()));
    let plural = if files == 1 { "" } else { "s" };
    if args.yes {
        eprintln!("{files} file{plural} moved, {size} copied");
    } else {
        eprintln!("{files} file{plural} with {size} would be moved; add --yes to move them");
    }
    told?;
    match (counts.in_use.get(), counts.first.take()) {
        (0, _) | (_, None) => Ok(Exit::Ok),
        (1, Some(path)) => {
            Err(Failure::failed(format!("{} is in use and was not moved; try again later", path.display())))
        }
        (count, Some(path)) => Err(Failure::failed(format!(
            "{count} files are in use and were not moved, {} first; try again later",
            path.display()
        ))),
    }
}

/// One entry; what is printed of it.
async fn migrate(
    args: &EntryMigrateArgs,
    counts: &Counts,
    tree: &Tree,
    walked: &Walked,
) -> Result<Option<(Vec<u8>, serde_json::Value)>, Failure> {
    let (info, map) = &walked.found;
    let Some(layout) = &info.layout else { return Ok(None) };
    let Some(to) = args.destination(layout, map).map_err(|error| error.context(walked.path.display()))? else {
        return Ok(None);
    };
    let mut told = Migrated {
        path: &walked.path,
        inode: info.attr.inode.to_string(),
        size: info.attr.size,
        pattern: word(&to.pattern.pattern),
        from: &layout.targets,
        to: None,
    };
    let count = |copied: u64| {
        counts.files.set(counts.files.get() + 1);
        counts.bytes.set(counts.bytes.get() + copied);
    };
    if !args.yes {
        count(if info.inline { 0 } else { info.attr.size });
    } else {
        let Tree::Cluster(client) = tree else {
            return Err(Failure::failed("only with the cluster's secret: as root, or where nyala mount runs"));
        };
        match client.move_data(info.attr.inode, &to, |_| ()).await {
            Ok((copied, layout)) => {
                count(copied);
                told.to = Some(layout.targets);
            }
            Err(error) if error.is(ErrorCode::NOT_FOUND) || error.is(ErrorCode::STALE) => return Ok(None),
            Err(error) if error.is(ErrorCode::AGAIN) || error.is(ErrorCode::BUSY) => {
                counts.in_use.set(counts.in_use.get() + 1);
                counts.first.borrow_mut().get_or_insert_with(|| walked.path.clone());
                return Ok(None);
            }
            Err(error) => return Err(Failure::from(error).context(walked.path.display())),
        }
    }
    let value = serde_json::to_value(&told).map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
    Ok(Some(([walked.path.as_os_str().as_bytes(), b"\n"].concat(), value)))
}
