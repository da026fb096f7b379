// SPDX-License-Identifier: Apache-2.0

//! Conditions on entries, as flags say them.

use super::filter::Filter;
use super::owners::{gid, uid};
use crate::command::entry_code::EntryPattern;
use crate::command::pool_table::named;
use crate::exit::Failure;
use crate::units::{Size, Span};
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::{FileKind, GroupId, NodeId, Pattern, TargetId};
use std::collections::BTreeSet;

/// A kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum EntryKindArg {
    /// Regular files.
    File,
    /// Directories.
    Directory,
    /// Symbolic links.
    Symlink,
    /// Named pipes.
    Fifo,
    /// Sockets.
    Socket,
    /// Character and block devices.
    Device,
}

/// Flags that say which entries are meant: those for which all hold.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Which entries")]
pub struct FilterArgs {
    /// Of one of these kinds
    #[arg(long = "type", value_name = "KIND,…", value_enum, value_delimiter = ',')]
    pub kinds: Vec<EntryKindArg>,
    /// Files that one of these storage targets, by id or alias, has a part of, or would get one; members of mirror groups count
    #[arg(long, value_name = "TARGET,…", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// The same of all storage targets of these nodes, by id or alias
    #[arg(long, value_name = "NODE,…", value_delimiter = ',')]
    pub nodes: Vec<String>,
    /// Files that lie on one of these mirror groups
    #[arg(long, value_name = "GROUP,…", value_delimiter = ',')]
    pub mirror_groups: Vec<GroupId>,
    /// Files with data in this storage pool, by id or alias, and directories that give it to new files
    #[arg(long, value_name = "POOL")]
    pub pool: Option<String>,
    /// Files that are spread so, and directories that give it to new files
    #[arg(long, value_enum)]
    pub pattern: Option<EntryPattern>,
    /// Entries that one of these metadata targets, by id or alias, has
    #[arg(long, value_name = "TARGET,…", value_delimiter = ',')]
    pub meta: Vec<String>,
    /// Files of at least so many bytes
    #[arg(long, value_name = "SIZE")]
    pub min_size: Option<Size>,
    /// Files of at most so many bytes
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<Size>,
    /// Entries of this owner: a number, or a name of this host
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Entries of this group: a number, or a name of this host
    #[arg(long, value_name = "GROUPNAME")]
    pub group: Option<String>,
    /// Content last changed at least so long ago
    #[arg(long, value_name = "TIME")]
    pub older: Option<Span>,
    /// Content last changed at most so long ago
    #[arg(long, value_name = "TIME")]
    pub newer: Option<Span>,
}

impl FilterArgs {
    /// Whether any condition is named.
    pub fn is_any(&self) -> bool {
        *self != FilterArgs::default()
    }

    /// The conditions, with names looked up in the map. `whole`: the map has all there is; else an id that is not in it may be right.
    pub fn filter(&self, map: &ClusterMap, whole: bool) -> Result<Filter, Failure> {
        let some = |list: BTreeSet<TargetId>, named: bool| named.then_some(list);
        let mut on = BTreeSet::new();
        for name in &self.targets {
            on.insert(target(map, TargetKind::Storage, name, whole)?);
        }
        for name in &self.nodes {
            let node = node(map, name)?;
            on.extend(map.targets_of(TargetKind::Storage).filter(|target| target.node == node).map(|target| target.id));
        }
        let servers = self.meta.iter().map(|name| target(map, TargetKind::Meta, name, whole));
        let servers = servers.map(|found| found.map(|id| map.server_on(id).unwrap_or(id))).collect::<Result<_, _>>()?;
        let missing = self.mirror_groups.iter().find(|id| whole && map.group(**id).is_none());
        if let Some(missing) = missing {
            return Err(Failure::failed(format!("there is no mirror group {missing}; see nyala mirror list")));
        }
        let pool = self.pool.as_ref().map(|name| named(map, name)).transpose()?;
        Ok(Filter {
            kinds: (!self.kinds.is_empty()).then(|| self.kinds.iter().flat_map(|kind| kind.kinds()).copied().collect()),
            targets: some(on, !self.targets.is_empty() || !self.nodes.is_empty()),
            groups: (!self.mirror_groups.is_empty()).then(|| self.mirror_groups.iter().copied().collect()),
            pool: pool.map(|pool| pool.id),
            pattern: self.pattern.map(Pattern::from),
            meta: some(servers, !self.meta.is_empty()),
            min_size: self.min_size.map(|size| size.0),
            max_size: self.max_size.map(|size| size.0),
            uid: self.user.as_deref().map(uid).transpose()?,
            gid: self.group.as_deref().map(gid).transpose()?,
            older: self.older.map(|span| span.0),
            newer: self.newer.map(|span| span.0),
        })
    }
}

impl EntryKindArg {
    fn kinds(self) -> &'static [FileKind] {
        match self {
            EntryKindArg::File => &[FileKind::File],
            EntryKindArg::Directory => &[FileKind::Directory],
            EntryKindArg::Symlink => &[FileKind::Symlink],
            EntryKindArg::Fifo => &[FileKind::Fifo],
            EntryKindArg::Socket => &[FileKind::Socket],
            EntryKindArg::Device => &[FileKind::CharDevice, FileKind::BlockDevice],
        }
    }
}

fn target(map: &ClusterMap, kind: TargetKind, name: &str, whole: bool) -> Result<TargetId, Failure> {
    let id = name.parse::<TargetId>().ok();
    let mut all = map.targets_of(kind);
    if let Some(found) = all.find(|target| target.alias == name || Some(target.id) == id) {
        return Ok(found.id);
    }
    let what = if kind == TargetKind::Meta { "metadata" } else { "storage" };
    let missing = || Failure::failed(format!("there is no {what} target {name:?}; see nyala target list"));
    id.filter(|_| !whole).ok_or_else(missing)
}

fn node(map: &ClusterMap, name: &str) -> Result<NodeId, Failure> {
    let id = name.parse::<NodeId>().ok();
    let found = map.nodes.iter().find(|node| node.alias == name || Some(node.id) == id);
    found.map(|node| node.id).ok_or_else(|| Failure::failed(format!("there is no node {name:?}; see nyala node list")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mirror_list::tests::mirrored;

    #[test]
    fn names_and_ids_are_looked_up() {
        let map = mirrored();
        let alias = map.target(TargetId(101)).unwrap().alias.clone();
        let node = map.node_of(TargetId(201)).unwrap().alias.clone();
        let args =
            FilterArgs { targets: vec![alias], nodes: vec![node], user: Some("root".into()), ..FilterArgs::default() };
        let filter = args.filter(&map, true).unwrap();
        assert!(filter.targets.unwrap().is_superset(&[TargetId(101), TargetId(201)].into()));
        assert_eq!(filter.uid, Some(0));
        assert_eq!(FilterArgs::default().filter(&map, true).unwrap(), Filter::default());
        assert!(args.is_any() && !FilterArgs::default().is_any());
    }

    #[test]
    fn what_is_not_there_is_said() {
        let map = mirrored();
        let refused = |args: FilterArgs| args.filter(&map, true).unwrap_err().message;
        let args = FilterArgs::default;
        assert!(refused(FilterArgs { targets: vec!["999".into()], ..args() }).contains("target list"));
        assert!(refused(FilterArgs { nodes: vec!["nobody".into()], ..args() }).contains("node list"));
        assert!(refused(FilterArgs { mirror_groups: vec![GroupId(9)], ..args() }).contains("mirror list"));
        assert!(refused(FilterArgs { pool: Some("none".into()), ..args() }).contains("pool list"));
        assert!(refused(FilterArgs { user: Some("no such user".into()), ..args() }).contains("number"));
        assert!(refused(FilterArgs { group: Some("no such group".into()), ..args() }).contains("number"));
        // A mount says only what concerns an entry.
        let far = FilterArgs { targets: vec!["999".into()], ..args() }.filter(&map, false).unwrap();
        assert_eq!(far.targets.unwrap(), [TargetId(999)].into());
    }
}
