// SPDX-License-Identifier: Apache-2.0

//! `beegfs-ctl --setpattern` and `--getentryinfo`.

use crate::cluster::{Place, Way};
use crate::command::{entry_info, entry_set};
use crate::compat::{cluster, notice, words::Words};
use crate::config::PatternArg;
use crate::exit::{Failure, Outcome};
use crate::output::print;
use crate::role::block_on;
use crate::units::Size;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{FileKind, GroupId, Pattern, StripePattern, TargetId};
use std::path::{Path, PathBuf};

fn one_path(words: &Words) -> Result<PathBuf, Failure> {
    match words.places.as_slice() {
        [path] => Ok(PathBuf::from(path)),
        [] => Err(Failure::usage("No path was given: name a directory or file below the mount point")),
        several => Err(Failure::usage(format!("One path at a time, not {}: {}", several.len(), several.join(" ")))),
    }
}

/// Where an entry is, as its mount sees it: the path inside the file system, and the mount point.
fn inside(way: &Way) -> (String, String) {
    match way {
        Way::Cluster(_, Place::Mounted(path, mountpoint)) | Way::Mount { path, mountpoint, .. } => {
            let inside = path.strip_prefix(mountpoint).unwrap_or(path).display().to_string();
            let inside = if inside.is_empty() { inside } else { format!("/{inside}") };
            (inside, mountpoint.display().to_string())
        }
        Way::Cluster(_, Place::InRoot(path)) => (path.display().to_string(), String::new()),
    }
}

/// Sets what a directory gives to new files.
pub fn set_pattern(words: &Words) -> Outcome {
    words.only(
        &["chunksize", "numtargets", "pattern", "storagepoolid", "buddymirror", "raid0", "unmounted"],
        "setpattern",
    )?;
    let pattern = match words.value("pattern").map(str::to_ascii_lowercase).as_deref() {
        Some("raid0") => Some(PatternArg::Raid0),
        Some("buddymirror") => Some(PatternArg::Mirror),
        Some(other) => {
            return Err(Failure::usage(format!("Invalid value for --pattern: {other}; possible: raid0, buddymirror")));
        }
        None if words.has("buddymirror") => Some(PatternArg::Mirror),
        None if words.has("raid0") => Some(PatternArg::Raid0),
        None => None,
    };
    let size = |text: &str| {
        text.parse::<Size>().map_err(|error| Failure::usage(format!("Invalid value for --chunksize: {error}")))
    };
    let path = one_path(words)?;
    let args = entry_set::EntrySetArgs {
        paths: vec![path.clone()],
        chunk_size: words.value("chunksize").map(size).transpose()?,
        num_targets: words.value("numtargets").map(|_| words.number("numtargets")).transpose()?,
        pattern,
        pool: words
            .value("storagepoolid")
            .map(|_| words.number("storagepoolid").map(nyala_wire::PoolId))
            .transpose()?,
        inline_size: None,
        cluster: cluster::arguments(words)?,
    };
    if args.sets_nothing() {
        return Err(Failure::usage("There is nothing to set: give --chunksize, --numtargets or --pattern"));
    }
    let (new, (at, mount)) = block_on(async {
        let way = args.cluster.find_for(&path)?;
        let at = inside(&way);
        let new = entry_set::set(&args, way).await.map_err(|error| error.context(path.display()))?;
        Ok((new, at))
    })?;
    print(&format!("{}\nPath: {at}\nMount: {mount}\n\n", pattern_text(words, &new)))
}

fn pattern_text(words: &Words, new: &StripePattern) -> String {
    let mut text = String::new();
    if words.has("chunksize") {
        text += &format!("New chunksize: {}\n", new.chunk_bytes);
    }
    if words.has("numtargets") {
        text += &format!("New number of storage targets: {}\n", new.num_targets);
    }
    if new.pattern == Pattern::Mirror {
        text += "New stripe pattern: Buddy Mirror\n";
    } else if words.has("pattern") || words.has("raid0") {
        text += "New stripe pattern: RAID0\n";
    }
    text
}

/// Shows an entry.
pub fn info(words: &Words) -> Outcome {
    words.only(&["verbose", "nomappings", "unmounted"], "getentryinfo")?;
    let path = one_path(words)?;
    let args = cluster::arguments(words)?;
    let (info, map) = block_on(async {
        let way = args.find_for(&path)?;
        entry_info::ask(way).await.map_err(|error| error.context(path.display()))
    })?;
    if words.has("verbose") {
        notice(
            "metadata is in tables: there are no hash paths of inodes, dentries and chunks; `nyala entry info` shows the slot",
        );
    }
    print(&info_text(&path, &info, &map, words.has("verbose")))
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
                Some(target) => format!("  + {group} @ primary {}\n", cluster::place(map, target)),
                None => format!("  + {group}\n"),
            };
            text += "+ Storage mirror buddy groups:\n";
            text += &groups.iter().map(line).collect::<String>();
        }
        None if info.layout.is_some() => {
            let line = |target: &TargetId| format!("  + {}\n", cluster::place(map, *target));
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
    use nyala_wire::Layout;

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
        let layout = Layout { pattern: Pattern::Mirror, chunk_bytes: 1 << 20, targets: vec![TargetId(1)] };
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
