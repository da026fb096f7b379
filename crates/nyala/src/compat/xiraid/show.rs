// SPDX-License-Identifier: Apache-2.0

//! `xicli raid show`: the sets of the cluster, in the shape of the old table.
//!
//! **Failure model.** A host that is not set up yet has no cluster to ask: the table is empty then, with a notice. A service that does not answer is said for each
//! of its targets, and the exit code is 1.

use super::boxed::{Cell, boxed};
use super::named;
use super::options::Options;
use crate::command::raid::ask::Sets;
use crate::compat::notice::notice;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use nyala_wire::TargetId;
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::TargetCapacity;
use nyala_wire::raid::{RaidOrder, RaidState};

const HEADS: [&str; 5] = ["name", "static", "state", "devices", "info"];

/// What was found.
struct Found {
    rows: Vec<Vec<Cell>>,
    /// Sets that did not answer, and why.
    silent: Vec<(TargetId, Failure)>,
}

/// Prints the sets, or one.
pub fn run(line: &Options) -> Outcome {
    line.only(&["name", "format", "units", "extended", "online"])?;
    if let Some(format) = line.value("format")?.filter(|format| *format != "table") {
        return Err(Failure::usage(format!("--format {format}: for JSON, use nyala raid show --output json")));
    }
    if line.has("units") {
        notice("--units: sizes are in GiB");
    }
    let name = line.value("name")?;
    let cluster = match named::find() {
        Err(Failure { exit: Exit::Usage, message }) if name.is_none() => {
            notice(&format!("there are no sets to show: {message}"));
            return print(&boxed("RAIDs", &HEADS, &[]));
        }
        found => found?,
    };
    let Found { rows, silent } = block_on(async {
        let map = cluster.map().await?;
        let named: Vec<TargetId> = name.map(|name| named::target(&map, name)).transpose()?.into_iter().collect();
        let (sets, capacities) = (Sets::of(&cluster).await?, cluster.capacities().await?);
        let mut found = Found { rows: Vec::new(), silent: Vec::new() };
        for target in sets.targets(&named)? {
            match sets.ask(target, RaidOrder::Show).await {
                Ok(Some(set)) => found.rows.push(row(&map, &capacities, target, &set.set)),
                Ok(None) if name.is_some() => {
                    return Err(Failure::failed(format!("Storage target {target} lies in a directory, not on a set")));
                }
                Ok(None) => {}
                Err(failure) => found.silent.push((target, failure)),
            }
        }
        Ok(found)
    })?;
    silent.iter().for_each(|(target, why)| notice(&format!("storage target {target} does not answer: {why}")));
    print(&boxed("RAIDs", &HEADS, &rows))?;
    Ok(if silent.is_empty() { Exit::Ok } else { Exit::Failed })
}

fn row(map: &ClusterMap, capacities: &[TargetCapacity], target: TargetId, set: &RaidState) -> Vec<Cell> {
    let size = capacities.iter().find(|capacity| capacity.target == target).map(|found| found.capacity.total_bytes);
    let size = size.map_or_else(|| "-".to_owned(), |bytes| format!("{} GiB", bytes >> 30));
    let name = map.target(target).map_or_else(|| target.to_string(), |known| known.alias.clone());
    let spares = if set.spares.is_empty() { "-".to_owned() } else { set.spares.join(" ") };
    let fixed = vec![
        format!("size: {size}"),
        format!("level: {}", set.level),
        format!("strip_size: {}", set.strip_bytes >> 10),
        "block_size: 4096".to_owned(),
        format!("sparepool: {spares}"),
        "active: True".to_owned(),
        "config: True".to_owned(),
    ];
    let device = |(number, member): (usize, &nyala_wire::raid::RaidMember)| {
        format!("{number} {} {}", member.drive.as_deref().unwrap_or("null"), device_state(&member.state))
    };
    let devices = set.members.iter().enumerate().map(device).collect();
    vec![vec![name], fixed, state(set), devices, vec!["memory_usage_mb : -".to_owned()]]
}

fn device_state(state: &str) -> &'static str {
    match state {
        "good" => "online",
        "missing" => "offline",
        _ => "reconstructing",
    }
}

/// A set is initialized from the beginning.
fn state(set: &RaidState) -> Cell {
    let is = |state: &str| set.members.iter().any(|member| device_state(&member.state) == state);
    let states = [
        ("online", true),
        ("initialized", true),
        ("degraded", is("offline")),
        ("reconstructing", is("reconstructing")),
    ];
    states.into_iter().filter(|(_, is)| *is).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::read;
    use super::*;
    use nyala_wire::mgmt::Capacity;
    use nyala_wire::raid::RaidMember;

    #[test]
    fn a_set_as_the_papers_print_it() {
        let mut map = crate::command::mirror_list::tests::mirrored();
        map.targets.iter_mut().for_each(|target| target.alias = format!("era{}", target.id));
        let member = |drive: &str, state: &str| RaidMember {
            drive: Some(drive.into()),
            state: state.into(),
            ..RaidMember::default()
        };
        let members = vec![member("/drives/1", "good"), member("/drives/2", "good")];
        let mut set = RaidState { level: "1".into(), strip_bytes: 65536, members, ..RaidState::default() };
        let capacity = TargetCapacity::new(TargetId(201), Capacity { total_bytes: 982 << 30, ..Capacity::default() });
        let shown =
            |set: &RaidState| boxed("RAIDs", &HEADS, &[row(&map, std::slice::from_ref(&capacity), TargetId(201), set)]);
        let text = shown(&set);
        for line in [
            "║ era201 ║ size: 982 GiB    ║ online      ║ 0 /drives/1 online ║ memory_usage_mb : - ║",
            "strip_size: 64",
            "║ level: 1 ",
            "sparepool: -",
            "║ initialized ║ 1 /drives/2 online ║",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        set.members[1].state = "rebuilding".into();
        set.members[0] = RaidMember { state: "missing".into(), ..RaidMember::default() };
        let text = shown(&set);
        for line in ["0 null offline", "1 /drives/2 reconstructing", "║ degraded "] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(run(&read("-f json")).unwrap_err().message.contains("--output json"));
    }
}
