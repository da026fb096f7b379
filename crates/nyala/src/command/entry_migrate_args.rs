// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala entry migrate`, and where a file's data goes by them. Pure: the map is an argument.

use super::entry_code::EntryPattern;
use super::pool_table::named;
use crate::cluster::ClusterArgs;
use crate::entries::FilterArgs;
use crate::exit::Failure;
use nyala_client::Destination;
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::{DataLocation, Layout, Pattern, PoolId, StripePattern, TargetId};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Flags of `nyala entry migrate`.
#[derive(Clone, Debug, clap::Args)]
pub struct EntryMigrateArgs {
    /// Files, or directories with all that is below them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Move them to this storage pool, by its id or alias
    #[arg(long, value_name = "POOL")]
    pub(super) to_pool: Option<String>,
    /// Spread their data so
    #[arg(long, value_enum)]
    pub(super) to_pattern: Option<EntryPattern>,
    /// Over so many targets, or mirror groups
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) to_num_targets: Option<u16>,
    /// Move; without it the files are listed
    #[arg(long)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) filter: FilterArgs,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

impl EntryMigrateArgs {
    /// Where a file's data is to go; `None`: it is there already, or no file is meant.
    pub(super) fn destination(&self, layout: &Layout, map: &ClusterMap) -> Result<Option<Destination>, Failure> {
        let pool = self.to_pool.as_ref().map(|name| named(map, name)).transpose()?.map(|pool| pool.id);
        let pattern = self.to_pattern.map_or(layout.pattern, Pattern::from);
        let avoid = avoided(&self.filter, map, pattern)?;
        let now = avoided(&self.filter, map, layout.pattern)?;
        let width = layout.targets.len();
        let code = layout.code.filter(|_| pattern != Pattern::Raid0);
        if pattern == Pattern::Ec && code.is_none() {
            return Err(Failure::failed("it has no erasure code; nyala entry encode --data K --parity M gives it one"));
        }
        let leaves = layout.targets.iter().any(|id| now.contains(id));
        let pools: BTreeSet<PoolId> =
            layout.indices().filter_map(|index| pool_of(map, layout.location(index))).collect();
        let Some(to_pool) = pool.or(pools.first().copied()) else {
            return Err(Failure::failed("none of its targets is known; say where to with --to-pool"));
        };
        // More than there are would never be there, and each run would move the file again.
        let there = locations(map, pattern, to_pool).filter(|id| !avoid.contains(id)).count();
        let wanted = self.to_num_targets.map(|wanted| wanted.min(u16::try_from(there).unwrap_or(u16::MAX)).max(1));
        let settled = !leaves
            && pattern == layout.pattern
            && pool.is_none_or(|pool| pools.iter().all(|one| *one == pool))
            && (pattern == Pattern::Ec || wanted.is_none_or(|wanted| usize::from(wanted) == width));
        let num_targets = wanted.unwrap_or(u16::try_from(width).unwrap_or(u16::MAX));
        let pool = to_pool;
        let pattern =
            StripePattern { pattern, chunk_bytes: layout.chunk_bytes, num_targets, pool, inline_bytes: 0, code };
        Ok((!settled).then(|| Destination { pattern, avoid: avoid.into_iter().collect() }))
    }

    /// Whether anything is to leave a place, or to go to one.
    pub(super) fn says_where(&self) -> bool {
        let away =
            !self.filter.targets.is_empty() || !self.filter.nodes.is_empty() || !self.filter.mirror_groups.is_empty();
        away || self.to_pool.is_some() || self.to_pattern.is_some() || self.to_num_targets.is_some()
    }
}

/// What the conditions about places name, as files that are spread so know it: targets, or the numbers of mirror groups.
fn avoided(args: &FilterArgs, map: &ClusterMap, pattern: Pattern) -> Result<BTreeSet<TargetId>, Failure> {
    let filter = FilterArgs { targets: args.targets.clone(), nodes: args.nodes.clone(), ..FilterArgs::default() };
    let targets = filter.filter(map, true)?.targets.unwrap_or_default();
    Ok(match pattern {
        Pattern::Raid0 | Pattern::Ec => targets,
        Pattern::Mirror => {
            let on = |id: &TargetId| targets.contains(id);
            let of =
                map.groups.iter().filter(|group| group.kind == TargetKind::Storage && group.members.iter().any(on));
            of.map(|group| group.id).chain(args.mirror_groups.iter().copied()).map(|group| TargetId(group.0)).collect()
        }
    })
}

/// The targets, or the numbers of mirror groups, of a pool.
fn locations(map: &ClusterMap, pattern: Pattern, pool: PoolId) -> impl Iterator<Item = TargetId> + '_ {
    let targets = map.targets_of(TargetKind::Storage).map(|target| target.id);
    let groups = map.groups.iter().filter(|group| group.kind == TargetKind::Storage).map(|group| TargetId(group.id.0));
    let (targets, groups) = match pattern {
        Pattern::Raid0 | Pattern::Ec => (Some(targets), None),
        Pattern::Mirror => (None, Some(groups)),
    };
    let all = targets.into_iter().flatten().chain(groups.into_iter().flatten());
    all.filter(move |id| pool_of(map, pattern.location(*id)) == Some(pool))
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
    use nyala_wire::ErasureCode;
    use nyala_wire::map::Pool;

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
        Layout { pattern, chunk_bytes: 1 << 20, targets, moves: 0, code: None }
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
    fn encoded_data_stays_encoded_and_other_data_is_not_encoded_by_moving() {
        let code = Some(ErasureCode { data: 2, parity: 1 });
        let encoded = Layout { code, ..layout(Pattern::Ec, &[101, 201, 102]) };
        let to = args("--targets 101 /a").destination(&encoded, &mirrored()).unwrap().unwrap();
        assert_eq!((to.pattern.pattern, to.pattern.code, to.avoid), (Pattern::Ec, code, vec![TargetId(101)]));
        assert_eq!(args("--to-pattern ec --to-num-targets 1 /a").destination(&encoded, &mirrored()).unwrap(), None);
        let to = args("--to-pattern raid0 /a").destination(&encoded, &mirrored()).unwrap().unwrap();
        assert_eq!((to.pattern.pattern, to.pattern.code), (Pattern::Raid0, None));
        let plain = layout(Pattern::Raid0, &[101]);
        assert!(
            args("--to-pattern ec /a").destination(&plain, &mirrored()).unwrap_err().message.contains("entry encode")
        );
    }

    #[test]
    fn what_is_where_it_should_be_stays() {
        let (mut map, plain) = (mirrored(), layout(Pattern::Raid0, &[101]));
        map.pools = vec![Pool { id: PoolId(1), alias: "default".into() }];
        assert_eq!(args("--to-pool 1 /a").destination(&plain, &map).unwrap(), None);
        assert_eq!(args("--to-pattern raid0 /a").destination(&plain, &map).unwrap(), None);
        assert_eq!(args("--to-num-targets 1 /a").destination(&plain, &map).unwrap(), None);
        let wider = args("--to-num-targets 9 /a").destination(&plain, &map).unwrap().unwrap();
        let there = map.targets_of(TargetKind::Storage).filter(|target| target.pool == PoolId(1)).count();
        assert_eq!(usize::from(wider.pattern.num_targets), there, "as many as there are");
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
