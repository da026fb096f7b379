// SPDX-License-Identifier: Apache-2.0

//! `nyala mirror resync start|stop|stats`. Resync starts by itself; `stop` holds it back, `start` lets it go on where it was.

use super::json_name::json_name;
use super::mirror_list::{Groups, table};
use super::mirror_resync_figures::{Progress, ask};
use super::mirror_resync_wait::until_good;
use crate::cluster::ClusterArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, Table, show};
use crate::role::block_on;
use crate::units::Size;
use nyala_wire::GroupId;
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::GroupOrder;

/// Flags of `nyala mirror resync start` and `stop`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorResyncArgs {
    /// The groups [default: all]
    #[arg(value_name = "GROUP")]
    pub groups: Vec<GroupId>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Flags of `nyala mirror resync stats`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorStatsArgs {
    /// All members, with what resyncs have brought them since their service was started
    #[arg(long)]
    pub all: bool,
    /// Wait until all members of these groups are good; one that is bad, or whose resync is stopped, is not waited for
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    which: MirrorResyncArgs,
}

/// The groups that are named, which must exist, or all.
pub(super) fn chosen(map: &ClusterMap, named: &[GroupId]) -> Result<Vec<GroupId>, Failure> {
    let all: Vec<GroupId> = map.groups.iter().map(|group| group.id).collect();
    if let Some(missing) = named.iter().find(|group| !all.contains(group)) {
        return Err(Failure::failed(format!("there is no mirror group {missing}; see nyala mirror list")));
    }
    Ok(if named.is_empty() { all } else { named.to_vec() })
}

/// Stops resync, or lets it go on.
pub fn switch(args: MirrorResyncArgs, stopped: bool, output: Output) -> Outcome {
    let groups = block_on(async {
        let cluster = args.cluster.find()?;
        for group in chosen(&cluster.map().await?, &args.groups)? {
            cluster.order_groups(GroupOrder::StopResync { group, stopped }).await?;
        }
        Ok(Groups::of(&cluster.map().await?))
    })?;
    show(output, &groups, table)
}

/// Shows how far resync is.
pub fn stats(args: MirrorStatsArgs, output: Output) -> Outcome {
    let progress = block_on(async {
        let cluster = args.which.cluster.find()?;
        let map = cluster.map().await?;
        let chosen = chosen(&map, &args.which.groups)?;
        if !args.wait {
            return ask(&cluster, &map, &chosen, args.all).await;
        }
        until_good(&cluster, &chosen).await?;
        ask(&cluster, &cluster.map().await?, &chosen, args.all).await
    })?;
    show(output, &progress, |progress| render(progress))
}

fn render(progress: &[Progress]) -> String {
    if progress.is_empty() {
        return "All members are good; there is nothing to resync.\n".to_owned();
    }
    let mut table = Table::new(&["GROUP", "TARGET", "STATE", "COPIED", "LEFT", "RATE", "TIME LEFT", "TAKEN"]);
    let bytes = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| Size(bytes).to_string());
    for row in progress {
        let state = if row.stopped { format!("{} (stopped)", json_name(&row.state)) } else { json_name(&row.state) };
        table.row([
            row.group.to_string(),
            row.target.to_string(),
            state,
            bytes(row.copied_bytes),
            bytes(row.left_bytes),
            row.bytes_per_s.map_or("-".to_owned(), |rate| format!("{}/s", Size(rate))),
            row.left_s.map_or("-".to_owned(), |seconds| format!("{seconds}s")),
            bytes(row.taken_bytes),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mirror_list::tests::mirrored;
    use nyala_wire::TargetId;
    use nyala_wire::map::MemberState;

    #[test]
    fn groups_are_named_or_all() {
        let map = mirrored();
        assert_eq!(chosen(&map, &[]).unwrap(), [GroupId(1)]);
        assert!(chosen(&map, &[GroupId(2)]).unwrap_err().message.contains("mirror list"));
    }

    #[test]
    fn what_is_not_known_is_not_invented() {
        let row = Progress {
            group: GroupId(1),
            target: TargetId(201),
            state: MemberState::Resyncing,
            stopped: false,
            copied_bytes: Some(1 << 20),
            left_bytes: Some(3 << 20),
            bytes_per_s: None,
            left_s: None,
            taken_bytes: Some(5 << 20),
        };
        let text = render(std::slice::from_ref(&row));
        assert!(
            text.contains("resyncing") && text.contains("1m") && text.contains("3m") && text.contains("5m"),
            "{text}"
        );
        assert!(render(&[Progress { stopped: true, ..row }]).contains("(stopped)"));
        assert!(render(&[]).contains("nothing to resync"));
    }
}
