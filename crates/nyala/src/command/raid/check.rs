// SPDX-License-Identifier: Apache-2.0

//! `nyala raid check`.

use super::ask::Sets;
use super::show::{exit, render};
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::TargetId;
use nyala_wire::raid::RaidOrder;

/// Flags of `nyala raid check`.
#[derive(Clone, Debug, clap::Args)]
pub struct RaidCheckArgs {
    /// The storage target
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Checks. Exit code 6 if something was found, healed or not.
pub fn run(args: RaidCheckArgs, output: Output) -> Outcome {
    let found = block_on(async {
        let sets = Sets::of(&args.cluster.find()?).await?;
        sets.order(args.target, RaidOrder::Check).await?;
        sets.until_checked(args.target).await
    })?;
    let all = [found];
    show(output, &all, |all| render(all))?;
    let healed = all.iter().any(|target| target.set.scrub.healed > 0);
    Ok(if healed { Exit::Degraded } else { exit(&all) })
}
