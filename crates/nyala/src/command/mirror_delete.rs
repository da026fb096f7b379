// SPDX-License-Identifier: Apache-2.0

//! `nyala mirror delete`: a group goes. Files in it could not be read any more, so this wants the operator's word.

use super::mirror_list::{Groups, table};
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::GroupId;
use nyala_wire::mgmt::GroupOrder;

/// Flags of `nyala mirror delete`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorDeleteArgs {
    /// The group
    #[arg(value_name = "GROUP")]
    pub group: GroupId,
    /// No file has data in this group, or the data is given up
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Deletes a group.
pub fn run(args: MirrorDeleteArgs, output: Output) -> Outcome {
    let group = args.group;
    if !args.yes {
        return Err(Failure::usage(format!(
            "files that lie in mirror group {group} cannot be read any more once it is gone; if there are none, or they are \
             given up: nyala mirror delete {group} --yes"
        )));
    }
    let groups = block_on(async {
        let cluster = args.cluster.find()?;
        cluster.order_groups(GroupOrder::Remove { group, content_gone: true }).await?;
        Ok(Groups::of(&cluster.map().await?))
    })?;
    show(output, &groups, table)
}
