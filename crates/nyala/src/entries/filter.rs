// SPDX-License-Identifier: Apache-2.0

//! Which entries are meant. Pure: the map and the time are arguments.

use nyala_wire::map::ClusterMap;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{FileKind, GroupId, Pattern, PoolId, TargetId, Time};
use std::collections::BTreeSet;
use std::time::Duration;

/// Conditions that all hold; what is absent always does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// One of these kinds.
    pub kinds: Option<Vec<FileKind>>,
    /// A file's layout names one of these targets, or a mirror group that has one as a member.
    pub targets: Option<BTreeSet<TargetId>>,
    /// A file's layout names one of these mirror groups.
    pub groups: Option<BTreeSet<GroupId>>,
    /// Of a file: one of its targets is in the pool. Of a directory: new files go there.
    pub pool: Option<PoolId>,
    /// How data is spread; of a directory, that of new files.
    pub pattern: Option<Pattern>,
    /// One of these metadata servers has it.
    pub meta: Option<BTreeSet<TargetId>>,
    /// Files of at least so many bytes.
    pub min_size: Option<u64>,
    /// Files of at most so many bytes.
    pub max_size: Option<u64>,
    /// Its owner.
    pub uid: Option<u32>,
    /// Its group.
    pub gid: Option<u32>,
    /// Its content last changed at least so long ago.
    pub older: Option<Duration>,
    /// Its content last changed at most so long ago.
    pub newer: Option<Duration>,
}

impl Filter {
    /// Whether entries of a kind can be meant at all.
    pub fn takes(&self, kind: FileKind) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }

    /// Whether an entry is meant, now.
    pub fn matches(&self, info: &EntryInfo, map: &ClusterMap, now: Time) -> bool {
        let attr = &info.attr;
        let is_file = attr.kind == FileKind::File;
        let age = now.seconds.saturating_sub(attr.mtime.seconds);
        // What is from the future is as young as can be.
        let age = Duration::from_secs(u64::try_from(age).unwrap_or(0));
        self.takes(attr.kind)
            && self.meta.as_ref().is_none_or(|servers| servers.contains(&info.meta_target))
            && self.min_size.is_none_or(|size| is_file && attr.size >= size)
            && self.max_size.is_none_or(|size| is_file && attr.size <= size)
            && self.uid.is_none_or(|uid| attr.uid == uid)
            && self.gid.is_none_or(|gid| attr.gid == gid)
            && self.older.is_none_or(|time| age >= time)
            && self.newer.is_none_or(|time| age <= time)
            && self.is_laid_out(info, map)
    }

    fn is_laid_out(&self, info: &EntryInfo, map: &ClusterMap) -> bool {
        let spread = info.layout.as_ref().map(|layout| layout.pattern).or(info.pattern.map(|given| given.pattern));
        let groups: Vec<GroupId> = groups(info).collect();
        let targets: Vec<TargetId> = targets(info, map);
        let in_pool = |pool: PoolId| {
            let on = |id: &TargetId| map.target(*id).is_some_and(|target| target.pool == pool);
            targets.iter().any(on) || info.pattern.is_some_and(|given| given.pool == pool)
        };
        self.pattern.is_none_or(|wanted| spread == Some(wanted))
            && self.groups.as_ref().is_none_or(|wanted| groups.iter().any(|id| wanted.contains(id)))
            && self.targets.as_ref().is_none_or(|wanted| targets.iter().any(|id| wanted.contains(id)))
            && self.pool.is_none_or(in_pool)
    }
}

/// The mirror groups that a file's layout names.
fn groups(info: &EntryInfo) -> impl Iterator<Item = GroupId> + '_ {
    let mirrored = info.layout.iter().filter(|layout| layout.pattern == Pattern::Mirror);
    mirrored.flat_map(|layout| &layout.targets).map(|id| GroupId(id.0))
}

/// All targets that a file's layout names, members of its mirror groups included.
fn targets(info: &EntryInfo, map: &ClusterMap) -> Vec<TargetId> {
    match &info.layout {
        Some(layout) if layout.pattern != Pattern::Mirror => layout.targets.clone(),
        _ => groups(info).filter_map(|id| map.group(id)).flat_map(|group| group.members.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::entry_info::tests::info;
    use crate::command::mirror_list::tests::mirrored;
    use nyala_wire::{Layout, StripePattern};

    fn file(pattern: Pattern, ids: &[u16]) -> EntryInfo {
        let targets = ids.iter().copied().map(TargetId).collect();
        EntryInfo {
            layout: Some(Layout { pattern, chunk_bytes: 1 << 20, targets, moves: 0, code: None }),
            ..info(FileKind::File)
        }
    }

    fn matches(filter: Filter, info: &EntryInfo) -> bool {
        filter.matches(info, &mirrored(), Time { seconds: 1000, nanos: 0 })
    }

    #[test]
    fn without_conditions_everything_is_meant() {
        for kind in [FileKind::File, FileKind::Directory, FileKind::Socket] {
            assert!(matches(Filter::default(), &info(kind)));
        }
    }

    #[test]
    fn files_are_found_by_what_their_layout_names() {
        let on =
            |ids: &[u16]| Filter { targets: Some(ids.iter().copied().map(TargetId).collect()), ..Filter::default() };
        let plain = file(Pattern::Raid0, &[101]);
        assert!(matches(on(&[101, 9]), &plain) && !matches(on(&[201]), &plain));
        // Of group 1 both are members.
        let mirror = file(Pattern::Mirror, &[1]);
        assert!(matches(on(&[101]), &mirror) && matches(on(&[201]), &mirror) && !matches(on(&[1]), &mirror));
        let group = |id| Filter { groups: Some([GroupId(id)].into()), ..Filter::default() };
        assert!(matches(group(1), &mirror) && !matches(group(2), &mirror));
        assert!(!matches(group(101), &plain), "a target's id is not a group's");
        let directory = EntryInfo { pattern: Some(StripePattern::default()), ..info(FileKind::Directory) };
        assert!(!matches(on(&[101]), &directory), "a directory lies on no storage target");
        let spread = |pattern| Filter { pattern: Some(pattern), ..Filter::default() };
        assert!(matches(spread(Pattern::Raid0), &directory) && !matches(spread(Pattern::Mirror), &plain));
    }

    #[test]
    fn pools_are_those_of_the_targets_or_of_new_files() {
        let pool = |id| Filter { pool: Some(PoolId(id)), ..Filter::default() };
        assert!(matches(pool(1), &file(Pattern::Raid0, &[101])) && !matches(pool(7), &file(Pattern::Raid0, &[101])));
        let given = StripePattern { pool: PoolId(7), ..StripePattern::default() };
        let directory = EntryInfo { pattern: Some(given), ..info(FileKind::Directory) };
        assert!(matches(pool(7), &directory) && !matches(pool(1), &directory));
    }

    #[test]
    fn sizes_owners_ages_and_servers() {
        let mut entry = file(Pattern::Raid0, &[101]);
        (entry.attr.size, entry.attr.uid, entry.attr.mtime.seconds) = (500, 7, 900);
        for (filter, meant) in [
            (Filter { min_size: Some(500), max_size: Some(500), ..Filter::default() }, true),
            (Filter { min_size: Some(501), ..Filter::default() }, false),
            (Filter { max_size: Some(499), ..Filter::default() }, false),
            (Filter { uid: Some(7), gid: Some(0), ..Filter::default() }, true),
            (Filter { uid: Some(8), ..Filter::default() }, false),
            (Filter { older: Some(Duration::from_secs(100)), ..Filter::default() }, true),
            (Filter { older: Some(Duration::from_secs(101)), ..Filter::default() }, false),
            (Filter { newer: Some(Duration::from_secs(100)), ..Filter::default() }, true),
            (Filter { newer: Some(Duration::from_secs(99)), ..Filter::default() }, false),
            (Filter { meta: Some([TargetId(1)].into()), ..Filter::default() }, true),
            (Filter { meta: Some([TargetId(2)].into()), ..Filter::default() }, false),
            (Filter { kinds: Some(vec![FileKind::Directory]), ..Filter::default() }, false),
        ] {
            assert_eq!(matches(filter.clone(), &entry), meant, "{filter:?}");
        }
        // What was changed in the future is young.
        entry.attr.mtime.seconds = 5000;
        assert!(matches(Filter { newer: Some(Duration::ZERO), ..Filter::default() }, &entry));
        // A directory's size is no size of content.
        assert!(!matches(Filter { min_size: Some(1), ..Filter::default() }, &info(FileKind::Directory)));
    }
}
