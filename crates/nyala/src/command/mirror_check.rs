// SPDX-License-Identifier: Apache-2.0

//! `nyala mirror check`: compares the good members of mirror groups while applications go on. Nothing is changed.

use super::mirror_resync::chosen;
use super::scrub_status::total;
use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Outcome};
use crate::output::{Output, Table, show};
use crate::role::block_on;
use crate::units::Size;
use crate::walk::{Compared, Look, compare, shown};
use nyala_wire::map::{Group, MemberState, TargetKind};
use nyala_wire::{GroupId, TargetId};
use serde::Serialize;

/// Flags of `nyala mirror check`.
#[derive(Clone, Debug, clap::Args)]
pub struct MirrorCheckArgs {
    /// The groups [default: all]
    #[arg(value_name = "GROUP")]
    pub groups: Vec<GroupId>,
    /// How much is read from each member in a second; 0: as fast as it goes
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    pub rate: Size,
    /// Compare the stored checksums only, without reading the data
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Checked {
    /// Pairs that were compared.
    compared: Vec<Compared>,
    /// Members that are not good, and so were not compared.
    left_out: Vec<LeftOut>,
}

#[derive(Clone, Debug, Serialize)]
struct LeftOut {
    group: GroupId,
    target: TargetId,
    state: MemberState,
}

/// Checks. Exit code 6 if something differs or is damaged, 1 if not everything could be compared.
pub fn run(args: MirrorCheckArgs, output: Output) -> Outcome {
    let checked = block_on(async {
        let cluster = args.cluster.find()?;
        let look = Look::at(&cluster).await?;
        let map = look.client.map();
        let mut checked = Checked::default();
        let wanted = chosen(&map, &args.groups)?;
        let mut all = Vec::new();
        for group in map.groups.iter().filter(|group| wanted.contains(&group.id) && group.kind == TargetKind::Storage) {
            all.extend(pairs(group, &mut checked.left_out).into_iter().map(|pair| (group.id, pair)));
        }
        let targets: Vec<TargetId> = all.iter().flat_map(|(_, pair)| *pair).collect();
        let total = total(&cluster, &map, &targets).await;
        let work = async {
            for (group, pair) in all {
                checked.compared.push(compare(&look, group, pair, !args.quick, args.rate.0).await);
            }
        };
        shown(&look, "mirror check", total, work).await;
        // What it asked for is known; a failing goodbye changes nothing.
        let _ = look.client.shutdown().await;
        Ok(checked)
    })?;
    show(output, &checked, render)?;
    Ok(exit(&checked))
}

/// The first good member with each other one.
fn pairs(group: &Group, left_out: &mut Vec<LeftOut>) -> Vec<[TargetId; 2]> {
    let (good, others): (Vec<_>, Vec<_>) =
        group.members_with_states().partition(|(_, state)| *state == MemberState::Good);
    left_out.extend(others.into_iter().map(|(target, state)| LeftOut { group: group.id, target, state }));
    let Some(((first, _), rest)) = good.split_first() else { return Vec::new() };
    rest.iter().map(|(other, _)| [*first, *other]).collect()
}

fn exit(checked: &Checked) -> Exit {
    let found = |compared: &Compared| compared.different_bytes > 0 || compared.damaged_bytes > 0;
    let unfinished = checked.compared.iter().any(|compared| compared.error.is_some()) || !checked.left_out.is_empty();
    match (checked.compared.iter().any(found), unfinished) {
        (true, _) => Exit::Degraded,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Ok,
    }
}

fn render(checked: &Checked) -> String {
    let mut table = Table::new(&["GROUP", "MEMBERS", "COMPARED", "DIFFERENT", "DAMAGED", "UNSETTLED", "RESULT"]);
    for row in &checked.compared {
        let result = match &row.error {
            Some(error) => format!("not finished: {error}"),
            None if row.different_bytes > 0 => "different".to_owned(),
            None if row.damaged_bytes > 0 => "damaged: nyala scrub repairs it".to_owned(),
            None => "equal".to_owned(),
        };
        let size = |bytes| Size(bytes).to_string();
        let sizes = [row.bytes, row.different_bytes, row.damaged_bytes, row.unsettled_bytes].map(size);
        let members = format!("{}, {}", row.members[0], row.members[1]);
        table.row([row.group.to_string(), members].into_iter().chain(sizes).chain([result]));
    }
    let mut text = table.render();
    for left in &checked.left_out {
        let (group, target, state) = (left.group, left.target, super::json_name::json_name(&left.state));
        text += &format!("\nGroup {group}: target {target} is {state} and was not compared.\n");
    }
    let mut places = Table::new(&["GROUP", "INODE", "INODE NUMBER", "INDEX", "OFFSET", "LENGTH"]);
    for (row, place) in checked.compared.iter().flat_map(|row| row.differences.iter().map(move |place| (row, place))) {
        places.row([
            row.group.to_string(),
            place.inode.clone(),
            place.inode_number.to_string(),
            place.index.to_string(),
            place.offset.to_string(),
            place.length.to_string(),
        ]);
    }
    if checked.compared.iter().any(|row| !row.differences.is_empty()) {
        text += &format!("\n{}\nfind MOUNTPOINT -inum NUMBER tells the name of a file.\n", places.render());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mirror_list::tests::mirrored;

    #[test]
    fn good_members_are_compared_and_others_named() {
        let mut group = mirrored().groups.remove(0);
        let mut left_out = Vec::new();
        assert!(pairs(&group, &mut left_out).is_empty());
        assert_eq!((left_out.len(), left_out[0].target), (1, TargetId(201)));
        let checked = Checked { compared: vec![], left_out };
        assert_eq!(exit(&checked), Exit::Failed);
        assert!(render(&checked).contains("target 201 is needs-resync"));
        group.members.push(TargetId(301));
        group.states = vec![MemberState::Good; 3];
        let all = pairs(&group, &mut Vec::new());
        assert_eq!(all, [[TargetId(101), TargetId(201)], [TargetId(101), TargetId(301)]]);
    }
}
