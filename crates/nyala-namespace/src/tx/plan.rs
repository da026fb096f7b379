// SPDX-License-Identifier: Apache-2.0

//! What an operation over several servers consists of. Pure.

use nyala_wire::meta::{EntryReply, MetaReply, NewEntry, Rename};
use nyala_wire::meta_tx::{PartResult, TxPart};
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, WireError};

/// An operation over several servers.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Make a directory whose inode is elsewhere.
    Mkdir {
        /// The new entry.
        entry: NewEntry,
        /// The inode's part.
        part: TxPart,
    },
    /// Remove a name whose inode is elsewhere.
    Remove {
        /// Directory of the name.
        parent: InodeId,
        /// The name.
        name: Name,
        /// The inode.
        inode: InodeId,
        /// What it is.
        kind: FileKind,
    },
    /// Make another name for an inode that is elsewhere.
    Link {
        /// The inode.
        inode: InodeId,
        /// Directory of the new name.
        parent: InodeId,
        /// The new name.
        name: Name,
    },
    /// Rename.
    Rename(Rename),
}

/// What stands under a name: inode and kind.
pub type Found = (InodeId, FileKind);

impl Plan {
    /// The parts of an operation whose parts are known from the start; a rename's come from [`rename_parts`]. The last
    /// part of `Mkdir` and `Link` depends on the first one's result, see [`Plan::entry_part`].
    pub fn first_parts(&self) -> Vec<TxPart> {
        match self {
            Plan::Mkdir { part, .. } => vec![part.clone()],
            Plan::Link { inode, .. } => vec![TxPart::LinkCount { inode: *inode, delta: 1 }],
            Plan::Remove { parent, name, inode, kind } => vec![
                match kind {
                    FileKind::Directory => TxPart::RemoveDir { inode: *inode },
                    _ => TxPart::LinkCount { inode: *inode, delta: -1 },
                },
                TxPart::RemoveEntry { dir: *parent, name: name.clone(), inode: *inode },
            ],
            Plan::Rename(_) => Vec::new(),
        }
    }

    /// The entry that a `Mkdir` or `Link` makes, once it is known which inode it is for.
    pub fn entry_part(&self, result: &PartResult) -> Option<TxPart> {
        let PartResult::Attr(attr) = result else { return None };
        let (parent, name) = match self {
            Plan::Mkdir { entry, .. } => (entry.parent, &entry.name),
            Plan::Link { parent, name, .. } => (*parent, name),
            Plan::Remove { .. } | Plan::Rename(_) => return None,
        };
        let (inode, kind) = (attr.inode, attr.kind);
        Some(TxPart::PutEntry { dir: parent, name: name.clone(), inode, kind, replaces: None })
    }

    /// The reply to the client, from the first part's result.
    pub fn reply(&self, first: Option<&PartResult>) -> MetaReply {
        match (self, first) {
            (Plan::Mkdir { .. } | Plan::Link { .. }, Some(PartResult::Attr(attr))) => {
                let (inode, kind) = (attr.inode, attr.kind);
                MetaReply::Entry(EntryReply { inode, kind, attr: Some(attr.clone()) })
            }
            _ => MetaReply::Done,
        }
    }
}

/// Whether a rename takes a directory out of one directory and puts it into another, which may make a loop.
pub fn moves_directory(rename: &Rename, from: Found, to: Option<Found>) -> bool {
    let to_dir = rename.exchange && to.is_some_and(|(_, kind)| kind == FileKind::Directory);
    rename.from_parent != rename.to_parent && (from.1 == FileKind::Directory || to_dir)
}

/// The parts of a rename of `from` to a name under which `to` stands now. `None` if there is nothing to do: both names
/// are of the same inode. Refuses what POSIX (rename) and Linux (renameat2) refuse.
pub fn rename_parts(rename: &Rename, from: Found, to: Option<Found>) -> Result<Option<Vec<TxPart>>, WireError> {
    let is_dir = |found: Found| found.1 == FileKind::Directory;
    if to.is_some() && rename.no_replace {
        return Err(ErrorCode::EXISTS.into());
    }
    if to.is_none() && rename.exchange {
        return Err(ErrorCode::NOT_FOUND.into());
    }
    if to.is_some_and(|to| to.0 == from.0) {
        return Ok(None);
    }
    let put = |dir, name: &Name, found: Found, replaces: Option<Found>| TxPart::PutEntry {
        dir,
        name: name.clone(),
        inode: found.0,
        kind: found.1,
        replaces: replaces.map(|found| found.0),
    };
    let moved = |found: Found, parent| match is_dir(found) && rename.from_parent != rename.to_parent {
        true => TxPart::SetParent { inode: found.0, parent },
        false => TxPart::LinkCount { inode: found.0, delta: 0 },
    };
    let mut parts = Vec::with_capacity(4);
    if let Some(to) = to {
        if rename.exchange {
            parts.push(put(rename.to_parent, &rename.to_name, from, Some(to)));
            parts.push(put(rename.from_parent, &rename.from_name, to, Some(from)));
            parts.push(moved(from, rename.to_parent));
            parts.push(moved(to, rename.from_parent));
            return Ok(Some(parts));
        }
        match (is_dir(from), is_dir(to)) {
            (true, false) => return Err(ErrorCode::NOT_A_DIRECTORY.into()),
            (false, true) => return Err(ErrorCode::IS_A_DIRECTORY.into()),
            (true, true) => parts.push(TxPart::RemoveDir { inode: to.0 }),
            (false, false) => parts.push(TxPart::LinkCount { inode: to.0, delta: -1 }),
        }
    }
    parts.push(put(rename.to_parent, &rename.to_name, from, to));
    let (dir, name) = (rename.from_parent, rename.from_name.clone());
    parts.push(TxPart::RemoveEntry { dir, name, inode: from.0 });
    parts.push(moved(from, rename.to_parent));
    Ok(Some(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(exchange: bool, no_replace: bool) -> Rename {
        let name = |text: &str| Name::new(text.as_bytes()).unwrap();
        Rename {
            from_parent: InodeId(1),
            from_name: name("a"),
            to_parent: InodeId(2),
            to_name: name("b"),
            no_replace,
            exchange,
        }
    }

    #[test]
    fn what_is_refused() {
        let (file, dir) = ((InodeId(5), FileKind::File), (InodeId(6), FileKind::Directory));
        let code = |rename: &Rename, from, to| rename_parts(rename, from, to).unwrap_err().code;
        assert_eq!(code(&rename(false, false), file, Some(dir)), ErrorCode::IS_A_DIRECTORY);
        assert_eq!(code(&rename(false, false), dir, Some(file)), ErrorCode::NOT_A_DIRECTORY);
        assert_eq!(code(&rename(false, true), file, Some(file)), ErrorCode::EXISTS);
        assert_eq!(code(&rename(true, false), file, None), ErrorCode::NOT_FOUND);
        assert_eq!(rename_parts(&rename(false, false), file, Some(file)).unwrap(), None);
    }

    #[test]
    fn directories_that_move_get_a_new_parent() {
        let dir = (InodeId(6), FileKind::Directory);
        assert!(moves_directory(&rename(false, false), dir, None));
        let parts = rename_parts(&rename(false, false), dir, None).unwrap().unwrap();
        assert!(parts.contains(&TxPart::SetParent { inode: InodeId(6), parent: InodeId(2) }));
        let same = Rename { to_parent: InodeId(1), ..rename(false, false) };
        assert!(!moves_directory(&same, dir, None));
    }
}
