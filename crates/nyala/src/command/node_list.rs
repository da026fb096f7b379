// SPDX-License-Identifier: Apache-2.0

//! `nyala node list`.

use super::json_name::json_name;
use crate::cluster::ClusterArgs;
use crate::exit::Outcome;
use crate::output::{Output, Table, show};
use crate::role::block_on;
use clap::ValueEnum;
use nyala_wire::map::{Node, Role};

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NodeType {
    /// Management services.
    Mgmt,
    /// Metadata services.
    Meta,
    /// Storage services.
    Storage,
    /// Clients.
    Client,
}

/// Flags of `nyala node list`.
#[derive(Clone, Debug, clap::Args)]
pub struct NodeListArgs {
    /// Only these
    #[arg(long, value_enum, value_name = "TYPE")]
    pub node_type: Option<NodeType>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl NodeType {
    fn fits(self, role: Role) -> bool {
        matches!(
            (self, role),
            (NodeType::Mgmt, Role::Mgmt)
                | (NodeType::Meta, Role::Meta)
                | (NodeType::Storage, Role::Storage)
                | (NodeType::Client, Role::Client)
        )
    }
}

/// Lists nodes.
pub fn run(args: NodeListArgs, output: Output) -> Outcome {
    let mut nodes = block_on(async { args.cluster.find()?.map().await })?.nodes;
    nodes.retain(|node| args.node_type.is_none_or(|kind| kind.fits(node.role)));
    show(output, &nodes, |nodes| table(nodes))
}

pub(super) fn table(nodes: &[Node]) -> String {
    let mut table = Table::new(&["ID", "TYPE", "ALIAS", "REACHABILITY", "ADDRESSES"]);
    for node in nodes {
        let addresses: Vec<String> = node.addresses.iter().map(ToString::to_string).collect();
        table.row([
            node.id.to_string(),
            json_name(&node.role),
            node.alias.clone(),
            json_name(&node.reachability),
            addresses.join(" "),
        ]);
    }
    table.render()
}
