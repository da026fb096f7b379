// SPDX-License-Identifier: Apache-2.0

//! `nyala entry migrate PATH…`: files' data to other targets, mirror groups or pools, while their names, inodes and content stay.
//!
//! **Failure model.** Each file is moved for itself and whole: whoever is interrupted moves the rest with the same command, which passes
//! over what is where it should be. A file that another client has open, or asks for meanwhile, or that cannot be read or written, stays where it
//! is and is counted, the first of these is named at the end, and the exit code is 1; only a cluster that cannot be reached ends it. For the rest: `nyala_client::Client::move_data`, and of the walk [`crate::entries`].

use super::entry_migrate_args::EntryMigrateArgs;
use super::entry_moved::Counts;
use super::json_name::json_name;
use crate::entries::{Search, Tree, Walked};
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::units::human_bytes;
use nyala_wire::TargetId;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
    let so_far = || counts.so_far();
    let bytes: Option<&dyn Fn() -> u64> = if args.yes { Some(&so_far) } else { None };
    let told = search.each(output, "migrate", bytes, async |tree, walked| migrate(&args, &counts, tree, walked).await);
    let (files, size) = (counts.files.get(), human_bytes(counts.bytes()));
    let plural = if files == 1 { "" } else { "s" };
    if args.yes {
        eprintln!("{files} file{plural} moved, {size} copied");
    } else {
        eprintln!("{files} file{plural} with {size} would be moved; add --yes to move them");
    }
    told?;
    counts.end("moved")
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
        pattern: json_name(&to.pattern.pattern),
        from: &layout.targets,
        to: None,
    };
    if !args.yes {
        counts.done(if info.inline { 0 } else { info.attr.size });
    } else {
        let Tree::Cluster(client) = tree else {
            return Err(Failure::failed("only with the cluster's secret: as root, or where nyala mount runs"));
        };
        match client.move_data(info.attr.inode, &to, |copied| counts.copied.set(copied)).await {
            Ok((copied, layout)) => {
                counts.done(copied);
                told.to = Some(layout.targets);
            }
            Err(error) => {
                counts.failed(&walked.path, error)?;
                return Ok(None);
            }
        }
    }
    let value = serde_json::to_value(&told).map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))?;
    Ok(Some(([walked.path.as_os_str().as_bytes(), b"\n"].concat(), value)))
}
