// SPDX-License-Identifier: Apache-2.0

//! `nyala entry info PATH…`: where entries and their data are.

use super::entry_asker::Asker;
use super::entry_code::code_text;
use super::json_name::json_name;
use crate::cluster::ClusterArgs;
use crate::entries::{FilterArgs, Search, Walked};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, json, lines, print};
use crate::role::block_on;
use crate::units::Size;
use nyala_wire::map::{ClusterMap, MemberState, TargetKind};
use nyala_wire::meta::EntryInfo;
use nyala_wire::{ErasureCode, GroupId, Pattern, PoolId, TargetId};
use serde::{Serialize, Serializer};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// Flags of `nyala entry info`.
#[derive(Clone, Debug, clap::Args)]
pub struct EntryInfoArgs {
    /// Paths on a mount (or, with a cluster named by flags and nothing mounted, from the root of the file system)
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Also what is below directories, each before what is in it
    #[arg(long)]
    pub recurse: bool,
    /// With --recurse: go at most so many directories down
    #[arg(long, value_name = "N", requires = "recurse")]
    pub max_depth: Option<usize>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// One entry.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Bytes that are no text are shown as U+FFFD.
    #[serde(serialize_with = "as_text")]
    path: PathBuf,
    #[serde(rename = "type")]
    kind: String,
    inode: String,
    slot: u16,
    meta_target: TargetId,
    meta_node: Option<String>,
    parent: Option<String>,
    size: u64,
    uid: u32,
    gid: u32,
    /// When its content last changed, seconds since 1970.
    mtime_s: i64,
    inline: bool,
    /// Of a directory that is split: the metadata targets that have its names, in the order of their hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<Vec<TargetId>>,
    /// Where its data is, or what it gives to new files.
    pub stripe: Option<Stripe>,
}

/// Where a file's data is, or what a directory gives to new files.
#[derive(Clone, Debug, Serialize)]
pub struct Stripe {
    /// `raid0`, `mirror` or `ec`.
    pub pattern: String,
    /// Bytes.
    pub chunk_size: u32,
    /// Targets, or groups.
    pub num_targets: u16,
    /// Where it is; for mirrored files all members of all groups, primaries first in each.
    pub targets: Vec<TargetId>,
    /// Mirrored files only: the groups, in stripe order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupId>>,
    /// Its erasure code; of a mirrored file what it is to be encoded with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ErasureCode>,
    /// Storage pool.
    pub pool: PoolId,
    /// Directories only: largest inline content, bytes.
    inline_size: Option<u32>,
}

fn as_text<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// Shows entries. Several paths give a JSON list, a single one an object; with --recurse it is always a list.
pub fn run(args: EntryInfoArgs, output: Output) -> Outcome {
    if args.recurse {
        return recurse(&args, output);
    }
    if args.filter.is_any() {
        return Err(Failure::usage("conditions say which entries of many are shown; give --recurse with them"));
    }
    let mut entries = Vec::new();
    let mut text = String::new();
    block_on(async {
        let mut asker = Asker::default();
        let asked = async {
            for path in &args.paths {
                let way = args.cluster.find_for(path)?;
                let (info, map) = asker.ask(way).await.map_err(|e| e.context(path.display()))?;
                let entry = describe(path, &info, &map);
                text += &render(&entry, &map, matches!(output, Output::Table) && !text.is_empty());
                entries.push(entry);
            }
            Ok(())
        };
        let asked = asked.await;
        asker.leave().await;
        asked
    })?;
    show_all(output, &entries, &text)
}

/// Prints entries, or `text`, which says the same in words. One alone is an object of JSON, several are a list.
pub(super) fn show_all(output: Output, entries: &[Entry], text: &str) -> Outcome {
    match (output, entries) {
        (Output::Table, _) => print(text),
        (Output::Json, [entry]) => print(&json(entry)?),
        (Output::Json, entries) => print(&json(&entries)?),
        (Output::Ndjson, entries) => print(&lines(&entries)?),
    }
    .map(|_| Exit::Ok)
}

fn recurse(args: &EntryInfoArgs, output: Output) -> Outcome {
    let (paths, cluster, filter) = (&args.paths, &args.cluster, &args.filter);
    let first = Cell::new(true);
    let entry = |walked: &Walked| describe(&walked.path, &walked.found.0, &walked.found.1);
    let text = |walked: &Walked| render(&entry(walked), &walked.found.1, !first.replace(false)).into_bytes();
    Search { paths, cluster, filter, max_depth: args.max_depth, excludes: false }.run(output, text, entry)
}

/// What is shown of an entry.
pub fn describe(path: &Path, info: &EntryInfo, map: &ClusterMap) -> Entry {
    let from_layout = info.layout.as_ref().map(|layout| {
        let groups: Option<Vec<GroupId>> =
            (layout.pattern == Pattern::Mirror).then(|| layout.targets.iter().map(|id| GroupId(id.0)).collect());
        let targets: Vec<TargetId> = match &groups {
            Some(groups) => groups.iter().flat_map(|id| members(map, *id)).map(|(target, _)| target).collect(),
            None => layout.targets.clone(),
        };
        Stripe {
            pattern: json_name(&layout.pattern),
            chunk_size: layout.chunk_bytes,
            num_targets: u16::try_from(layout.targets.len()).unwrap_or(u16::MAX),
            pool: targets.first().and_then(|id| map.target(*id)).map_or(PoolId(1), |target| target.pool),
            targets,
            groups,
            code: layout.code,
            inline_size: None,
        }
    });
    let from_pattern = info.pattern.map(|pattern| Stripe {
        pattern: json_name(&pattern.pattern),
        chunk_size: pattern.chunk_bytes,
        num_targets: pattern.num_targets,
        targets: Vec::new(),
        groups: None,
        code: pattern.code,
        pool: pattern.pool,
        inline_size: Some(pattern.inline_bytes),
    });
    Entry {
        path: path.to_path_buf(),
        kind: json_name(&info.attr.kind),
        inode: info.attr.inode.to_string(),
        slot: info.attr.inode.slot().0,
        meta_target: info.meta_target,
        meta_node: map.server_node(info.meta_target).map(|node| node.alias.clone()),
        parent: info.parent.map(|parent| parent.to_string()),
        size: info.attr.size,
        uid: info.attr.uid,
        gid: info.attr.gid,
        mtime_s: info.attr.mtime.seconds,
        inline: info.inline,
        split: info.fragments.as_ref().map(|fragments| {
            let all = fragments.iter().map(|fragment| fragment.inode).chain([info.attr.inode]);
            all.filter_map(|inode| map.slot_target(inode.slot())).collect()
        }),
        stripe: from_layout.or(from_pattern),
    }
}

/// Members of a mirror group with their states, the primary first.
fn members(map: &ClusterMap, id: GroupId) -> Vec<(TargetId, MemberState)> {
    let group = map.groups.iter().find(|group| group.id == id);
    group.map(|group| group.members_with_states().collect()).unwrap_or_default()
}

/// Where a target is.
fn target_text(map: &ClusterMap, id: TargetId) -> String {
    match map.target(id).filter(|target| target.kind == TargetKind::Storage) {
        Some(target) => match map.node(target.node) {
            Some(node) => format!("{id} @ {} [ID: {}]", node.alias, node.id),
            None => format!("{id} @ node {}", target.node),
        },
        None => format!("{id} (not in the cluster map)"),
    }
}

/// Its targets, and which of them have parity.
fn target_lines(stripe: &Stripe, map: &ClusterMap) -> impl Iterator<Item = String> {
    let data = stripe.code.map_or(usize::MAX, |code| usize::from(code.data));
    let parity = move |at| if at < data { "" } else { ", parity" };
    stripe.targets.iter().enumerate().map(move |(at, id)| format!("  + {}{}", target_text(map, *id), parity(at)))
}

fn code_line(stripe: &Stripe, code: ErasureCode) -> String {
    let later = stripe.pattern == json_name(&Pattern::Mirror);
    format!("+ {}: {}", if later { "To be encoded" } else { "Erasure code" }, code_text(code))
}

/// An entry as people read it.
pub(super) fn render(entry: &Entry, map: &ClusterMap, blank_line: bool) -> String {
    let mut lines = Vec::new();
    if blank_line {
        lines.push(String::new());
    }
    lines.push(format!("Path: {}", entry.path.display()));
    lines.push(format!("Entry type: {}", entry.kind));
    lines.push(format!("Inode: {} (slot {})", entry.inode, entry.slot));
    lines.extend(entry.parent.as_ref().map(|parent| format!("Parent: {parent}")));
    let node = entry.meta_node.as_deref().unwrap_or("unknown");
    lines.push(format!("Metadata target: {} @ {node}", entry.meta_target));
    if let Some(targets) = &entry.split {
        let targets: Vec<String> = targets.iter().map(|target| target.to_string()).collect();
        lines.push(format!("Names on metadata targets: {}", targets.join(", ")));
    }
    if entry.kind == "file" {
        lines.push(format!("Size: {} bytes{}", entry.size, if entry.inline { ", kept with the inode" } else { "" }));
    }
    if let Some(stripe) = &entry.stripe {
        lines.push("Stripe pattern details:".into());
        lines.push(format!("+ Type: {}", stripe.pattern.to_uppercase()));
        lines.push(format!("+ Chunksize: {}", Size(stripe.chunk_size.into())));
        let what = if stripe.inline_size.is_some() { "desired" } else { "actual" };
        let of_targets =
            stripe.pattern == json_name(&Pattern::Raid0) || !stripe.targets.is_empty() && stripe.groups.is_none();
        let unit = if of_targets { Pattern::Raid0 } else { Pattern::Mirror };
        lines.push(format!("+ Number of {}: {what}: {}", super::entry_pattern::unit(unit), stripe.num_targets));
        lines.extend(stripe.code.map(|code| code_line(stripe, code)));
        let pool = map.pools.iter().find(|pool| pool.id == stripe.pool).map_or("", |pool| pool.alias.as_str());
        lines.push(format!("+ Storage Pool: {} ({pool})", stripe.pool));
        lines.extend(stripe.inline_size.map(|bytes| format!("+ Inline up to: {}", Size(bytes.into()))));
        match &stripe.groups {
            Some(groups) => {
                lines.push("+ Mirror groups:".into());
                for id in groups {
                    let members = members(map, *id).into_iter();
                    let members =
                        members.map(|(target, state)| format!("{} ({})", target_text(map, target), json_name(&state)));
                    lines.push(format!("  + {id}: {}", members.collect::<Vec<_>>().join(", ")));
                }
            }
            None if stripe.targets.is_empty() => {}
            None => {
                lines.push("+ Storage targets:".into());
                lines.extend(target_lines(stripe, map));
            }
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use nyala_wire::{Attr, FileKind, InodeId, Layout, Slot, StripePattern, Time};

    /// An inode of a kind, without data.
    pub(crate) fn info(kind: FileKind) -> EntryInfo {
        let time = Time::default();
        let inode = InodeId::new(Slot(3), 9).unwrap();
        let attr = Attr {
            inode,
            kind,
            perm: 0o644,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            size: 70_000,
            allocated: None,
            no_xattrs: false,
            split: None,
            atime: time,
            mtime: time,
            ctime: time,
            btime: time,
        };
        EntryInfo {
            attr,
            meta_target: TargetId(1),
            layout: None,
            inline: false,
            pattern: None,
            parent: None,
            fragments: None,
        }
    }

    #[test]
    fn json_has_the_promised_fields() {
        let layout = Layout {
            pattern: Pattern::Raid0,
            chunk_bytes: 1 << 20,
            targets: vec![TargetId(101), TargetId(201)],
            moves: 0,
            code: None,
        };
        let file = EntryInfo { layout: Some(layout), ..info(FileKind::File) };
        let entry = describe(Path::new("/m/f"), &file, &ClusterMap::default());
        let value = serde_json::to_value(&entry).unwrap();
        assert_eq!(value["type"], "file");
        assert_eq!(value["slot"], 3);
        assert_eq!(value["stripe"]["pattern"], "raid0");
        assert_eq!(value["stripe"]["chunk_size"], 1 << 20);
        assert_eq!(value["stripe"]["targets"], serde_json::json!([101, 201]));
        assert_eq!(value["stripe"]["num_targets"], 2);
        let text = render(&entry, &ClusterMap::default(), false);
        assert!(text.contains("+ Chunksize: 1m") && text.contains("actual: 2") && text.contains("  + 101"), "{text}");
    }

    #[test]
    fn mirrored_files_show_groups_and_members() {
        let map = crate::command::mirror_list::tests::mirrored();
        let layout =
            Layout { pattern: Pattern::Mirror, chunk_bytes: 1 << 20, targets: vec![TargetId(1)], moves: 0, code: None };
        let file = EntryInfo { layout: Some(layout), ..info(FileKind::File) };
        let entry = describe(Path::new("/m/f"), &file, &map);
        let value = serde_json::to_value(&entry).unwrap();
        assert_eq!(
            (&value["stripe"]["pattern"], &value["stripe"]["groups"]),
            (&"mirror".into(), &serde_json::json!([1]))
        );
        assert_eq!(value["stripe"]["targets"], serde_json::json!([101, 201]));
        let text = render(&entry, &map, false);
        assert!(
            text.contains("mirror groups: actual: 1") && text.contains("201 @ storage2 [ID: 2] (needs-resync)"),
            "{text}"
        );
    }

    #[test]
    fn directories_show_what_they_give() {
        let pattern = StripePattern { num_targets: 3, ..StripePattern::default() };
        let dir = EntryInfo { pattern: Some(pattern), parent: Some(InodeId::ROOT), ..info(FileKind::Directory) };
        let entry = describe(Path::new("/m"), &dir, &ClusterMap::default());
        let text = render(&entry, &ClusterMap::default(), true);
        assert!(
            text.starts_with("\nPath: /m\n") && text.contains("desired: 3") && text.contains("Inline up to: 4k"),
            "{text}"
        );
        assert_eq!(serde_json::to_value(&entry).unwrap()["parent"], "0000-000000000001");
    }
}
