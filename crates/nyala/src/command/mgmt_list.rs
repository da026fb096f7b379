// SPDX-License-Identifier: Apache-2.0

//! `nyala mgmt list`.

use super::json_name::json_name;
use crate::cluster::ClusterArgs;
use crate::exit::Outcome;
use crate::output::{Output, Table, show};
use crate::role::block_on;
use nyala_wire::mgmt::MgmtNode;

/// Flags of `nyala mgmt list`.
#[derive(Clone, Debug, clap::Args)]
pub struct MgmtListArgs {
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Lists the management nodes, as the leader sees them.
pub fn run(args: MgmtListArgs, output: Output) -> Outcome {
    let nodes = block_on(async { args.cluster.find()?.mgmt_nodes().await })?;
    show(output, &nodes, |nodes| table(nodes))
}

pub(super) fn table(nodes: &[MgmtNode]) -> String {
    let mut table = Table::new(&["ID", "ALIAS", "ROLE", "LOG", "REACHABLE", "ADDRESSES"]);
    for node in nodes {
        let addresses: Vec<String> = node.addresses.iter().map(ToString::to_string).collect();
        table.row([
            node.node.to_string(),
            node.alias.clone(),
            json_name(&node.role),
            node.log.map_or("-".to_owned(), |at| at.to_string()),
            if node.reachable { "yes" } else { "no" }.to_owned(),
            addresses.join(" "),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::NodeId;
    use nyala_wire::mgmt::MgmtRole;

    #[test]
    fn every_node_has_a_row() {
        let node = |id, role, log| MgmtNode {
            node: NodeId(id),
            alias: format!("mgmt{id}"),
            addresses: vec![([10, 0, 0, id as u8], 8008).into()],
            role,
            log,
            reachable: log.is_some(),
        };
        let text = table(&[node(1, MgmtRole::Leader, Some(70)), node(9, MgmtRole::Learner, None)]);
        assert!(text.contains(" 1  mgmt1  leader    70  yes        10.0.0.1:8008\n"), "{text}");
        assert!(text.contains(" 9  mgmt9  learner    -  no         10.0.0.9:8008\n"), "{text}");
        let json = crate::output::json(&node(1, MgmtRole::Follower, Some(7))).unwrap();
        for part in ["\"role\": \"follower\"", "\"10.0.0.1:8008\"", "\"log\": 7", "\"reachable\": true"] {
            assert!(json.contains(part), "{json}");
        }
    }
}
