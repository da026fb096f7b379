// SPDX-License-Identifier: Apache-2.0

//! `nyala mirror switch`: another good member leads, for instance before its server is maintained.

use super::mirror_list::{Groups, table};
use crate::cluster::ClusterArgs;
use crate::exit::Outcome;
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::{GroupId, TargetId};

/// Flags of `nyala mirror switch`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorSwitchArgs {
    /// The group
    #[arg(value_name = "GROUP")]
    pub group: GroupId,
    /// The member that is to lead: good and online
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Switches the primary.
pub fn run(args: MirrorSwitchArgs, output: Output) -> Outcome {
    let groups = block_on(async {
        let cluster = args.cluster.find()?;
        cluster.order_groups(GroupOrder::Switch { group: args.group, target: args.target }).await?;
        Ok(Groups::of(&cluster.map().await?))
    })?;
    show(output, &groups, table)
}
