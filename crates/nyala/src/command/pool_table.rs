// SPDX-License-Identifier: Apache-2.0

//! Storage pools by their names, and as they are shown.

use super::json_name::json_name;
use crate::exit::Failure;
use crate::output::Table;
use nyala_wire::map::{CapacityPool, ClusterMap, Pool, Reachability, TargetKind};
use nyala_wire::{PoolId, TargetId};
use serde::Serialize;

/// A pool and the targets in it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PoolView {
    id: PoolId,
    alias: String,
    /// Whether the default pattern of the cluster names it.
    default: bool,
    targets: Vec<TargetView>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct TargetView {
    id: TargetId,
    alias: String,
    reachability: Reachability,
    capacity_pool: CapacityPool,
}

/// Refuses targets that cannot be in a pool, before anything is changed.
pub fn known(map: &ClusterMap, targets: &[TargetId]) -> Result<(), Failure> {
    for target in targets {
        match map.targets.iter().find(|known| known.id == *target) {
            Some(known) if known.kind == TargetKind::Storage => {}
            Some(_) => {
                return Err(Failure::failed(format!("target {target} holds metadata; pools are of storage targets")));
            }
            None => return Err(Failure::failed(format!("there is no target {target}; see nyala target list"))),
        }
    }
    Ok(())
}

/// The pool of that id or alias.
pub fn named(map: &ClusterMap, name: &str) -> Result<Pool, Failure> {
    let id = name.parse().ok().map(PoolId);
    let found = map.pools.iter().find(|pool| pool.alias == name || Some(pool.id) == id);
    found.cloned().ok_or_else(|| Failure::failed(format!("there is no storage pool {name:?}; see nyala pool list")))
}

/// A pool as it is shown.
pub fn view(map: &ClusterMap, pool: &Pool) -> PoolView {
    let targets = map.targets.iter().filter(|target| target.kind == TargetKind::Storage && target.pool == pool.id);
    let target = |target: &nyala_wire::map::Target| TargetView {
        id: target.id,
        alias: target.alias.clone(),
        reachability: target.reachability,
        capacity_pool: target.capacity_pool,
    };
    let default = map.settings.default_pattern.pool == pool.id;
    PoolView { id: pool.id, alias: pool.alias.clone(), default, targets: targets.map(target).collect() }
}

/// All of them.
pub fn views(map: &ClusterMap) -> Vec<PoolView> {
    map.pools.iter().map(|pool| view(map, pool)).collect()
}

/// All of them, a row each.
pub fn table(pools: &[PoolView]) -> String {
    let mut table = Table::new(&["ID", "ALIAS", "DEFAULT", "TARGETS"]);
    for pool in pools {
        let targets: Vec<String> = pool.targets.iter().map(|target| target.id.to_string()).collect();
        let targets = if targets.is_empty() { "-".to_owned() } else { targets.join(",") };
        table.row([pool.id.to_string(), pool.alias.clone(), if pool.default { "yes" } else { "no" }.into(), targets]);
    }
    table.render()
}

/// One of them.
pub fn text(pool: &PoolView) -> String {
    let default = if pool.default { ", the default of new files" } else { "" };
    let mut text = format!("Storage pool {} ({}){default}\n", pool.id, pool.alias);
    if pool.targets.is_empty() {
        return text
            + "It has no targets: files that directories put there cannot be made (nyala pool modify --targets).\n";
    }
    let mut table = Table::new(&["TARGET", "ALIAS", "REACHABILITY", "CAP_POOL"]);
    for target in &pool.targets {
        table.row([
            target.id.to_string(),
            target.alias.clone(),
            json_name(&target.reachability),
            json_name(&target.capacity_pool),
        ]);
    }
    text += &table.render();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::NodeId;
    use nyala_wire::map::{Consistency, Target};

    fn map() -> ClusterMap {
        let target = |id, kind, pool| Target {
            id: TargetId(id),
            alias: format!("t{id}"),
            kind,
            node: NodeId(3),
            pool: PoolId(pool),
            reachability: Reachability::Online,
            consistency: Consistency::Good,
            capacity_pool: CapacityPool::Normal,
        };
        let pool = |id, alias: &str| Pool { id: PoolId(id), alias: alias.into() };
        let targets = [(1, TargetKind::Meta, 0), (101, TargetKind::Storage, 1), (102, TargetKind::Storage, 2)];
        ClusterMap {
            targets: targets.into_iter().map(|(id, kind, pool)| target(id, kind, pool)).collect(),
            pools: vec![pool(1, "default"), pool(2, "flash"), pool(3, "tape")],
            ..ClusterMap::default()
        }
    }

    #[test]
    fn pools_are_shown_with_their_targets() {
        let map = map();
        let text = table(&views(&map));
        assert!(
            text.contains(" 2  flash    no           102\n") && text.contains(" 3  tape     no             -\n"),
            "{text}"
        );
        let one = super::text(&view(&map, &map.pools[1]));
        assert!(one.contains("Storage pool 2 (flash)") && one.contains("t102") && !one.contains("t101"), "{one}");
        assert!(super::text(&view(&map, &map.pools[2])).contains("no targets"));
    }

    #[test]
    fn pools_have_two_names_and_take_storage_targets_only() {
        let map = map();
        assert_eq!((named(&map, "2").unwrap().id, named(&map, "flash").unwrap().id), (PoolId(2), PoolId(2)));
        assert!(named(&map, "9").unwrap_err().message.contains("nyala pool list"));
        assert_eq!(known(&map, &[TargetId(101), TargetId(102)]), Ok(()));
        assert!(known(&map, &[TargetId(101), TargetId(1)]).unwrap_err().message.contains("holds metadata"));
        assert!(known(&map, &[TargetId(7)]).unwrap_err().message.contains("no target 7"));
    }
}
