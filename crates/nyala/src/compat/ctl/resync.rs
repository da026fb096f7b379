// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --startresync` and `--resyncstats`.

use crate::command::mirror_resync::{Progress, ask};
use crate::compat::{cluster, notice::notice, words::Words};
use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use nyala_wire::map::{ClusterMap, Consistency, Group, MemberState, TargetKind};
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::{GroupId, TargetId};

/// The member that is named, and its group.
fn member(map: &ClusterMap, kind: TargetKind, target: TargetId) -> Result<&Group, Failure> {
    let group = map.groups.iter().find(|group| group.kind == kind && group.members.contains(&target));
    group.ok_or_else(|| Failure::failed(format!("Target {target} is in no mirror group")))
}

/// Has a member filled anew.
pub fn start(words: &Words) -> Outcome {
    words.only(
        &["nodetype", "targetid", "nodeid", "timestamp", "timespan", "restart", "mirrorgroupid"],
        "startresync",
    )?;
    let kind = cluster::kind(words)?;
    let target = TargetId(words.number(if words.has("nodeid") { "nodeid" } else { "targetid" })?);
    if words.has("timespan") || words.value("timestamp").is_some_and(|stamp| stamp != "0") {
        return Err(Failure::usage(
            "Only --timestamp=0 (everything) makes sense: what a member missed is known by region, and resynced by itself",
        ));
    }
    if words.has("restart") {
        notice("a resync that runs begins anew");
    }
    block_on(async {
        let cluster = cluster::find(words)?;
        let map = cluster.map().await?;
        let group = member(&map, kind, target)?;
        let others = group.members_with_states().filter(|(id, state)| *id != target && *state == MemberState::Good);
        if others.count() == 0 {
            return Err(Failure::failed(format!(
                "No other member of group {} is good: there is nothing to fill {target} from",
                group.id
            )));
        }
        let id = group.id;
        cluster.order_groups(GroupOrder::Declare { target, consistency: Consistency::NeedsResync }).await?;
        cluster.order_groups(GroupOrder::StopResync { group: id, stopped: false }).await
    })?;
    print("Resync request sent.\n")
}

/// How far it is.
pub fn stats(words: &Words) -> Outcome {
    words.only(&["nodetype", "targetid", "nodeid", "mirrorgroupid"], "resyncstats")?;
    let kind = cluster::kind(words)?;
    let number = |name: &str| words.value(name).map(|_| words.number(name)).transpose();
    let target = number("targetid")?.or(number("nodeid")?).map(TargetId);
    let group = number("mirrorgroupid")?.map(GroupId);
    if target.is_none() && group.is_none() {
        return Err(Failure::usage("Missing argument: --targetid=<number> or --mirrorgroupid=<number>"));
    }
    let all = block_on(async {
        let cluster = cluster::find(words)?;
        let map = cluster.map().await?;
        let group = match (group, target) {
            (Some(group), _) => map
                .group(group)
                .map(|group| group.id)
                .ok_or_else(|| Failure::failed(format!("There is no mirror group {group}")))?,
            (None, Some(target)) => member(&map, kind, target)?.id,
            (None, None) => return Err(Failure::usage("Missing argument: --targetid=<number>")),
        };
        ask(&cluster, &map, &[group], true).await
    })?;
    let named = |row: &&Progress| target.map_or(row.state != MemberState::Good, |target| row.target == target);
    let rows: Vec<&Progress> = all.iter().filter(named).collect();
    let text: Vec<String> = rows.iter().map(|row| stats_text(row)).collect();
    print(&if text.is_empty() { "Job state: Not started\n".to_owned() } else { text.join("\n") })
}

fn stats_text(row: &Progress) -> String {
    let state = match (row.state, row.stopped) {
        (MemberState::Good, _) => "Success",
        (_, true) => "Interrupted",
        (MemberState::Resyncing, false) => "Running",
        _ => "Not started",
    };
    let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    format!(
        "Target ID: {}\nJob state: {state}\n# of bytes to sync: {}\n# of synced bytes: {}\nSync rate (bytes/s): {}\nRemaining time (s): {}\n",
        row.target,
        number(row.left_bytes),
        number(row.copied_bytes),
        number(row.bytes_per_s),
        number(row.left_s)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_their_names() {
        let row = Progress {
            group: GroupId(1),
            target: TargetId(201),
            state: MemberState::Resyncing,
            stopped: false,
            copied_bytes: Some(5),
            left_bytes: None,
            bytes_per_s: None,
            left_s: None,
            taken_bytes: None,
        };
        let text = stats_text(&row);
        assert!(text.contains("Job state: Running\n# of bytes to sync: -\n# of synced bytes: 5\n"), "{text}");
        assert!(stats_text(&Progress { stopped: true, ..row.clone() }).contains("Interrupted"));
        assert!(stats_text(&Progress { state: MemberState::Good, ..row }).contains("Success"));
        let map = crate::command::mirror_list::tests::mirrored();
        assert!(member(&map, TargetKind::Storage, TargetId(9)).unwrap_err().message.contains("no mirror group"));
    }
}
