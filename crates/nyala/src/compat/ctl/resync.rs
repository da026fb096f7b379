// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --startresync` and `--resyncstats`.

use crate::command::mirror_resync_figures::{Progress, ask};
use crate::compat::{cluster, command_line::CommandLine, notice::notice};
use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use nyala_wire::map::{ClusterMap, Consistency, Group, MemberState, TargetKind};
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::{GroupId, TargetId};

/// The member that a number names, and its group.
fn member(map: &ClusterMap, kind: TargetKind, number: u16) -> Result<(TargetId, &Group), Failure> {
    let target = cluster::numbered(map, kind, number)?;
    let group = map.groups.iter().find(|group| group.kind == kind && group.members.contains(&target));
    let none = || Failure::failed(format!("The {} {number} is in no mirror group", cluster::numbers(kind)));
    group.map(|group| (target, group)).ok_or_else(none)
}

/// The number that is given: of a node for metadata, of a target for storage. `--targetid` is taken for either, as a metadata server
/// has one target; `--nodeid` is not, as a storage node has several.
fn given(line: &CommandLine, kind: TargetKind) -> Result<Option<u16>, Failure> {
    match kind {
        TargetKind::Storage if line.has("nodeid") => {
            Err(Failure::usage("A storage node has several targets: name one with --targetid=<number>"))
        }
        TargetKind::Meta if line.has("nodeid") => line.number("nodeid").map(Some),
        _ if line.has("targetid") => line.number("targetid").map(Some),
        _ => Ok(None),
    }
}

fn missing(kind: TargetKind) -> Failure {
    Failure::usage(format!("Missing argument: --{}id=<number>", cluster::numbers(kind)))
}

/// Has a member filled anew.
pub fn start(line: &CommandLine) -> Outcome {
    line.only(&["nodetype", "targetid", "nodeid", "timestamp", "timespan", "restart", "mirrorgroupid"], "startresync")?;
    let kind = cluster::kind(line)?;
    let number = given(line, kind)?.ok_or_else(|| missing(kind))?;
    if line.has("timespan") || line.value("timestamp").is_some_and(|stamp| stamp != "0") {
        return Err(Failure::usage(
            "Only --timestamp=0 (everything) makes sense: what a member missed is known by region, and resynced by itself",
        ));
    }
    if line.has("restart") {
        notice("a resync that runs begins anew");
    }
    block_on(async {
        let cluster = cluster::find(line)?;
        let map = cluster.map().await?;
        let (target, group) = member(&map, kind, number)?;
        let others = group.members_with_states().filter(|(id, state)| *id != target && *state == MemberState::Good);
        if others.count() == 0 {
            return Err(Failure::failed(format!(
                "No other member of group {} is good: there is nothing to fill {number} from",
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
pub fn stats(line: &CommandLine) -> Outcome {
    line.only(&["nodetype", "targetid", "nodeid", "mirrorgroupid"], "resyncstats")?;
    let kind = cluster::kind(line)?;
    let group = line.value("mirrorgroupid").map(|_| line.number("mirrorgroupid").map(GroupId)).transpose()?;
    let number = given(line, kind)?;
    if number.is_none() && group.is_none() {
        let failure = missing(kind);
        return Err(Failure { message: format!("{} or --mirrorgroupid=<number>", failure.message), ..failure });
    }
    let (map, target, all) = block_on(async {
        let cluster = cluster::find(line)?;
        let map = cluster.map().await?;
        let named = number.map(|number| member(&map, kind, number));
        let target = named.as_ref().and_then(|named| named.as_ref().ok()).map(|(target, _)| *target);
        let group = match (group, named) {
            (Some(group), _) => map
                .group(group)
                .map(|group| group.id)
                .ok_or_else(|| Failure::failed(format!("There is no mirror group {group}")))?,
            (None, Some(named)) => named?.1.id,
            (None, None) => return Err(missing(kind)),
        };
        let all = ask(&cluster, &map, &[group], true).await?;
        Ok((map, target, all))
    })?;
    let named = |row: &&Progress| target.map_or(row.state != MemberState::Good, |target| row.target == target);
    let rows: Vec<&Progress> = all.iter().filter(named).collect();
    let text: Vec<String> = rows.iter().map(|row| stats_text(&map, kind, row)).collect();
    print(&if text.is_empty() { "Job state: Not started\n".to_owned() } else { text.join("\n") })
}

fn stats_text(map: &ClusterMap, kind: TargetKind, row: &Progress) -> String {
    let state = match (row.state, row.stopped) {
        (MemberState::Good, _) => "Success",
        (_, true) => "Interrupted",
        (MemberState::Resyncing, false) => "Running",
        _ => "Not started",
    };
    let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    format!(
        "{} ID: {}\nJob state: {state}\n# of bytes to sync: {}\n# of synced bytes: {}\nSync rate (bytes/s): {}\nRemaining time (s): {}\n",
        if kind == TargetKind::Meta { "Node" } else { "Target" },
        map.target(row.target).map_or_else(|| row.target.to_string(), cluster::number),
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
        let map = crate::command::mirror_list::tests::mirrored();
        let shown = |row: &Progress| stats_text(&map, TargetKind::Storage, row);
        let text = shown(&row);
        assert!(
            text.starts_with("Target ID: 201\nJob state: Running\n# of bytes to sync: -\n# of synced bytes: 5\n"),
            "{text}"
        );
        assert!(shown(&Progress { stopped: true, ..row.clone() }).contains("Interrupted"));
        assert!(shown(&Progress { state: MemberState::Good, ..row.clone() }).contains("Success"));
        assert_eq!(member(&map, TargetKind::Storage, 201).unwrap().0, TargetId(201));
        let map = ClusterMap { groups: Vec::new(), ..map };
        assert!(member(&map, TargetKind::Storage, 201).unwrap_err().message.contains("no mirror group"));
        let map = cluster::tests::mirrored_metadata();
        assert_eq!(
            member(&map, TargetKind::Meta, 12).unwrap().0,
            TargetId(2),
            "a metadata server is named by its node"
        );
        let text = stats_text(&map, TargetKind::Meta, &Progress { target: TargetId(2), ..row });
        assert!(text.starts_with("Node ID: 12\n"), "{text}");
    }

    #[test]
    fn servers_of_metadata_are_named_by_their_node_and_targets_of_storage_by_themselves() {
        let given = |line: &str, kind| given(&CommandLine::of(&[line.to_owned()]), kind);
        assert_eq!(given("--nodeid=12", TargetKind::Meta), Ok(Some(12)));
        assert_eq!(given("--targetid=12", TargetKind::Meta), Ok(Some(12)));
        assert_eq!(given("--targetid=201", TargetKind::Storage), Ok(Some(201)));
        assert!(given("--nodeid=2", TargetKind::Storage).unwrap_err().message.contains("--targetid"));
        assert_eq!(given("--x", TargetKind::Meta), Ok(None));
    }
}
