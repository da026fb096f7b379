// SPDX-License-Identifier: Apache-2.0

//! `nyala mgmt remove`: a management node goes, for good; if it runs, it stops by itself. Its directory never comes back, so it wants
//! a second word.

use super::mgmt_list::table;
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::mgmt::MgmtNode;

/// Flags of `nyala mgmt remove`.
#[derive(Clone, Debug, clap::Args)]
pub struct MgmtRemoveArgs {
    /// Id or alias of the node
    #[arg(value_name = "NODE")]
    pub node: String,
    /// I know what goes; without it nothing is changed
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Removes a management node.
pub fn run(args: MgmtRemoveArgs, output: Output) -> Outcome {
    let nodes = block_on(async {
        let cluster = args.cluster.find()?;
        let nodes = cluster.mgmt_nodes().await?;
        let node = named(&nodes, &args.node)?;
        if !args.yes {
            return Err(Failure::usage(warning(&nodes, &node)));
        }
        cluster.remove_mgmt(node.node).await?;
        cluster.mgmt_nodes().await
    })?;
    show(output, &nodes, |nodes| table(nodes))
}

/// What removing it leaves.
fn warning(nodes: &[MgmtNode], node: &MgmtNode) -> String {
    let others = || nodes.iter().filter(|other| other.node != node.node);
    let (left, answering) = (others().count(), others().filter(|other| other.reachable).count());
    let spare = answering.saturating_sub(left / 2 + 1);
    format!(
        "management node {} ({}) would go for good, and its directory could not come back; {left} would be left, {answering} of \
         which answer, and {spare} of these could be lost before nothing is decided any more; if that is what you want: nyala \
         mgmt remove {} --yes",
        node.node, node.alias, node.node
    )
}

fn named(nodes: &[MgmtNode], name: &str) -> Result<MgmtNode, Failure> {
    let found = nodes.iter().find(|node| node.alias == name || node.node.to_string() == name);
    found.cloned().ok_or_else(|| {
        let all: Vec<String> = nodes.iter().map(|node| format!("{} ({})", node.node, node.alias)).collect();
        Failure::failed(format!("there is no management node {name:?}; there are {}", all.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::NodeId;
    use nyala_wire::mgmt::MgmtRole;

    #[test]
    fn nodes_have_two_names() {
        let node = |id| MgmtNode {
            node: NodeId(id),
            alias: format!("mgmt{}", id + 1),
            addresses: Vec::new(),
            role: MgmtRole::Follower,
            log: None,
            reachable: true,
        };
        let nodes = [node(1), node(7)];
        assert_eq!(named(&nodes, "7").unwrap().node, NodeId(7));
        assert_eq!(named(&nodes, "mgmt2").unwrap().node, NodeId(1));
        assert!(named(&nodes, "2").unwrap_err().message.contains("1 (mgmt2), 7 (mgmt8)"));
        let three = [node(1), node(7), MgmtNode { reachable: false, ..node(9) }];
        let (dead, alive) = (warning(&three, &three[2]), warning(&three, &three[0]));
        assert!(dead.contains("2 would be left, 2 of") && dead.contains("and 0 of these could be lost"), "{dead}");
        assert!(alive.contains("2 would be left, 1 of") && alive.ends_with("remove 1 --yes"), "{alive}");
    }
}
