// SPDX-License-Identifier: Apache-2.0

//! `nyala mirror delete`: a group goes. Files in it could not be read any more, so this wants the operator's word, and a
//! stronger one while files have data there.
//!
//! **Failure model.** The members are asked what they hold, and metadata whose it is. If nobody can say, the group stays. A
//! file that is made meanwhile may be missed: take the pattern off the directories first.

use super::mirror_list::{Groups, table};
use crate::cluster::{Cluster, ClusterArgs};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use crate::units::Size;
use crate::walk::{Look, Owner};
use nyala_wire::map::{Group, MemberState, TargetKind};
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::{DataLocation, GroupId};

/// Files that are counted; more are not looked for.
const COUNTED: u64 = 10_000;

/// Flags of `nyala mirror delete`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorDeleteArgs {
    /// The group
    #[arg(value_name = "GROUP")]
    pub group: GroupId,
    /// No file has data in this group; that is looked at
    #[arg(long)]
    pub yes: bool,
    /// The data that files have in this group is given up
    #[arg(long)]
    pub give_up_data: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// What files have in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    /// Chunk files.
    files: u64,
    bytes: u64,
    /// There may be more.
    more: bool,
}

/// Deletes a group.
pub fn run(args: MirrorDeleteArgs, output: Output) -> Outcome {
    let group = args.group;
    let groups = block_on(async {
        let cluster = args.cluster.find()?;
        let map = cluster.map().await?;
        let found = map.groups.iter().find(|g| g.id == group).cloned();
        let found =
            found.ok_or_else(|| Failure::failed(format!("there is no mirror group {group}; see nyala mirror list")))?;
        if found.kind == TargetKind::Meta {
            // Nothing is given up: it is refused unless the server goes on alone.
            cluster.order_groups(GroupOrder::Remove { group, content_gone: false }).await?;
            return Ok(Groups::of(&cluster.map().await?));
        }
        if !args.yes && !args.give_up_data {
            return Err(Failure::usage(format!(
                "files that lie in mirror group {group} cannot be read any more once it is gone; if there are none: \
                 nyala mirror delete {group} --yes"
            )));
        }
        if !args.give_up_data {
            refuse(group, held(&cluster, &found).await)?;
        }
        cluster.order_groups(GroupOrder::Remove { group, content_gone: true }).await?;
        Ok(Groups::of(&cluster.map().await?))
    })?;
    show(output, &groups, table)
}

/// Refuses while files have data there, or nobody knows.
fn refuse(group: GroupId, held: Result<Held, Failure>) -> Result<(), Failure> {
    let word = format!("if their data is given up: nyala mirror delete {group} --give-up-data");
    match held {
        Ok(held) if held == Held::default() => Ok(()),
        Ok(Held { files, bytes, more }) => {
            let least = if more { "at least " } else { "" };
            Err(Failure::failed(format!(
                "files have data in mirror group {group}: {least}{files} chunk files with {}; move them away first, or, {word}",
                Size(bytes)
            )))
        }
        Err(failure) => {
            Err(failure.context(format!("whether files have data in mirror group {group} is not known ({word})")))
        }
    }
}

async fn held(cluster: &Cluster, group: &Group) -> Result<Held, Failure> {
    let good = group.members_with_states().find(|(_, state)| *state == MemberState::Good);
    let (member, _) = good.ok_or_else(|| Failure::failed("it has no good member"))?;
    let look = Look::at(cluster).await?;
    let (mut pieces, mut held, mut last) = (look.walk(member, false, 0), Held::default(), None);
    let mut ours = false;
    while let Some(piece) = pieces.take().await? {
        if last != Some(piece.at.file) {
            if held.files >= COUNTED {
                held.more = true;
                break;
            }
            last = Some(piece.at.file);
            ours = look.owner(piece.at.file).await? == Owner::At(DataLocation::Group(group.id));
            held.files += u64::from(ours);
        }
        if ours {
            held.bytes += u64::from(piece.present.count_ones()) * BLOCK_BYTES;
        }
    }
    drop(pieces);
    // It was asked what it was needed for; a failing goodbye changes nothing.
    let _ = look.client.shutdown().await;
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_goes_only_when_it_is_known_to_be_empty() {
        let group = GroupId(3);
        assert_eq!(refuse(group, Ok(Held::default())), Ok(()));
        let full = refuse(group, Ok(Held { files: 7, bytes: 3 << 20, more: false })).unwrap_err().message;
        assert!(full.contains("7 chunk files with 3m") && full.contains("--give-up-data"), "{full}");
        let more = refuse(group, Ok(Held { files: COUNTED, bytes: 1, more: true })).unwrap_err().message;
        assert!(more.contains("at least 10000"), "{more}");
        let unknown = refuse(group, Err(Failure::unreachable("target 101 does not answer"))).unwrap_err().message;
        assert!(unknown.contains("is not known") && unknown.contains("target 101"), "{unknown}");
    }
}
