// SPDX-License-Identifier: Apache-2.0

//! `nyala raid show`.

use super::ask::{Sets, TargetSet};
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Outcome};
use crate::output::{Output, Table, show};
use crate::role::block_on;
use crate::units::human_bytes;
use nyala_wire::TargetId;
use nyala_wire::raid::{RaidOrder, RaidState};

/// Flags of `nyala raid show`.
#[derive(Clone, Debug, clap::Args)]
pub struct RaidShowArgs {
    /// The storage targets [default: all that lie on drive sets]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<TargetId>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Shows. Exit code 6 if a drive is not good.
pub fn run(args: RaidShowArgs, output: Output) -> Outcome {
    let all = block_on(async {
        let sets = Sets::of(&args.cluster.find()?).await?;
        let mut all = Vec::new();
        for target in sets.targets(&args.targets)? {
            match args.targets.is_empty() {
                true => all.extend(sets.ask(target, RaidOrder::Show).await?),
                false => all.push(sets.order(target, RaidOrder::Show).await?),
            }
        }
        Ok(all)
    })?;
    show(output, &all, |all| render(all))?;
    Ok(exit(&all))
}

/// Whether all drives are good, and nothing is lost.
pub(super) fn exit(all: &[TargetSet]) -> Exit {
    let good = |set: &RaidState| set.members.iter().all(|member| member.state == "good") && set.scrub.lost == 0;
    if all.iter().all(|target| good(&target.set)) { Exit::Ok } else { Exit::Degraded }
}

/// One table for the sets and one for their drives.
pub(super) fn render(all: &[TargetSet]) -> String {
    if all.is_empty() {
        return "no target lies on a drive set\n".to_owned();
    }
    let mut sets = Table::new(&["TARGET", "LEVEL", "STRIP", "HEALED", "REBUILT", "CHECK", "SPARES"]);
    let mut drives = Table::new(&["TARGET", "MEMBER", "DRIVE", "STATE", "MISSED", "ERRORS"]);
    for TargetSet { target, set } in all {
        sets.row([
            target.to_string(),
            set.level.clone(),
            human_bytes(set.strip_bytes),
            set.healed.to_string(),
            human_bytes(set.rebuilt_bytes),
            check(set),
            set.spares.len().to_string(),
        ]);
        for (number, member) in set.members.iter().enumerate() {
            drives.row([
                target.to_string(),
                number.to_string(),
                member.drive.clone().unwrap_or_else(|| "-".to_owned()),
                member.state.clone(),
                member.missed.to_string(),
                member.errors.to_string(),
            ]);
        }
    }
    format!("{}\n{}", sets.render(), drives.render())
}

fn check(set: &RaidState) -> String {
    let scrub = &set.scrub;
    let found = format!("{} healed, {} lost", scrub.healed, scrub.lost);
    match (scrub.running, scrub.ended_s) {
        (true, _) => format!("at {} stripes: {found}", scrub.stripes),
        (false, 0) => "never".to_owned(),
        (false, _) => format!("{} stripes: {found}", scrub.stripes),
    }
}
