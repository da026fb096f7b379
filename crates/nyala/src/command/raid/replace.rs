// SPDX-License-Identifier: Apache-2.0

//! `nyala raid replace`.

use super::ask::Sets;
use super::show::render;
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::TargetId;
use nyala_wire::raid::RaidOrder;

/// Flags of `nyala raid replace`.
#[derive(Clone, Debug, clap::Args)]
pub struct RaidReplaceArgs {
    /// The storage target
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    /// Number of the drive in its set (see nyala raid show)
    #[arg(value_name = "MEMBER")]
    pub member: u16,
    /// An empty directory of the storage host, on the new drive; or a drive that another host lends out: net://HOST:PORT/NAME
    #[arg(value_name = "DIR")]
    pub drive: String,
    /// Do it; otherwise it is only said what would be done
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Replaces it.
pub fn run(args: RaidReplaceArgs, output: Output) -> Outcome {
    let RaidReplaceArgs { target, member, drive, yes, cluster } = args;
    let (before, after) = block_on(async {
        let sets = Sets::of(&cluster.find()?).await?;
        let before = sets.order(target, RaidOrder::Show).await?;
        if usize::from(member) >= before.set.members.len() {
            let last = before.set.members.len().saturating_sub(1);
            return Err(Failure::usage(format!("the set of target {target} has members 0 to {last}")));
        }
        let order = RaidOrder::Replace { member, drive: drive.clone() };
        let after = if yes { Some(sets.order(target, order).await?) } else { None };
        Ok((before, after))
    })?;
    let old = &before.set.members[usize::from(member)];
    let was = format!("member {member} ({}, {})", old.drive.as_deref().unwrap_or("no drive"), old.state);
    match after {
        None => show(output, &[before], |_| {
            format!("{drive} would take the place of {was}. Nothing was changed; add --yes to do it.\n")
        }),
        Some(after) => show(output, &[after], |all| {
            format!(
                "{}\nIt is rebuilt by itself. In the settings of the storage service, {drive} takes the place of the drive before.\n",
                render(all)
            )
        })
        .map(|_| Exit::Ok),
    }
}
