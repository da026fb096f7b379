// SPDX-License-Identifier: Apache-2.0

//! `nyala target set-state`: an operator's word about a target's content. In a mirror group, "good" makes the group go on
//! with what that member has, and gives up what only a lost one had; so it wants a second word.

use super::target_list::table;
use super::target_remove::known;
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use clap::ValueEnum;
use nyala_wire::TargetId;
use nyala_wire::map::{Consistency, Target};
use nyala_wire::mgmt::GroupOrder;

/// What a target's content may be declared to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateArg {
    /// It is to be taken as it is.
    Good,
    /// It missed changes: fill it from its group.
    NeedsResync,
    /// It is lost or wrong: use nothing of it.
    Bad,
}

/// Flags of `nyala target set-state`.
#[derive(Clone, Debug, clap::Args)]
pub struct TargetSetStateArgs {
    /// The target
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    /// What it is from now on
    #[arg(value_enum, value_name = "STATE")]
    pub state: StateArg,
    /// I know what this gives up
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Declares a state.
pub fn run(args: TargetSetStateArgs, output: Output) -> Outcome {
    let target = args.target;
    let (consistency, warning) = match args.state {
        StateArg::Good => (
            Consistency::Good,
            Some("the cluster goes on with what this target has; what only a lost member of its group has is given up"),
        ),
        StateArg::NeedsResync => (Consistency::NeedsResync, None),
        StateArg::Bad => (Consistency::Bad, Some("nothing of its content is used any more")),
    };
    let map = block_on(async {
        let cluster = args.cluster.find()?;
        known(&cluster.map().await?, target)?;
        if let Some(warning) = warning.filter(|_| !args.yes) {
            return Err(Failure::usage(format!("{warning}; if that is what you want, add --yes")));
        }
        cluster.order_groups(GroupOrder::Declare { target, consistency }).await?;
        cluster.map().await
    })?;
    let now: Vec<Target> = map.targets.iter().filter(|t| t.id == target).cloned().collect();
    show(output, &now, |now| table(&map, now, true))
}
