// SPDX-License-Identifier: Apache-2.0

//! `nyala raid rebuild`: it goes on by itself; this says how fast, and waits for it.

use super::ask::Sets;
use super::show::{exit, render};
use crate::cluster::ClusterArgs;
use crate::exit::Outcome;
use crate::output::{Output, show};
use crate::role::block_on;
use crate::units::Size;
use nyala_wire::TargetId;
use nyala_wire::raid::RaidOrder;

/// Flags of `nyala raid rebuild`.
#[derive(Clone, Debug, clap::Args)]
pub struct RaidRebuildArgs {
    /// The storage target
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    /// Bytes a second, for checks too, until the service is started again; 0: as fast as it goes [default: what leaves room for work]
    #[arg(long, value_name = "SIZE")]
    pub rate: Option<Size>,
    /// Wait until all drives that are there have everything
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Sets the rate. Exit code 6 if a drive is not good.
pub fn run(args: RaidRebuildArgs, output: Output) -> Outcome {
    let found = block_on(async {
        let sets = Sets::of(&args.cluster.find()?).await?;
        let order = RaidOrder::Rate { bytes_per_s: args.rate.map(|size| size.0) };
        let found = sets.order(args.target, order).await?;
        if args.wait { sets.until_rebuilt(args.target).await } else { Ok(found) }
    })?;
    let all = [found];
    show(output, &all, |all| render(all))?;
    Ok(exit(&all))
}
