// SPDX-License-Identifier: Apache-2.0

//! `nyala target list`.

use super::json_name::json_name;
use crate::cluster::ClusterArgs;
use crate::exit::Outcome;
use crate::output::{Output, Table, show};
use crate::role::block_on;
use clap::ValueEnum;
use nyala_wire::PoolId;
use nyala_wire::map::{ClusterMap, Target, TargetKind};
use serde::Serialize;

/// Kinds of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// Metadata.
    Meta,
    /// File data.
    Storage,
}

/// Flags of `nyala target list`.
#[derive(Clone, Debug, clap::Args)]
pub struct TargetListArgs {
    /// Show reachability, consistency, capacity pool, and whether its disk fails
    #[arg(long)]
    pub state: bool,
    /// Only these
    #[arg(long, value_enum, visible_alias = "node-type")]
    pub kind: Option<KindArg>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// A target as programs read it.
#[derive(Serialize)]
struct ListedTarget<'a> {
    #[serde(flatten)]
    target: &'a Target,
    /// Errors that its disk had made when it was called failing; absent: it does not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_errors: Option<u64>,
}

impl ListedTarget<'_> {
    fn of<'a>(map: &ClusterMap, target: &'a Target) -> ListedTarget<'a> {
        let failing = map.failing.iter().find(|failing| failing.target == target.id);
        ListedTarget { target, failing_errors: failing.map(|failing| failing.errors) }
    }
}

impl From<KindArg> for TargetKind {
    fn from(kind: KindArg) -> TargetKind {
        match kind {
            KindArg::Meta => TargetKind::Meta,
            KindArg::Storage => TargetKind::Storage,
        }
    }
}

impl KindArg {
    fn fits(self, kind: TargetKind) -> bool {
        TargetKind::from(self) == kind
    }
}

/// Lists targets.
pub fn run(args: TargetListArgs, output: Output) -> Outcome {
    let map = block_on(async { args.cluster.find()?.map().await })?;
    let fits = |target: &&Target| args.kind.is_none_or(|kind| kind.fits(target.kind));
    let targets: Vec<Target> = map.targets.iter().filter(fits).cloned().collect();
    let listed: Vec<ListedTarget> = targets.iter().map(|target| ListedTarget::of(&map, target)).collect();
    show(output, &listed, |_| table(&map, &targets, args.state))
}

pub(super) fn table(map: &ClusterMap, targets: &[Target], state: bool) -> String {
    let mut heads = vec!["ID", "TYPE", "ALIAS", "NODE", "POOL"];
    if state {
        heads.extend(["REACHABILITY", "CONSISTENCY", "CAP_POOL"]);
    }
    let disks = state && targets.iter().any(|target| map.is_failing(target.id));
    if disks {
        heads.push("DISK");
    }
    let mut table = Table::new(&heads);
    for target in targets {
        let node = map.node(target.node).map_or_else(|| target.node.to_string(), |node| node.alias.clone());
        // Metadata targets are in no pool.
        let pool = map.pools.iter().find(|pool| pool.id == target.pool);
        let none = || if target.pool == PoolId(0) { "-".to_owned() } else { target.pool.to_string() };
        let pool = pool.map_or_else(none, |pool| pool.alias.clone());
        let mut row = vec![target.id.to_string(), json_name(&target.kind), target.alias.clone(), node, pool];
        if state {
            row.extend([
                json_name(&target.reachability),
                json_name(&target.consistency),
                json_name(&target.capacity_pool),
            ]);
        }
        if disks {
            row.push(if map.is_failing(target.id) { "failing" } else { "-" }.to_owned());
        }
        table.row(row);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::map::{CapacityPool, Consistency, FailingTarget, Reachability};
    use nyala_wire::{NodeId, TargetId};

    #[test]
    fn states_are_shown_on_demand() {
        let target = Target {
            id: TargetId(101),
            alias: "t101".into(),
            kind: TargetKind::Storage,
            node: NodeId(3),
            pool: PoolId(1),
            reachability: Reachability::ProbablyOffline,
            consistency: Consistency::Good,
            capacity_pool: CapacityPool::Low,
        };
        let mut map = ClusterMap { targets: vec![target], ..ClusterMap::default() };
        assert!(!table(&map, &map.targets, true).contains("failing"));
        map.failing = vec![FailingTarget { target: TargetId(101), errors: 64, replacement: None }];
        let text = table(&map, &map.targets, true);
        assert!(text.contains("failing"), "{text}");
        let json = serde_json::to_value(ListedTarget::of(&map, &map.targets[0])).unwrap();
        assert_eq!((json["id"].as_u64(), json["failing_errors"].as_u64()), (Some(101), Some(64)));
        assert!(text.contains("probably-offline") && text.contains("good") && text.contains("low"), "{text}");
        assert!(!table(&map, &map.targets, false).contains("good"));
        assert!(KindArg::Storage.fits(TargetKind::Storage) && !KindArg::Meta.fits(TargetKind::Storage));
    }
}
