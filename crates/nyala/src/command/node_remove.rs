// SPDX-License-Identifier: Apache-2.0

//! `nyala node remove`: a metadata or storage node goes, for good. It must be offline and without targets, so no data is lost by
//! it; but its directory never registers again, so it wants a second word.

use super::json_name::json_name;
use super::set_alias::named;
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::mgmt::GroupOrder;

/// Flags of `nyala node remove`.
#[derive(Clone, Debug, clap::Args)]
pub struct NodeRemoveArgs {
    /// Id or alias of the node
    #[arg(value_name = "NODE")]
    pub node: String,
    /// I know what goes; without it nothing is changed
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Removes it.
pub fn run(args: NodeRemoveArgs, output: Output) -> Outcome {
    let removed = block_on(async {
        let cluster = args.cluster.find()?;
        let node = named(&cluster.map().await?.nodes, &args.node)?;
        if !args.yes {
            let (id, alias, role) = (node.id, &node.alias, json_name(&node.role));
            return Err(Failure::usage(format!(
                "{role} node {id} ({alias}) would go for good, and its directory could never register again; if that is what you \
                 want: nyala node remove {id} --yes"
            )));
        }
        cluster.order_groups(GroupOrder::RemoveNode { node: node.id }).await?;
        Ok(node)
    })?;
    show(output, &removed, |node| format!("Node {} ({}) is removed.\n", node.id, node.alias)).map(|_| Exit::Ok)
}
