// SPDX-License-Identifier: Apache-2.0

//! `nyala entry migrate PATH…`: files' data to other targets, mirror groups or pools, while their names, inodes and content stay.
//!
//! **Failure model.** Each file is moved for itself and whole: whoever is interrupted moves the rest with the same command, which passes
//! over what is where it should be. A file that another client has open, or asks for meanwhile, stays where it is, is counted, and makes the
//! exit code 1. For the rest: `nyala_client::Client::move_data`, and of the walk [`crate::entries`].

use crate::cluster::ClusterArgs;
use crate::command::pool_table::named;
use crate::config::PatternArg;
use crate::entries::{FilterArgs, Search, Tree, Walked, avoided};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::units::human_bytes;
use nyala_client::Destination;
use nyala_wire::map::ClusterMap;
use nyala_wire::{DataLocation, ErrorCode, Layout, Pattern, PoolId, StripePattern, TargetId};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Flags of `nyala entry migrate`.
#[derive(Clone, Debug, clap::Args)]
pub struct EntryMigrateArgs {
    /// Files, or directories with all that is below them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Move them to this storage pool, by its id or alias
    #[arg(long, value_name = "POOL")]
    to_pool: Option<String>,
    /// Spread their data so
    #[arg(long, value_enum)]
    to_pattern: Option<PatternArg>,
    /// Over so many targets, or mirror groups
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    to_num_targets: Option<u16>,
    /// Move; without it the files are listed
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

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

impl EntryMigrateArgs {
    /// Where a file's data is to go; `None`: it is there already, or no file is meant.
    fn destination(&self, layout: &Layout, map: &ClusterMap) -> Result<Option<Destination>, Failure> {
        let pool = self.to_pool.as_ref().map(|name| named(map, name)).transpose()?.map(|pool| pool.id);
        let pattern = self.to_pattern.map_or(layout.pattern, Pattern::from);
        let avoid = avoided(&self.filter, map, pattern)?;
        let now = avoided(&self.filter, map, layout.pattern)?;
        let width = layout.targets.len();
        let leaves = layout.targets.iter().any(|id| now.contains(id));
        let pools: BTreeSet<PoolId> =
            layout.indices().filter_map(|index| pool_of(map, layout.location(index))).collect();
        let settled = !leaves
            && pattern == layout.pattern
            && pool.is_none_or(|pool| pools.iter().all(|one| *one == pool))
            && self.to_num_targets.is_none_or(|wanted| usize::from(wanted) == width);
        let Some(pool) = pool.or(pools.first().copied()) else {
            return Err(Failure::failed("none of its targets is known; say where to with --to-pool"));
        };
        let num_targets = self.to_num_targets.unwrap_or(u16::try_from(width).unwrap_or(u16::MAX));
        let pattern = StripePattern { pattern, chunk_bytes: layout.chunk_bytes, num_targets, pool, inline_bytes: 0 };
        Ok((!settled).then(|| Destination { pattern, avoid: avoid.into_iter().collect() }))
    }

    fn says_where(&self) -> bool {
        let away =
            !self.filter.targets.is_empty() || !self.filter.nodes.is_empty() || !self.filter.mirror_groups.is_empty();
        away || self.to_pool.is_some() || self.to_pattern.is_some() || self.to_num_targets.is_some()
    }
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
    let search = Search { paths: &args.paths, cluster: &args.cluster, filter: &args.filter, max_depth: None };
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
        pattern: super::words::word(&to.pattern.pattern),
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
            Err(error) if error.is(ErrorCode::BUSY) => {
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

fn pool_of(map: &ClusterMap, location: DataLocation) -> Option<PoolId> {
    let target = match location {
        DataLocation::Target(id) => id,
        DataLocation::Group(id) => *map.group(id)?.members.first()?,
    };
    map.target(target).map(|target| target.pool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::command::mirror_list::tests::mirrored;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: EntryMigrateArgs,
    }

    fn args(line: &str) -> EntryMigrateArgs {
        Line::parse_from(std::iter::once("migrate").chain(line.split(' '))).args
    }

    fn layout(pattern: Pattern, ids: &[u16]) -> Layout {
        let targets = ids.iter().copied().map(TargetId).collect();
        Layout { pattern, chunk_bytes: 1 << 20, targets, moves: 0 }
    }

    #[test]
    fn what_is_to_leave_a_target_goes_where_that_is_not() {
        let to =
            args("--targets 101 /a").destination(&layout(Pattern::Raid0, &[101, 201]), &mirrored()).unwrap().unwrap();
        assert_eq!((to.avoid, to.pattern.num_targets, to.pattern.pattern), (vec![TargetId(101)], 2, Pattern::Raid0));
        assert_eq!(to.pattern.chunk_bytes, 1 << 20);
        assert_eq!(args("--targets 101 /a").destination(&layout(Pattern::Raid0, &[201]), &mirrored()).unwrap(), None);
        // Of group 1 target 101 is a member: mirrored files leave the group.
        let to = args("--targets 101 /a").destination(&layout(Pattern::Mirror, &[1]), &mirrored()).unwrap().unwrap();
        assert_eq!((to.avoid, to.pattern.pattern), (vec![TargetId(1)], Pattern::Mirror));
    }

    #[test]
    fn what_is_where_it_should_be_stays() {
        let (map, plain) = (mirrored(), layout(Pattern::Raid0, &[101]));
        assert_eq!(args("--to-pool 1 /a").destination(&plain, &map).unwrap(), None);
        assert_eq!(args("--to-pattern raid0 /a").destination(&plain, &map).unwrap(), None);
        assert_eq!(args("--to-num-targets 1 /a").destination(&plain, &map).unwrap(), None);
        let to = args("--to-pattern mirror /a").destination(&plain, &map).unwrap().unwrap();
        assert_eq!((to.pattern.pattern, to.pattern.num_targets, to.avoid), (Pattern::Mirror, 1, Vec::new()));
        assert!(args("--to-pool nowhere /a").destination(&plain, &map).unwrap_err().message.contains("pool list"));
    }

    #[test]
    fn it_has_to_be_said_what_for() {
        assert!(!args("/a").says_where() && !args("--min-size 1m /a").says_where());
        assert!(args("--nodes 1 /a").says_where() && args("--to-pool 1 /a").says_where());
        let said = ["nyala", "entry", "migrate", "/a"].map(str::to_owned);
        assert!(Cli::try_parse_from(said).is_ok(), "it is the command that says so");
    }
}
