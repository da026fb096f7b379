// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --listtargets`.

use crate::compat::table::right_aligned;
use crate::compat::{cluster, command_line::CommandLine};
use crate::exit::Outcome;
use crate::output::print;
use crate::role::block_on;
use nyala_wire::map::{ClusterMap, Consistency, MemberState, Reachability, Target, TargetKind};

/// Lists targets, alone or as members.
pub fn list(line: &CommandLine) -> Outcome {
    line.only(
        &["nodetype", "mirrorgroups", "state", "longnodes", "listtarget", "storagepools", "spaceinfo"],
        "listtargets",
    )?;
    let kind = if line.has("nodetype") { cluster::kind(line)? } else { TargetKind::Storage };
    let map = block_on(async { cluster::find(line)?.map().await })?;
    print(&targets_text(&map, kind, line.has("mirrorgroups"), line.has("state")))
}

fn targets_text(map: &ClusterMap, kind: TargetKind, members: bool, state: bool) -> String {
    let mut heads = if members { vec![("MirrorGroupID", 0), ("MGMemberType", 0)] } else { Vec::new() };
    heads.push(("TargetID", 8));
    if state {
        heads.extend([("Reachability", 16), ("Consistency", 12)]);
    }
    heads.push(("NodeID", 8));
    let columns = |target: &Target, consistency: &str| {
        let mut row = vec![cluster::number(target)];
        if state {
            row.extend([reachability(target.reachability).to_owned(), consistency.to_owned()]);
        }
        row.push(target.node.to_string());
        row
    };
    let mut rows = Vec::new();
    if members {
        for group in map.groups.iter().filter(|group| group.kind == kind) {
            for (id, member) in group.members_with_states() {
                let Some(target) = map.target(id) else { continue };
                let role = if group.primary() == Some(id) { "primary" } else { "secondary" };
                let mut row = vec![group.id.to_string(), role.to_owned()];
                row.extend(columns(target, of_member(member)));
                rows.push(row);
            }
        }
    } else {
        rows.extend(map.targets_of(kind).map(|target| columns(target, of_target(target.consistency))));
    }
    right_aligned(&heads, &rows)
}

fn reachability(state: Reachability) -> &'static str {
    match state {
        Reachability::Online => "Online",
        Reachability::ProbablyOffline => "Probably-offline",
        Reachability::Offline => "Offline",
    }
}

fn of_member(state: MemberState) -> &'static str {
    match state {
        MemberState::Good => "Good",
        MemberState::NeedsResync => "Needs-resync",
        MemberState::Resyncing => "Resyncing",
        MemberState::Bad => "Bad",
    }
}

fn of_target(state: Consistency) -> &'static str {
    match state {
        Consistency::Good => "Good",
        Consistency::NeedsResync => "Needs-resync",
        Consistency::Bad => "Bad",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_with_their_states() {
        let map = crate::command::mirror_list::tests::mirrored();
        let text = targets_text(&map, TargetKind::Storage, true, true);
        assert!(
            text.starts_with("MirrorGroupID MGMemberType TargetID     Reachability  Consistency   NodeID\n"),
            "{text}"
        );
        assert!(
            text.contains("            1      primary      101          Offline         Good        1\n"),
            "{text}"
        );
        assert!(text.contains("Needs-resync"), "{text}");
        let text = targets_text(&cluster::tests::mirrored_metadata(), TargetKind::Meta, true, false);
        assert!(text.ends_with("            1    secondary       12       12\n"), "{text}");
    }
}
