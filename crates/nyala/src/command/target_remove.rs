// SPDX-License-Identifier: Apache-2.0

//! `nyala target remove`: a storage target goes, for good. What files that are not mirrored have there is lost.

use super::target_list::table;
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use crate::units::Size;
use nyala_wire::TargetId;
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::{GroupOrder, TargetCapacity};

/// Flags of `nyala target remove`.
#[derive(Clone, Debug, clap::Args)]
pub struct TargetRemoveArgs {
    /// The target: offline, and in no mirror group
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    /// No file has data there, or the data is given up
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Refuses a target that does not exist, before anything else is asked.
pub(super) fn known(map: &ClusterMap, target: TargetId) -> Result<(), Failure> {
    let found = map.targets.iter().any(|t| t.id == target);
    found.then_some(()).ok_or_else(|| Failure::failed(format!("there is no target {target}; see nyala target list")))
}

/// Removes it.
pub fn run(args: TargetRemoveArgs, output: Output) -> Outcome {
    let target = args.target;
    let map = block_on(async {
        let cluster = args.cluster.find()?;
        known(&cluster.map().await?, target)?;
        if !args.yes {
            return Err(Failure::usage(warning(target, &cluster.capacities().await?)));
        }
        cluster.order_groups(GroupOrder::RemoveTarget { target, content_gone: true }).await?;
        cluster.map().await
    })?;
    show(output, &map.targets, |targets| table(&map, targets, true))
}

fn warning(target: TargetId, capacities: &[TargetCapacity]) -> String {
    let used = capacities.iter().find(|c| c.target == target).map(|c| c.capacity);
    let used = used.filter(|c| c.total_bytes > 0).map(|c| Size(c.total_bytes.saturating_sub(c.free_bytes)));
    let used =
        used.map_or_else(|| "how much is not known".to_owned(), |used| format!("{used} in use when last heard of"));
    format!(
        "what files that are not mirrored have on target {target} ({used}) is lost once it is removed, and its id is never \
         used again; if that is what you want: nyala target remove {target} --yes"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::mgmt::Capacity;

    #[test]
    fn what_is_lost_is_counted_as_far_as_known() {
        let capacity = Capacity { total_bytes: 4 << 30, free_bytes: 1 << 30, ..Capacity::default() };
        let all = [TargetCapacity::new(TargetId(7), capacity)];
        assert!(
            warning(TargetId(7), &all).contains("(3g in use when last heard of)"),
            "{}",
            warning(TargetId(7), &all)
        );
        assert!(warning(TargetId(8), &all).contains("not known"));
        assert!(known(&ClusterMap::default(), TargetId(999)).unwrap_err().message.contains("no target 999"));
    }
}
