// SPDX-License-Identifier: Apache-2.0

//! Finding a cluster and asking it.

mod access;
mod last_client;
mod locate;
mod probe;
pub mod through_mount;

pub use access::Cluster;
pub use last_client::LastClient;
pub use locate::{ClusterArgs, PathLocation, Way};
pub use probe::{Answer, ask_node, ask_nodes, metrics_page, recorded};
