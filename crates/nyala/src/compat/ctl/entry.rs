// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --getentryinfo`.

use super::entries::one_path;
use crate::command::entry_asker::Asker;
use crate::command::entry_info;
use crate::compat::{cluster, command_line::CommandLine, notice::notice};
use crate::exit::Outcome;
use crate::output::print;
use crate::role::block_on;
use crate::units::Size;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{FileKind, GroupId, TargetId};
use std::path::Path;

/// Shows an entry.
pub fn info(line: &CommandLine) -> Outcome {
    line.only(&["verbose", "nomappings", "unmounted"], "getentryinfo")?;
    let path = one_path(line)?;
    let args = cluster::arguments(line)?;
    let (info, map) = block_on(async {
        let (way, mut asker) = (args.find_for(&path)?, Asker::default());
        let asked = asker.ask(way).await.map_err(|error| error.context(path.display()));
        asker.leave().await;
        asked
    })?;
    if line.has("verbose") {
        notice(
            "metadata is in tables: there are no hash paths of inodes, dentries and chunks; `nyala entry info` shows the slot",
        );
    }
    print(&info_text(&path, &info, &map, line.has("verbose")))
}

fn info_text(path: &Path, info: &EntryInfo, map: &ClusterMap, verbose: bool) -> String {
    let kind = match info.attr.kind {
        FileKind::Directory => "directory",
        FileKind::File => "file",
        _ => "special file",
    };
    let mut text = format!("Entry type: {kind}\nEntryID: {}\n", info.attr.inode);
    if let Some(parent) = info.parent.filter(|_| verbose) {
        text += &format!("ParentID: {parent}\n");
    }
    let server = map.node_of(info.meta_target).map_or_else(|| "unknown".to_owned(), cluster::title);
    let group = map.groups.iter().find(|group| group.members.contains(&info.meta_target));
    match group {
        Some(group) => {
            text += &format!("Metadata buddy group: {}\nCurrent primary metadata node: {server}\n", group.id);
        }
        None => text += &format!("Metadata node: {server}\n"),
    }
    let described = entry_info::describe(path, info, map);
    let Some(stripe) = described.stripe else { return text };
    let mirrored = stripe.groups.is_some() || stripe.pattern == "mirror";
    text += "Stripe pattern details:\n";
    text += &format!("+ Type: {}\n", if mirrored { "Buddy Mirror" } else { "RAID0" });
    text += &format!("+ Chunksize: {}\n", Size(stripe.chunk_size.into()).to_string().to_uppercase());
    let actual = if info.layout.is_some() { format!("; actual: {}", stripe.num_targets) } else { String::new() };
    text += &format!("+ Number of storage targets: desired: {}{actual}\n", stripe.num_targets);
    let pool = map.pools.iter().find(|pool| pool.id == stripe.pool).map_or("", |pool| pool.alias.as_str());
    text += &format!("+ Storage Pool: {} ({pool})\n", stripe.pool);
    match &stripe.groups {
        Some(groups) => {
            let primary = |group: &GroupId| map.group(*group).and_then(nyala_wire::map::Group::primary);
            let line = |group: &GroupId| match primary(group) {
                Some(target) => format!("  + {group} @ primary {}\n", cluster::target_text(map, target)),
                None => format!("  + {group}\n"),
            };
            text += "+ Storage mirror buddy groups:\n";
            text += &groups.iter().map(line).collect::<String>();
        }
        None if info.layout.is_some() => {
            let line = |target: &TargetId| format!("  + {}\n", cluster::target_text(map, *target));
            text += "+ Storage targets:\n";
            text += &stripe.targets.iter().map(line).collect::<String>();
        }
        None => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::entry_info::tests::info as entry;
    use nyala_wire::{Layout, Pattern, StripePattern};

    #[test]
    fn entries_as_they_are_printed() {
        let map = crate::command::mirror_list::tests::mirrored();
        let pattern = StripePattern { chunk_bytes: 1 << 20, num_targets: 1, ..StripePattern::default() };
        let dir = EntryInfo { pattern: Some(pattern), ..entry(FileKind::Directory) };
        let text = info_text(Path::new("/m"), &dir, &map, true);
        assert!(text.starts_with("Entry type: directory\nEntryID: "), "{text}");
        assert!(
            text.contains(
                "Stripe pattern details:\n+ Type: RAID0\n+ Chunksize: 1M\n+ Number of storage targets: desired: 1\n"
            ),
            "{text}"
        );
        let layout =
            Layout { pattern: Pattern::Mirror, chunk_bytes: 1 << 20, targets: vec![TargetId(1)], moves: 0, code: None };
        let file = EntryInfo { layout: Some(layout), ..entry(FileKind::File) };
        let text = info_text(Path::new("/m/f"), &file, &map, false);
        assert!(
            text.contains("+ Type: Buddy Mirror\n")
                && text.contains("+ Storage mirror buddy groups:\n  + 1 @ primary 101 @"),
            "{text}"
        );
        assert!(text.contains("desired: 1; actual: 1\n"), "{text}");
    }
}
