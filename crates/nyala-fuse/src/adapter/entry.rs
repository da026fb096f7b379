// SPDX-License-Identifier: Apache-2.0

//! `nyala entry info` and `set` through the mount, for those who may not read the cluster's secret: two attributes that are
//! in no listing and of which nothing is stored. Their names begin with `system.`, where the kernel leaves the decision to
//! the file system: who reaches an entry may see where it lies, as with `stat`; the owner of a directory, and root, may set
//! what it gives to new files.
//!
//! **Failure model.** A value comes from any process: one that is no pattern is refused. The rights are those of this host's
//! users; servers do not know them. Whether content lies with the inode is the servers' word, so it may lag behind what
//! is still buffered here.

use super::attrs;
use super::convert::{errno, inode};
use super::fs::NyalaFs;
use crate::types::{Context, Result};
use crate::{Errno, Ino};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{GroupId, Pattern, StripePattern, codec};

/// Where an entry and its data are: a [`View`] in CBOR. Read only.
pub const ENTRY: &[u8] = b"system.nyala.entry";
/// What a directory gives to new files: a [`StripePattern`] in CBOR. Write only.
pub const PATTERN: &[u8] = b"system.nyala.pattern";

/// An entry, and the part of the cluster map that explains it.
pub type View = (EntryInfo, ClusterMap);

/// The value of [`ENTRY`].
pub async fn show(fs: &NyalaFs, ino: Ino) -> Result<Vec<u8>> {
    let mut info = fs.client.entry_info(inode(ino)).await.map_err(|error| errno("entry info", ino, error))?;
    // What is written and not sent yet counts here.
    (info.attr, _) = attrs::get(fs, "entry info", ino).await?;
    let map = part(&fs.client.map(), &info);
    Ok(codec::encode::<View>(&(info, map)))
}

/// What somebody needs to know of the map: of a file's, the targets that it lies on; of a directory's, all that it may use.
/// Nobody needs addresses for that.
fn part(map: &ClusterMap, info: &EntryInfo) -> ClusterMap {
    let mut part = ClusterMap { slots: Vec::new(), ..map.clone() };
    if info.pattern.is_none() {
        let layout = info.layout.as_ref();
        let mirrored = layout.is_some_and(|layout| layout.pattern == Pattern::Mirror);
        let ids = layout.map_or(&[][..], |layout| &layout.targets);
        part.groups.retain(|group| mirrored && ids.iter().any(|id| GroupId(id.0) == group.id));
        let groups = &part.groups;
        part.targets.retain(|target| {
            target.id == info.meta_target
                || (!mirrored && ids.contains(&target.id))
                || groups.iter().any(|group| group.members.contains(&target.id))
        });
    }
    let targets = &part.targets;
    part.nodes.retain(|node| targets.iter().any(|target| target.node == node.id));
    part.nodes.iter_mut().for_each(|node| node.addresses.clear());
    part
}

/// Takes a value of [`PATTERN`].
pub async fn set_pattern(fs: &NyalaFs, ctx: &Context, ino: Ino, value: &[u8]) -> Result<()> {
    let pattern: StripePattern = codec::decode(value).map_err(|_| Errno::EINVAL)?;
    let (attr, _) = attrs::get(fs, "set the pattern", ino).await?;
    if ctx.uid != 0 && ctx.uid != attr.uid {
        return Err(Errno::EPERM);
    }
    fs.client.set_pattern(inode(ino), pattern).await.map_err(|error| errno("set the pattern", ino, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::map::{
        CapacityPool, Consistency, Group, MemberState, Node, Reachability, Role, Target, TargetKind,
    };
    use nyala_wire::{Attr, FileKind, InodeId, Layout, NodeId, PoolId, TargetId, Time};

    fn map() -> ClusterMap {
        let node = |id| Node {
            id: NodeId(id),
            alias: format!("n{id}"),
            role: Role::Storage,
            addresses: vec!["10.0.0.1:8003".parse().unwrap()],
            reachability: Reachability::Online,
        };
        let target = |id: u16, node| Target {
            id: TargetId(id),
            alias: format!("t{id}"),
            kind: TargetKind::Storage,
            node: NodeId(node),
            pool: PoolId(1),
            reachability: Reachability::Online,
            consistency: Consistency::Good,
            capacity_pool: CapacityPool::Normal,
        };
        let group = Group {
            id: GroupId(3),
            kind: TargetKind::Storage,
            epoch: 1,
            members: vec![TargetId(101), TargetId(201)],
            states: vec![MemberState::Good; 2],
            term: 0,
            since: Default::default(),
            fencing: Vec::new(),
            resync_stopped: false,
            full: Vec::new(),
            losses: Default::default(),
            serves: None,
        };
        ClusterMap {
            nodes: vec![node(1), node(2), node(3)],
            targets: vec![target(1, 1), target(101, 1), target(201, 2), target(3, 3)],
            groups: vec![group],
            ..ClusterMap::default()
        }
    }

    fn info(layout: Option<(Pattern, u16)>) -> EntryInfo {
        let time = Time::default();
        let attr = Attr {
            inode: InodeId::ROOT,
            kind: FileKind::File,
            perm: 0,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            size: 0,
            allocated: None,
            no_xattrs: false,
            split: None,
            atime: time,
            mtime: time,
            ctime: time,
            btime: time,
        };
        let layout = layout.map(|(pattern, id)| Layout {
            pattern,
            chunk_bytes: 1 << 20,
            targets: vec![TargetId(id)],
            moves: 0,
            code: None,
        });
        EntryInfo {
            attr,
            meta_target: TargetId(1),
            layout,
            inline: false,
            pattern: None,
            parent: None,
            fragments: None,
        }
    }

    #[test]
    fn a_file_brings_what_it_lies_on_and_no_addresses() {
        let ids = |layout| {
            let part = part(&map(), &info(layout));
            assert!(part.nodes.iter().all(|node| node.addresses.is_empty()));
            let targets: Vec<u16> = part.targets.iter().map(|target| target.id.0).collect();
            (targets, part.nodes.len(), part.groups.len())
        };
        assert_eq!(ids(None), (vec![1], 1, 0));
        assert_eq!(ids(Some((Pattern::Raid0, 201))), (vec![1, 201], 2, 0));
        assert_eq!(ids(Some((Pattern::Raid0, 3))), (vec![1, 3], 2, 0), "a target's id is not a group's");
        assert_eq!(ids(Some((Pattern::Mirror, 3))), (vec![1, 101, 201], 2, 1));
    }

    #[test]
    fn a_directory_brings_all_that_it_may_use() {
        let info = EntryInfo { pattern: Some(StripePattern::default()), ..info(None) };
        let part = part(&map(), &info);
        assert_eq!((part.targets.len(), part.nodes.len(), part.groups.len()), (4, 3, 1));
        let (again, map): View = codec::decode(&codec::encode::<View>(&(info.clone(), part.clone()))).unwrap();
        assert_eq!((again, map), (info, part));
    }
}
