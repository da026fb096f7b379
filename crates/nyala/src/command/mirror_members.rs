// SPDX-License-Identifier: Apache-2.0

//! `nyala mirror add` and `remove-member`: members come and go.
//!
//! **Failure model.** A new member must hold nothing: old content of the group's files would not be seen to be old. That is
//! looked at here. A member that serves is first taken out of service; until management knows that it knows, the
//! removal is refused and tried again for a while. All steps can be done again.

use super::mirror_list::{Groups, table};
use super::target_remove::known;
use crate::cluster::{Cluster, ClusterArgs};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use crate::walk::Look;
use nyala_wire::map::{ClusterMap, Consistency, Group, MemberState, TargetKind};
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::{GroupId, TargetId};
use std::time::{Duration, Instant};

/// How long a removal is tried.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(15);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// Flags of `nyala mirror add` and `nyala mirror remove-member`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorMemberArgs {
    /// The group
    #[arg(value_name = "GROUP")]
    pub group: GroupId,
    /// The target
    #[arg(value_name = "TARGET")]
    pub target: TargetId,
    /// I know what this gives up
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

fn group_in(map: &ClusterMap, group: GroupId) -> Result<Group, Failure> {
    let found = map.groups.iter().find(|g| g.id == group).cloned();
    found.ok_or_else(|| Failure::failed(format!("there is no mirror group {group}; see nyala mirror list")))
}

/// Adds a member.
pub fn add(args: MirrorMemberArgs, output: Output) -> Outcome {
    let MirrorMemberArgs { group, target, .. } = args;
    let groups = block_on(async {
        let cluster = args.cluster.find()?;
        let map = cluster.map().await?;
        known(&map, target)?;
        let members = group_in(&map, group)?;
        // Management knows by itself whether a metadata target serves names.
        if members.kind == TargetKind::Storage && !members.members.contains(&target) {
            let look = Look::at(&cluster).await?;
            let holds = look.walk(target, false, 0).peek().await?.is_some();
            let _ = look.client.shutdown().await;
            if holds {
                return Err(Failure::failed(format!(
                    "target {target} holds data already; a new member starts from an empty directory: nyala target add DIR"
                )));
            }
        }
        cluster.order_groups(GroupOrder::AddMember { group, target }).await?;
        Ok(Groups::of(&cluster.map().await?))
    })?;
    show(output, &groups, table)
}

/// Removes a member.
pub fn remove(args: MirrorMemberArgs, output: Output) -> Outcome {
    let MirrorMemberArgs { group, target, .. } = args;
    let groups = block_on(async {
        let cluster = args.cluster.find()?;
        let left = copies_left(&group_in(&cluster.map().await?, group)?, target)?;
        if left < 2 && !args.yes {
            return Err(Failure::usage(format!(
                "mirror group {group} keeps {left} good member without target {target}: its files have no second copy then; \
                 if that is what you want: nyala mirror remove-member {group} {target} --yes"
            )));
        }
        take_out(&cluster, group, target).await?;
        Ok(Groups::of(&cluster.map().await?))
    })?;
    show(output, &groups, table)
}

/// Good members besides this one.
fn copies_left(group: &Group, target: TargetId) -> Result<usize, Failure> {
    if !group.members.contains(&target) {
        return Err(Failure::failed(format!("target {target} is not in mirror group {}", group.id)));
    }
    Ok(group.members_with_states().filter(|(t, state)| *t != target && *state == MemberState::Good).count())
}

async fn take_out(cluster: &Cluster, group: GroupId, target: TargetId) -> Result<(), Failure> {
    let began = Instant::now();
    loop {
        let Ok(now) = group_in(&cluster.map().await?, group) else { return Ok(()) };
        match now.state(target) {
            None => return Ok(()),
            Some(MemberState::Good) => {
                let consistency = Consistency::NeedsResync;
                cluster.order_groups(GroupOrder::Declare { target, consistency }).await?;
            }
            Some(_) => {}
        }
        let removed = cluster.order_groups(GroupOrder::RemoveMember { group, target }).await;
        if removed.is_ok() || began.elapsed() >= REMOVAL_TIMEOUT {
            return removed;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mirror_list::tests::mirrored;

    #[test]
    fn copies_that_stay_are_counted() {
        let map = mirrored();
        let mut group = group_in(&map, GroupId(1)).unwrap();
        assert!(group_in(&map, GroupId(9)).is_err() && copies_left(&group, TargetId(999)).is_err());
        group.states.iter_mut().for_each(|state| *state = MemberState::Good);
        assert_eq!(copies_left(&group, group.members[0]).unwrap(), group.members.len() - 1);
        group.states[1] = MemberState::NeedsResync;
        assert_eq!(copies_left(&group, group.members[0]).unwrap(), group.members.len() - 2);
    }
}
