// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala meta list`, `rebalance`, `drain` and `cancel`.

use crate::cluster::ClusterArgs;
use nyala_wire::TargetId;

/// Flags of `nyala meta list` and `nyala meta cancel`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaListArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `nyala meta rebalance`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaRebalanceArgs {
    /// Do it; without this it is only shown
    #[arg(long)]
    pub yes: bool,
    /// Wait until it is done
    #[arg(long, requires = "yes")]
    pub wait: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `nyala meta drain`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaDrainArgs {
    /// The metadata server that is to serve nothing
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    #[command(flatten)]
    pub how: MetaRebalanceArgs,
}
