// SPDX-License-Identifier: Apache-2.0

//! `nyala node set-alias` and `nyala target set-alias`: other names. Ids stay what they are, so nothing else has to know.

use super::node_list;
use super::target_list;
use super::target_remove::known;
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::TargetId;
use nyala_wire::map::{Node, Target};
use nyala_wire::pool_orders::PoolOrder;

/// Flags of `nyala node set-alias`.
#[derive(Clone, Debug, clap::Args)]
pub struct NodeSetAliasArgs {
    /// Id or alias of the node
    #[arg(value_name = "NODE")]
    pub node: String,
    /// Its alias from now on; no other node has it
    #[arg(value_name = "ALIAS")]
    pub alias: String,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Flags of `nyala target set-alias`.
#[derive(Clone, Debug, clap::Args)]
pub struct TargetSetAliasArgs {
    /// The target
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    /// Its alias from now on; no other target has it
    #[arg(value_name = "ALIAS")]
    pub alias: String,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Renames a node.
pub fn node(args: NodeSetAliasArgs, output: Output) -> Outcome {
    let now: Vec<Node> = block_on(async {
        let cluster = args.cluster.find()?;
        let node = named(&cluster.map().await?.nodes, &args.node)?.id;
        cluster.order_pools(PoolOrder::RenameNode { node, alias: args.alias.clone() }).await?;
        Ok(cluster.map().await?.nodes.into_iter().filter(|found| found.id == node).collect())
    })?;
    show(output, &now, |nodes| node_list::table(nodes))
}

/// Renames a target.
pub fn target(args: TargetSetAliasArgs, output: Output) -> Outcome {
    let target = args.target;
    let map = block_on(async {
        let cluster = args.cluster.find()?;
        known(&cluster.map().await?, target)?;
        cluster.order_pools(PoolOrder::RenameTarget { target, alias: args.alias.clone() }).await?;
        cluster.map().await
    })?;
    let now: Vec<Target> = map.targets.iter().filter(|found| found.id == target).cloned().collect();
    show(output, &now, |now| target_list::table(&map, now, false))
}

/// The node of that id or alias.
pub(super) fn named(nodes: &[Node], name: &str) -> Result<Node, Failure> {
    let id = name.parse().ok().map(nyala_wire::NodeId);
    let found = nodes.iter().find(|node| node.alias == name || Some(node.id) == id);
    found.cloned().ok_or_else(|| Failure::failed(format!("there is no node {name:?}; see nyala node list")))
}
