// SPDX-License-Identifier: Apache-2.0

//! The parts of a rename. Pure.

use super::plan::Found;
use nyala_wire::meta::Rename;
use nyala_wire::meta_tx::TxPart;
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, WireError};

/// The directories that a rename is from and to, not their fragments.
pub type Dirs = (InodeId, InodeId);

/// Whether a rename takes a directory out of one directory and puts it into another, which may make a loop.
///
/// `dirs`: from which and to which, whatever fragments the names are in.
pub fn moves_directory(rename: &Rename, dirs: Dirs, from: Found, to: Option<Found>) -> bool {
    let to_dir = rename.exchange && to.is_some_and(|(_, kind)| kind == FileKind::Directory);
    dirs.0 != dirs.1 && (from.1 == FileKind::Directory || to_dir)
}

/// The parts of a rename of `from` to a name under which `to` stands now. `None` if there is nothing to do: both names
/// are of the same inode. Refuses what POSIX (rename) and Linux (renameat2) refuse.
pub fn rename_parts(
    rename: &Rename,
    dirs: Dirs,
    from: Found,
    to: Option<Found>,
) -> Result<Option<Vec<TxPart>>, WireError> {
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
    let moved = |found: Found, parent| match is_dir(found) && dirs.0 != dirs.1 {
        true => TxPart::SetParent { inode: found.0, parent },
        false => TxPart::LinkCount { inode: found.0, delta: 0 },
    };
    let mut parts = Vec::with_capacity(4);
    if let Some(to) = to {
        if rename.exchange {
            parts.push(put(rename.to_parent, &rename.to_name, from, Some(to)));
            parts.push(put(rename.from_parent, &rename.from_name, to, Some(from)));
            parts.push(moved(from, dirs.1));
            parts.push(moved(to, dirs.0));
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
    parts.push(moved(from, dirs.1));
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
        let dirs = (InodeId(1), InodeId(2));
        let code = |rename: &Rename, from, to| rename_parts(rename, dirs, from, to).unwrap_err().code;
        assert_eq!(code(&rename(false, false), file, Some(dir)), ErrorCode::IS_A_DIRECTORY);
        assert_eq!(code(&rename(false, false), dir, Some(file)), ErrorCode::NOT_A_DIRECTORY);
        assert_eq!(code(&rename(false, true), file, Some(file)), ErrorCode::EXISTS);
        assert_eq!(code(&rename(true, false), file, None), ErrorCode::NOT_FOUND);
        assert_eq!(rename_parts(&rename(false, false), dirs, file, Some(file)).unwrap(), None);
    }

    #[test]
    fn directories_that_move_get_a_new_parent() {
        let dir = (InodeId(6), FileKind::Directory);
        let dirs = (InodeId(1), InodeId(2));
        assert!(moves_directory(&rename(false, false), dirs, dir, None));
        let parts = rename_parts(&rename(false, false), dirs, dir, None).unwrap().unwrap();
        assert!(parts.contains(&TxPart::SetParent { inode: InodeId(6), parent: InodeId(2) }));
        // Also if the names are in two fragments of it.
        assert!(!moves_directory(&rename(false, false), (InodeId(1), InodeId(1)), dir, None));
    }
}
