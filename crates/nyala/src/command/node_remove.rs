// SPDX-License-Identifier: Apache-2.0

//! `nyala node remove`: a metadata or storage node goes, for good. It must be offline and without targets, so nothing is lost
//! by it.

use super::set_alias::named;
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::mgmt::GroupOrder;

/// Flags of `nyala node remove`.
#[derive(Clone, Debug, clap::Args)]
pub struct NodeRemoveArgs {
    /// Id or alias of the node
    #[arg(value_name = "NODE")]
    pub node: String,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Removes it.
pub fn run(args: NodeRemoveArgs, output: Output) -> Outcome {
    let removed = block_on(async {
        let cluster = args.cluster.find()?;
        let node = named(&cluster.map().await?.nodes, &args.node)?;
        cluster.order_groups(GroupOrder::RemoveNode { node: node.id }).await?;
        Ok(node)
    })?;
    show(output, &removed, |node| format!("Node {} ({}) is removed.\n", node.id, node.alias)).map(|_| Exit::Ok)
}
