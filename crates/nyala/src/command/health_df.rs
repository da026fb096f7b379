// SPDX-License-Identifier: Apache-2.0

//! `nyala health df`: space and inodes of every target.

use super::json_name::json_name;
use crate::cluster::{Cluster, ClusterArgs};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, Table, show};
use crate::role::block_on;
use crate::units::{human_bytes, human_count};
use nyala_wire::TargetId;
use nyala_wire::map::{CapacityPool, TargetKind};
use nyala_wire::mgmt::Capacity;
use serde::Serialize;

/// Flags of `nyala health df`.
#[derive(Clone, Debug, clap::Args)]
pub struct HealthDfArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// A target's space.
#[derive(Clone, Debug, Serialize)]
pub struct TargetSpace {
    /// Which.
    pub id: TargetId,
    /// What it holds.
    pub kind: TargetKind,
    /// Its name.
    pub alias: String,
    /// Its node's name.
    pub node: String,
    /// Its capacity pool.
    pub capacity_pool: CapacityPool,
    /// Absent until the target has reported.
    pub capacity: Option<Capacity>,
}

/// Shows space and inodes.
pub fn run(args: HealthDfArgs, output: Output) -> Outcome {
    let spaces = block_on(async { collect(&args.cluster.find()?).await })?;
    show(output, &spaces, |spaces| render(spaces))
}

/// Asks for the space of all targets.
pub async fn collect(cluster: &Cluster) -> Result<Vec<TargetSpace>, Failure> {
    let map = cluster.map().await?;
    let capacities = cluster.capacities().await?;
    let spaces = map.targets.iter().map(|target| TargetSpace {
        id: target.id,
        kind: target.kind,
        alias: target.alias.clone(),
        node: map.node(target.node).map_or_else(|| target.node.to_string(), |node| node.alias.clone()),
        capacity_pool: target.capacity_pool,
        capacity: capacities.iter().find(|known| known.target == target.id).map(|known| known.capacity),
    });
    Ok(spaces.collect())
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.0}%", part as f64 * 100.0 / whole as f64) }
}

/// The two tables: metadata, storage.
pub fn render(spaces: &[TargetSpace]) -> String {
    let section = |title: &str, kind: TargetKind| {
        let heads = ["ID", "ALIAS", "NODE", "CAP_POOL", "TOTAL", "FREE", "%", "ITOTAL", "IFREE", "I%"];
        let mut table = Table::new(&heads);
        for space in spaces.iter().filter(|space| space.kind == kind) {
            let mut row =
                vec![space.id.to_string(), space.alias.clone(), space.node.clone(), json_name(&space.capacity_pool)];
            match space.capacity {
                Some(c) => row.extend([
                    human_bytes(c.total_bytes),
                    human_bytes(c.free_bytes),
                    percent(c.free_bytes, c.total_bytes),
                    if c.total_inodes == 0 { "-".into() } else { human_count(c.total_inodes) },
                    if c.total_inodes == 0 { "-".into() } else { human_count(c.free_inodes) },
                    percent(c.free_inodes, c.total_inodes),
                ]),
                None => row.extend(std::iter::repeat_n("-".to_owned(), 6)),
            }
            table.row(row);
        }
        format!("{title}:\n{}", table.render())
    };
    section("METADATA TARGETS", TargetKind::Meta) + "\n" + &section("STORAGE TARGETS", TargetKind::Storage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_stand_in_their_section() {
        let space = |id, kind, capacity| TargetSpace {
            id: TargetId(id),
            kind,
            alias: format!("t{id}"),
            node: "n".into(),
            capacity_pool: CapacityPool::Normal,
            capacity,
        };
        let capacity = Capacity { total_bytes: 4 << 30, free_bytes: 1 << 30, total_inodes: 0, free_inodes: 0 };
        let text = render(&[space(1, TargetKind::Meta, None), space(101, TargetKind::Storage, Some(capacity))]);
        let (meta, storage) = text.split_once("\n\n").unwrap();
        assert!(meta.starts_with("METADATA TARGETS:") && meta.contains("t1") && !meta.contains("t101"), "{text}");
        assert!(storage.contains("4.0GiB") && storage.contains("25%") && storage.contains("normal"), "{text}");
    }
}
