// SPDX-License-Identifier: Apache-2.0

//! What must hold: at any moment for an observer, and in the tables once everything is quiet.

use crate::fragments;
use crate::node::Node;
use crate::world::World;
use nyala_namespace::change::{Change, Fault};
use nyala_namespace::keys;
use nyala_namespace::locks::Locks;
use nyala_namespace::ns::deferred_unlink;
use nyala_namespace::records::{EntryRecord, InodeRecord};
use nyala_namespace::view::{MemView, View};
use nyala_wire::meta::MetaOp;
use nyala_wire::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// All inodes of all servers.
pub fn inodes(world: &World) -> BTreeMap<InodeId, InodeRecord> {
    all_rows(world, keys::INODE)
        .into_iter()
        .map(|(key, value)| (keys::parse_inode(&key).unwrap(), codec::decode(&value).unwrap()))
        .collect()
}

/// The rows of a table, of each slot at the server that the map names.
fn all_rows(world: &World, tag: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mine = |node: &Node, key: &[u8]| world.map.slot_target(keys::parse_slot(key).unwrap()) == Some(node.me);
    let of =
        |node: &Node| rows(&node.tables.view(), tag).into_iter().filter(|(key, _)| mine(node, key)).collect::<Vec<_>>();
    world.nodes.iter().flat_map(of).collect()
}

/// All entries of all servers, by directory.
fn entries(world: &World) -> BTreeMap<InodeId, Vec<EntryRecord>> {
    let mut found: BTreeMap<InodeId, Vec<EntryRecord>> = BTreeMap::new();
    for (key, value) in all_rows(world, keys::ENTRY) {
        let dir = InodeId(u64::from_be_bytes(key[1..9].try_into().unwrap()));
        found.entry(dir).or_default().push(codec::decode(&value).unwrap());
    }
    found
}

/// What an observer sees under a name now: `None` if it has to wait.
fn look(world: &World, dir: InodeId, name: &Name) -> Option<bool> {
    let (node, locks) = ready(world, dir)?;
    let fragments = match Change::new(&node.tables, locks, None).dir(dir) {
        Ok((_, part)) => part.fragments().to_vec(),
        Err(Fault::Blocked) => return None,
        Err(other) => panic!("{other:?}"),
    };
    let dir = nyala_wire::fragments::holder(dir, &fragments, keys::cookie(dir, name.as_bytes()));
    let (node, locks) = ready(world, dir)?;
    match Change::new(&node.tables, locks, None).find_entry(dir, name) {
        Ok(found) => Some(found.is_some()),
        Err(Fault::Blocked) => None,
        Err(other) => panic!("{other:?}"),
    }
}

/// The server of a directory, if it would answer.
fn ready(world: &World, dir: InodeId) -> Option<(&Node, &Locks)> {
    let target = world.map.slot_target(dir.slot()).unwrap();
    let node = &world.nodes[usize::from(target.0) - 1];
    let locks =
        node.locks().filter(|_| node.answers() && node.serves(dir.slot())).filter(|locks| !locks.pinned(dir, None))?;
    Some((node, locks))
}

/// A client's own file has one name, old or new, for whoever does not have to wait.
pub fn never_both_never_neither(world: &World) {
    for client in &world.clients {
        let old = &client.file;
        let new = match &client.request {
            Some(_) => match &client.wish {
                Some(MetaOp::Rename(rename)) if rename.from_name == old.1 => {
                    Some((rename.to_parent, rename.to_name.clone()))
                }
                _ => None,
            },
            None => None,
        };
        let Some(at_old) = look(world, old.0, &old.1) else { continue };
        let at_new = match new.filter(|new| new != old) {
            None => Some(false),
            Some((dir, name)) => look(world, dir, &name),
        };
        if let Some(at_new) = at_new {
            assert!(at_old != at_new, "{}: old name {at_old}, new name {at_new}", client.session);
        }
    }
}

/// The tables of all servers are one tree, and nothing else is in them.
pub fn one_tree(world: &World) {
    let (inodes, mut entries) = (inodes(world), entries(world));
    let mut links: BTreeMap<InodeId, u32> = BTreeMap::new();
    let mut todo = vec![(InodeId::ROOT, InodeId::ROOT)];
    while let Some((dir, parent)) = todo.pop() {
        assert!(links.insert(dir, 1).is_none(), "directory {dir} has two names");
        let record = inodes.get(&dir).unwrap_or_else(|| panic!("directory {dir} is missing"));
        let part = record.dir.as_ref().expect("a directory");
        assert_eq!(part.parent, parent, "above {dir}");
        let list = fragments::names(&inodes, &mut entries, dir);
        links.extend(part.fragments().iter().map(|fragment| (fragment.inode, 1)));
        for entry in list {
            if entry.kind == FileKind::Directory {
                todo.push((entry.inode, dir));
            } else {
                let file = inodes.get(&entry.inode).unwrap_or_else(|| panic!("{entry:?} in {dir} dangles"));
                assert_eq!(file.kind, entry.kind);
                *links.entry(entry.inode).or_default() += 1;
            }
        }
    }
    let above = |dir: &InodeId| inodes.get(dir).and_then(|record| record.dir.as_ref()).map(|part| part.parent);
    let cut_off: Vec<_> = entries.iter().map(|(dir, list)| (dir, above(dir), list)).collect();
    assert!(cut_off.is_empty(), "directories, and what is above them, that are not in the tree: {cut_off:?}");
    for (inode, record) in &inodes {
        // A file that was replaced stays for a moment.
        if record.nlink == 0 && lingers(world, *inode) {
            continue;
        }
        let names = links.get(inode).unwrap_or_else(|| panic!("{inode} has no name: {record:?}"));
        assert!(record.dir.is_some() || record.nlink == *names, "{inode}: {names} names, {record:?}");
    }
    for node in &world.nodes {
        let count = node.tables.get(&keys::inode_count()).unwrap().unwrap();
        let count = u64::from_le_bytes(count[..].try_into().unwrap());
        assert_eq!(count, rows(&node.tables.view(), keys::INODE).len() as u64, "number of inodes of {}", node.me);
    }
}

/// Whether its server holds it open.
fn lingers(world: &World, inode: InodeId) -> bool {
    let key = keys::open(inode, deferred_unlink::HOLDER);
    world.nodes.iter().any(|node| node.tables.get(&key).unwrap().is_some())
}

/// Each client's file is where its client left it.
pub fn own_files(world: &World) {
    for client in &world.clients {
        let found = look(world, client.file.0, &client.file.1);
        assert!(found == Some(true), "{}: {found:?} at {:?}", client.session, client.file);
    }
    for n in 0..world.clients.len() as u64 {
        let inode = InodeId::new(Slot((n % 3) as u16), 10 + n).unwrap();
        assert!(inodes(world).contains_key(&inode), "the file of client {n} is lost");
    }
}

/// The rows of a table.
pub fn rows(view: &MemView, tag: u8) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    view.scan(&[tag], &[tag + 1], &mut |key, value| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}
