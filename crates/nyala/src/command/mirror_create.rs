// SPDX-License-Identifier: Apache-2.0

//! `nyala mirror create`: one group of named targets, or groups of all that are free.
//!
//! **Failure model.** Management refuses what would not hold (a target in two groups, two members on one node by automatic
//! choice, sizes that differ) with a sentence; nothing is made then. Repeated, it changes nothing.

use super::mirror_list::{Groups, table};
use super::target_list::KindArg;
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::{GroupId, TargetId};

/// Flags of `nyala mirror create`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorCreateArgs {
    /// Make groups of all targets that are in none: members on different nodes and of about the same size
    #[arg(long, conflicts_with_all = ["primary", "secondary", "num_id"])]
    pub auto: bool,
    /// The member that leads at first
    #[arg(long, value_name = "TARGET", requires = "secondary")]
    pub primary: Option<TargetId>,
    /// The other members, one to three
    #[arg(long, value_name = "TARGET,…", value_delimiter = ',', requires = "primary")]
    pub secondary: Vec<TargetId>,
    /// Id of the group [default: the next one]
    #[arg(long, value_name = "ID")]
    pub num_id: Option<GroupId>,
    /// What the targets hold
    #[arg(long, value_enum, default_value = "storage", visible_alias = "node-type")]
    pub kind: KindArg,
    /// With --auto: members of each group
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=4))]
    pub members: u8,
    /// With --auto: members of a group may differ in size
    #[arg(long)]
    pub ignore_space: bool,
    /// With --auto: targets for which no partner is left stay as they are
    #[arg(long)]
    pub ignore_uneven: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl MirrorCreateArgs {
    fn order(&self) -> Result<GroupOrder, Failure> {
        let kind = self.kind.into();
        if self.auto {
            let (ignore_space, ignore_uneven) = (self.ignore_space, self.ignore_uneven);
            return Ok(GroupOrder::CreateAll { kind, members: self.members, ignore_space, ignore_uneven });
        }
        let Some(primary) = self.primary else {
            return Err(Failure::usage(
                "say which targets: --auto for all that are in no group, or --primary TARGET --secondary TARGET",
            ));
        };
        let members = std::iter::once(primary).chain(self.secondary.iter().copied()).collect();
        Ok(GroupOrder::Create { group: self.num_id.unwrap_or(GroupId(0)), kind, members })
    }
}

/// Makes groups.
pub fn run(args: MirrorCreateArgs, output: Output) -> Outcome {
    let order = args.order()?;
    let groups = block_on(async {
        let cluster = args.cluster.find()?;
        cluster.order_groups(order).await?;
        Ok(Groups::of(&cluster.map().await?))
    })?;
    show(output, &groups, table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use nyala_wire::map::TargetKind;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: MirrorCreateArgs,
    }

    fn order(line: &[&str]) -> Result<GroupOrder, String> {
        let line = Line::try_parse_from(std::iter::once("create").chain(line.iter().copied()));
        line.map_err(|e| e.to_string())?.args.order().map_err(|e| e.message)
    }

    #[test]
    fn named_targets_or_all() {
        let one = order(&["--primary", "101", "--secondary", "201,301", "--num-id", "7"]);
        let members = vec![TargetId(101), TargetId(201), TargetId(301)];
        assert_eq!(one, Ok(GroupOrder::Create { group: GroupId(7), kind: TargetKind::Storage, members }));
        let all = order(&["--auto", "--members", "3", "--ignore-space", "--kind", "meta"]);
        let wish =
            GroupOrder::CreateAll { kind: TargetKind::Meta, members: 3, ignore_space: true, ignore_uneven: false };
        assert_eq!(all, Ok(wish));
        assert!(order(&[]).unwrap_err().contains("--auto"));
        assert!(order(&["--auto", "--primary", "101", "--secondary", "102"]).is_err());
        assert!(order(&["--primary", "101"]).is_err());
        assert!(order(&["--auto", "--members", "1"]).is_err());
    }
}
