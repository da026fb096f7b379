// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --addmirrorgroup`, `--listmirrorgroups`, `--mirrormd`.

use crate::compat::table::right_aligned;
use crate::compat::{cluster, command_line::CommandLine, notice::notice};
use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use nyala_wire::map::{ClusterMap, Group, TargetKind};
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::{GroupId, TargetId};

/// Makes groups.
pub fn add(line: &CommandLine) -> Outcome {
    line.only(
        &["automatic", "nodetype", "primary", "secondary", "groupid", "force", "dryrun", "uniquegroupid"],
        "addmirrorgroup",
    )?;
    let kind = cluster::kind(line)?;
    if line.has("automatic") {
        return automatic(line, kind);
    }
    let (primary, secondary) = (line.number("primary")?, line.number("secondary")?);
    let what = cluster::numbers(kind);
    if primary == secondary {
        return Err(Failure::usage(format!("Primary and secondary are the same; a group has two different {what}s")));
    }
    let group = line.value("groupid").map(|_| line.number("groupid").map(GroupId)).transpose()?;
    let (first, map) = block_on(async {
        let cluster = cluster::find(line)?;
        let map = cluster.map().await?;
        let named = |number| cluster::numbered(&map, kind, number);
        let (first, second) = (named(primary)?, named(secondary)?);
        let members = vec![first, second];
        cluster.order_groups(GroupOrder::Create { group: group.unwrap_or(GroupId(0)), kind, members }).await?;
        Ok((first, cluster.map().await?))
    })?;
    let made = map.groups.iter().find(|group| group.kind == kind && group.members.contains(&first));
    let id = made.map_or_else(|| "unknown".to_owned(), |group| group.id.to_string());
    print(&format!("Mirror buddy group successfully set: groupID {id} -> {what} IDs {primary}, {secondary}\n"))
}

fn automatic(line: &CommandLine, kind: TargetKind) -> Outcome {
    let force = line.has("force");
    let order = GroupOrder::CreateAll { kind, members: 2, ignore_space: force, ignore_uneven: force };
    if line.has("dryrun") {
        return Err(Failure::usage(
            "--dryrun: groups are made as a whole or refused with a sentence, nothing in between",
        ));
    }
    let (before, map) = block_on(async {
        let cluster = cluster::find(line)?;
        let before = cluster.map().await?;
        cluster.order_groups(order).await.map_err(|error| Failure {
            message: format!(
                "{} (--force accepts targets of different sizes, and some that are left over)",
                error.message
            ),
            ..error
        })?;
        Ok((before, cluster.map().await?))
    })?;
    let is_new = |group: &&Group| group.kind == kind && before.group(group.id).is_none();
    let new: Vec<&Group> = map.groups.iter().filter(is_new).collect();
    print(&new_groups(&map, kind, &new))
}

fn new_groups(map: &ClusterMap, kind: TargetKind, groups: &[&Group]) -> String {
    let (head, what) = if kind == TargetKind::Meta { ("Node type", "Node") } else { ("Target type", "Target") };
    let mut rows = Vec::new();
    for group in groups {
        for (at, member) in group.members.iter().enumerate() {
            let id = if at == 0 { group.id.to_string() } else { String::new() };
            let role = if group.primary() == Some(*member) { "primary" } else { "secondary" };
            rows.push(vec![id, role.to_owned(), cluster::target_text(map, *member)]);
        }
    }
    format!("\nNew mirror groups:\n{}\n", right_aligned(&[("BuddyGroupID", 12), (head, 11), (what, 12)], &rows))
}

/// Lists groups.
pub fn list(line: &CommandLine) -> Outcome {
    line.only(&["nodetype"], "listmirrorgroups")?;
    let kind = cluster::kind(line)?;
    let map = block_on(async { cluster::find(line)?.map().await })?;
    print(&list_text(&map, kind))
}

fn list_text(map: &ClusterMap, kind: TargetKind) -> String {
    let heads = match kind {
        TargetKind::Meta => [("BuddyGroupID", 17), ("PrimaryNodeID", 17), ("SecondaryNodeID", 17)],
        TargetKind::Storage => [("BuddyGroupID", 17), ("PrimaryTargetID", 17), ("SecondaryTargetID", 17)],
    };
    let shown = |id: TargetId| map.target(id).map_or_else(|| id.to_string(), cluster::number);
    let row = |group: &Group| {
        let primary = group.primary().or_else(|| group.members.first().copied());
        let others = group.members.iter().filter(|member| Some(**member) != primary).map(|id| shown(*id));
        vec![group.id.to_string(), primary.map_or_else(|| "-".to_owned(), shown), others.collect::<Vec<_>>().join(",")]
    };
    let rows: Vec<Vec<String>> = map.groups.iter().filter(|group| group.kind == kind).map(row).collect();
    right_aligned(&heads, &rows)
}

/// Metadata is mirrored as soon as there is a group.
pub fn mirror_metadata(line: &CommandLine) -> Outcome {
    line.only(&[], "mirrormd")?;
    let map = block_on(async { cluster::find(line)?.map().await })?;
    if !map.groups.iter().any(|group| group.kind == TargetKind::Meta) {
        return Err(Failure::failed(
            "There is no metadata mirror group; make some first: beegfs-ctl --addmirrorgroup --automatic --nodetype=meta",
        ));
    }
    notice(
        "metadata was mirrored already, from the moment when its groups were made; no client or service has to be restarted",
    );
    print("Operation succeeded.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_members_as_they_are_printed() {
        let map = crate::command::mirror_list::tests::mirrored();
        let text = list_text(&map, TargetKind::Storage);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "     BuddyGroupID   PrimaryTargetID SecondaryTargetID");
        assert_eq!(lines[1], "     ============   =============== =================");
        assert_eq!(lines[2], "                1               101               201");
        let groups: Vec<&Group> = map.groups.iter().collect();
        let text = new_groups(&map, TargetKind::Storage, &groups);
        assert!(text.contains("New mirror groups:\nBuddyGroupID Target type"), "{text}");
        assert!(text.contains("primary 101 @ storage1 [ID: 1]\n"), "{text}");
        let map = cluster::tests::mirrored_metadata();
        let text = list_text(&map, TargetKind::Meta);
        assert!(text.ends_with("                1                11                12\n"), "{text}");
        let text = new_groups(&map, TargetKind::Meta, &map.groups.iter().collect::<Vec<_>>());
        assert!(text.contains("primary meta11 [ID: 11]\n") && !text.contains('@'), "{text}");
    }
}
