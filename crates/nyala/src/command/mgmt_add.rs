// SPDX-License-Identifier: Apache-2.0

//! `nyala mgmt add`: a management service that waits (`nyala mgmtd --standby`) becomes a member.
//!
//! **Failure model.** It may not run, not wait, or be of another cluster: said at once. It may die after it was told: then
//! it is in no list, or in it as a learner that is not reachable; starting it again finishes it, `nyala mgmt remove` undoes it.

use super::mgmt_list::table;
use crate::cluster::{Cluster, ClusterArgs};
use crate::config::MGMT_PORT;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use crate::units::Hosts;
use nyala_transport::member::MgmtClient;
use nyala_wire::mgmt::{MgmtNode, MgmtRequest, MgmtRole};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long the new node may take to become a member.
const JOIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Flags of `nyala mgmt add`.
#[derive(Clone, Debug, clap::Args)]
pub struct MgmtAddArgs {
    /// The management service that waits
    #[arg(value_name = "HOST[:PORT]")]
    pub node: Hosts,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Adds a management node.
pub fn run(args: MgmtAddArgs, output: Output) -> Outcome {
    let nodes = block_on(async {
        let cluster = args.cluster.find()?;
        add(&cluster, args.node.resolve(MGMT_PORT)?).await
    })?;
    show(output, &nodes, |nodes| table(nodes))
}

async fn add(cluster: &Cluster, new: Vec<SocketAddr>) -> Result<Vec<MgmtNode>, Failure> {
    let mut mgmt: Vec<String> = cluster.map().await?.mgmt_addresses().map(|address| address.to_string()).collect();
    mgmt.extend(cluster.mgmt.iter().map(ToString::to_string).filter(|text| !text.is_empty()));
    let before: Vec<_> = cluster.mgmt_nodes().await?.iter().map(|node| node.node).collect();
    MgmtClient::new(new, cluster.handshake()).call(&MgmtRequest::AdoptMgmt { mgmt }).await?;
    let deadline = Instant::now() + JOIN_TIMEOUT;
    loop {
        let nodes = cluster.mgmt_nodes().await?;
        let is_in = |node: &MgmtNode| !before.contains(&node.node) && node.role != MgmtRole::Learner;
        if nodes.iter().any(is_in) {
            return Ok(nodes);
        }
        if Instant::now() >= deadline {
            return Err(Failure::failed(
                "the new management node has no vote yet; its log says why, `nyala mgmt list` shows when it has",
            ));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
