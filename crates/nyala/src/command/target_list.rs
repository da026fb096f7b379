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
    /// Show reachability, consistency and capacity pool
    #[arg(long)]
    pub state: bool,
    /// Only these
    #[arg(long, value_enum, visible_alias = "node-type")]
    pub kind: Option<KindArg>,
    #[command(flatten)]
    cluster: ClusterArgs,
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
    show(output, &targets, |targets| table(&map, targets, args.state))
}

pub(super) fn table(map: &ClusterMap, targets: &[Target], state: bool) -> String {
    let mut heads = vec!["ID", "TYPE", "ALIAS", "NODE", "POOL"];
    if state {
        heads.extend(["REACHABILITY", "CONSISTENCY", "CAP_POOL"]);
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
        table.row(row);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::map::{CapacityPool, Consistency, Reachability};
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
        let map = ClusterMap { targets: vec![target], ..ClusterMap::default() };
        let text = table(&map, &map.targets, true);
        assert!(text.contains("probably-offline") && text.contains("good") && text.contains("low"), "{text}");
        assert!(!table(&map, &map.targets, false).contains("good"));
        assert!(KindArg::Storage.fits(TargetKind::Storage) && !KindArg::Meta.fits(TargetKind::Storage));
    }
}
