// SPDX-License-Identifier: Apache-2.0

//! A name space as a textbook would write it, to compare the real one with.

use nyala_wire::meta::*;
use nyala_wire::*;
use std::collections::{BTreeMap, BTreeSet};

/// The session of servers themselves.
const LINGERS: u64 = 0;

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub kind: FileKind,
    pub nlink: u32,
    pub size: u64,
    pub inline: Option<(u64, Vec<u8>)>,
    pub children: BTreeMap<Name, InodeId>,
    pub parent: InodeId,
    pub openers: BTreeSet<u64>,
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// It never had a name.
    pub unnamed: bool,
    /// Bytes that it takes on storage.
    pub allocated: u64,
    /// Sessions with a lock of the whole file: none, readers or one writer.
    pub locks: BTreeMap<u64, LockKind>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub nodes: BTreeMap<InodeId, Node>,
}

type Checked = Result<(), ErrorCode>;

impl Node {
    fn grow(&mut self, end: u64) {
        let new = end.saturating_sub(self.size);
        if new > 0 && self.allocated < self.size {
            self.allocated += new;
        } else if new > 0 {
            self.allocated = self.allocated.max(end);
        }
        self.size += new;
    }
}

impl Model {
    pub fn new() -> Model {
        let mut model = Model { nodes: BTreeMap::new() };
        model.nodes.insert(InodeId::ROOT, Model::node(FileKind::Directory, InodeId::ROOT));
        model
    }

    fn node(kind: FileKind, parent: InodeId) -> Node {
        let dir = kind == FileKind::Directory;
        Node {
            kind,
            nlink: if dir { 2 } else { 1 },
            size: 0,
            inline: (kind == FileKind::File).then(|| (0, Vec::new())),
            children: BTreeMap::new(),
            parent,
            openers: BTreeSet::new(),
            xattrs: BTreeMap::new(),
            unnamed: false,
            allocated: 0,
            locks: BTreeMap::new(),
        }
    }

    fn dir(&self, id: InodeId) -> Result<&Node, ErrorCode> {
        let node = self.nodes.get(&id).ok_or(ErrorCode::NOT_FOUND)?;
        if node.kind == FileKind::Directory { Ok(node) } else { Err(ErrorCode::NOT_A_DIRECTORY) }
    }

    fn child(&self, dir: InodeId, name: &Name) -> Result<Option<InodeId>, ErrorCode> {
        Ok(self.dir(dir)?.children.get(name).copied())
    }

    fn get(&mut self, id: InodeId) -> Result<&mut Node, ErrorCode> {
        self.nodes.get_mut(&id).ok_or(ErrorCode::STALE)
    }

    fn add(&mut self, dir: InodeId, name: &Name, id: InodeId) {
        let subdir = self.nodes[&id].kind == FileKind::Directory;
        let parent = self.nodes.get_mut(&dir).unwrap();
        parent.children.insert(name.clone(), id);
        parent.nlink += u32::from(subdir);
        if subdir {
            self.nodes.get_mut(&id).unwrap().parent = dir;
        }
    }

    fn take(&mut self, dir: InodeId, name: &Name) -> InodeId {
        let id = self.nodes.get_mut(&dir).unwrap().children.remove(name).unwrap();
        if self.nodes[&id].kind == FileKind::Directory {
            self.nodes.get_mut(&dir).unwrap().nlink -= 1;
        }
        id
    }

    fn drop_link(&mut self, id: InodeId) {
        let node = self.nodes.get_mut(&id).unwrap();
        if node.kind == FileKind::Directory {
            self.nodes.remove(&id);
            return;
        }
        node.nlink -= 1;
        if node.nlink == 0 && node.openers.is_empty() {
            self.nodes.remove(&id);
        }
    }

    fn below(&self, start: InodeId, forbidden: InodeId) -> bool {
        let mut at = start;
        while at != InodeId::ROOT && at != forbidden {
            at = self.nodes[&at].parent;
        }
        at == forbidden
    }

    /// Says whether the operation succeeds, and does it. `new` is the inode that the real one made.
    pub fn apply(&mut self, session: u64, op: &MetaOp, new: Option<InodeId>) -> Checked {
        match op {
            MetaOp::Create { entry, exclusive } => self.create(session, entry, *exclusive, new),
            MetaOp::Mkdir { entry } => self.make(entry, FileKind::Directory, new).map(|_| ()),
            MetaOp::Symlink { entry, target } => {
                let id = self.make(entry, FileKind::Symlink, new)?;
                if let Some(id) = id {
                    self.get(id)?.size = target.len() as u64;
                }
                Ok(())
            }
            MetaOp::Tmpfile { entry } => {
                self.dir(entry.parent)?;
                let Some(id) = new else { return Ok(()) };
                let openers = BTreeSet::from([session]);
                let node = Node { nlink: 0, unnamed: true, openers, ..Model::node(FileKind::File, entry.parent) };
                assert!(self.nodes.insert(id, node).is_none(), "inode {id} given out twice");
                Ok(())
            }
            MetaOp::SetLock { inode, lock } => {
                let node = self.get(*inode)?;
                let writes = |kind: &LockKind| *kind == LockKind::Write || lock.kind == LockKind::Write;
                match lock.kind {
                    LockKind::Unlock => drop(node.locks.remove(&session)),
                    _ if node.locks.iter().any(|(other, kind)| *other != session && writes(kind)) => {
                        return Err(ErrorCode::AGAIN);
                    }
                    kind => drop(node.locks.insert(session, kind)),
                }
                Ok(())
            }
            MetaOp::Unlink { .. } | MetaOp::Rmdir { .. } | MetaOp::Link { .. } => self.names(op),
            MetaOp::Rename(rename) => self.rename(rename),
            MetaOp::Open { .. } | MetaOp::Close { .. } => self.openers(session, op),
            MetaOp::SetAttr { inode, set } => self.set_size(*inode, set.size),
            MetaOp::PutInline(put) => {
                let node = self.get(put.inode)?;
                if node.kind != FileKind::File {
                    return Err(ErrorCode::INVALID);
                }
                match &mut node.inline {
                    Some((version, data)) if *version == put.base_version => {
                        (*version, *data) = (*version + 1, put.data.to_vec());
                        node.grow(put.data.len() as u64);
                        Ok(())
                    }
                    _ => Err(ErrorCode::INLINE_CONFLICT),
                }
            }
            MetaOp::Commit(commit) => {
                let node = self.get(commit.inode)?;
                match (node.kind, &node.inline) {
                    (FileKind::File, Some((version, _))) if commit.spilled == Some(*version) => node.inline = None,
                    (FileKind::File, None) if commit.spilled.is_none() => {}
                    (FileKind::File, _) => return Err(ErrorCode::INLINE_CONFLICT),
                    _ => return Err(ErrorCode::INVALID),
                }
                node.grow(commit.end.unwrap());
                node.allocated = commit.allocated.unwrap_or(node.allocated);
                Ok(())
            }
            MetaOp::SetXattr { inode, name, value, .. } => {
                self.get(*inode)?.xattrs.insert(name.to_vec(), value.to_vec());
                Ok(())
            }
            MetaOp::RemoveXattr { inode, name } => {
                self.get(*inode)?.xattrs.remove(&name.to_vec()).map(|_| ()).ok_or(ErrorCode::NO_DATA)
            }
            other => panic!("not modelled: {other:?}"),
        }
    }

    fn names(&mut self, op: &MetaOp) -> Checked {
        match op {
            MetaOp::Unlink { parent, name } => {
                let id = self.child(*parent, name)?.ok_or(ErrorCode::NOT_FOUND)?;
                if self.nodes[&id].kind == FileKind::Directory {
                    return Err(ErrorCode::IS_A_DIRECTORY);
                }
                self.take(*parent, name);
                self.drop_link(id);
                Ok(())
            }
            MetaOp::Rmdir { parent, name } => {
                let id = self.child(*parent, name)?.ok_or(ErrorCode::NOT_FOUND)?;
                if !self.dir(id)?.children.is_empty() {
                    return Err(ErrorCode::NOT_EMPTY);
                }
                self.take(*parent, name);
                self.drop_link(id);
                Ok(())
            }
            MetaOp::Link { inode, parent, name } => {
                if self.child(*parent, name)?.is_some() {
                    return Err(ErrorCode::EXISTS);
                }
                let linkable = |node: &&mut Node| node.nlink > 0 || node.unnamed;
                let node = self.nodes.get_mut(inode).filter(linkable).ok_or(ErrorCode::NOT_FOUND)?;
                if node.kind == FileKind::Directory {
                    return Err(ErrorCode::NOT_PERMITTED);
                }
                node.nlink += 1;
                node.unnamed = false;
                self.add(*parent, name, *inode);
                Ok(())
            }
            other => panic!("not modelled: {other:?}"),
        }
    }

    /// Every file with locks and their holders.
    pub fn locks(&self) -> impl Iterator<Item = (InodeId, u64)> {
        self.nodes.iter().flat_map(|(id, node)| node.locks.keys().map(|session| (*id, *session)))
    }

    fn openers(&mut self, session: u64, op: &MetaOp) -> Checked {
        match op {
            MetaOp::Open { inode } => {
                let node = self.get(*inode)?;
                match node.kind {
                    FileKind::File => drop(node.openers.insert(session)),
                    FileKind::Directory => return Err(ErrorCode::IS_A_DIRECTORY),
                    _ => return Err(ErrorCode::INVALID),
                }
                Ok(())
            }
            MetaOp::Close { inode } => {
                let Some(node) = self.nodes.get_mut(inode) else { return Ok(()) };
                if node.openers.remove(&session) && node.nlink == 0 && node.openers.is_empty() {
                    self.nodes.remove(inode);
                }
                Ok(())
            }
            other => panic!("not modelled: {other:?}"),
        }
    }

    fn create(&mut self, session: u64, entry: &NewEntry, exclusive: bool, new: Option<InodeId>) -> Checked {
        match self.child(entry.parent, &entry.name)? {
            Some(_) if exclusive => return Err(ErrorCode::EXISTS),
            Some(id) => {
                let node = self.get(id)?;
                if node.kind == FileKind::File {
                    node.openers.insert(session);
                }
            }
            None => {
                if let Some(id) = self.make(entry, FileKind::File, new)? {
                    self.get(id)?.openers.insert(session);
                }
            }
        }
        Ok(())
    }

    fn make(&mut self, entry: &NewEntry, kind: FileKind, new: Option<InodeId>) -> Result<Option<InodeId>, ErrorCode> {
        if self.child(entry.parent, &entry.name)?.is_some() {
            return Err(ErrorCode::EXISTS);
        }
        let Some(id) = new else { return Ok(None) };
        assert!(!self.nodes.contains_key(&id), "inode {id} given out twice");
        self.nodes.insert(id, Model::node(kind, entry.parent));
        self.add(entry.parent, &entry.name, id);
        Ok(Some(id))
    }

    fn set_size(&mut self, inode: InodeId, size: Option<u64>) -> Checked {
        let node = self.get(inode)?;
        let Some(size) = size else { return Ok(()) };
        match node.kind {
            FileKind::File => {}
            FileKind::Directory => return Err(ErrorCode::IS_A_DIRECTORY),
            _ => return Err(ErrorCode::INVALID),
        }
        node.size = size;
        node.allocated = node.allocated.min(size);
        if let Some((version, data)) = &mut node.inline {
            *version += 1;
            data.truncate(usize::try_from(size).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    fn rename(&mut self, r: &Rename) -> Checked {
        let from = self.child(r.from_parent, &r.from_name)?.ok_or(ErrorCode::NOT_FOUND)?;
        let to = self.child(r.to_parent, &r.to_name)?;
        let is_dir = |id: InodeId| self.nodes[&id].kind == FileKind::Directory;
        match to {
            Some(_) if r.no_replace => return Err(ErrorCode::EXISTS),
            None if r.exchange => return Err(ErrorCode::NOT_FOUND),
            Some(to) if to == from => return Ok(()),
            Some(to) if !r.exchange && is_dir(from) && !is_dir(to) => return Err(ErrorCode::NOT_A_DIRECTORY),
            Some(to) if !r.exchange && !is_dir(from) && is_dir(to) => return Err(ErrorCode::IS_A_DIRECTORY),
            _ => {}
        }
        if r.from_parent != r.to_parent {
            if is_dir(from) && self.below(r.to_parent, from) {
                return Err(ErrorCode::INVALID);
            }
            if let Some(to) = to.filter(|to| is_dir(*to) && (r.exchange || is_dir(from)))
                && self.below(r.from_parent, to)
            {
                return Err(if r.exchange { ErrorCode::INVALID } else { ErrorCode::NOT_EMPTY });
            }
        }
        if let Some(to) = to.filter(|to| !r.exchange && is_dir(*to))
            && !self.nodes[&to].children.is_empty()
        {
            return Err(ErrorCode::NOT_EMPTY);
        }
        self.take(r.from_parent, &r.from_name);
        if let Some(to) = to {
            self.take(r.to_parent, &r.to_name);
            if r.exchange {
                self.add(r.from_parent, &r.from_name, to);
            } else {
                // A file stays for a moment: its server has it open.
                self.nodes.get_mut(&to).unwrap().openers.insert(LINGERS);
                self.drop_link(to);
                if let Some(node) = self.nodes.get_mut(&to).filter(|node| node.nlink > 0) {
                    node.openers.remove(&LINGERS);
                }
            }
        }
        self.add(r.to_parent, &r.to_name, from);
        Ok(())
    }
}
