// SPDX-License-Identifier: Apache-2.0

//! Paths.
//!
//! **Failure model.** Entries come and go while a path is followed: it fails with ENOENT then. Symbolic links may form loops: 40 are
//! followed.

use crate::error::{Error, Result};
use crate::namespace::directories::Directories;
use nyala_wire::{Attr, ErrorCode, FileKind, InodeId};

const MAX_LINKS: usize = 40;

/// Follows a path from the root; symbolic links, in the middle and at the end, only if asked.
pub(crate) async fn resolve(directories: &Directories, root: InodeId, path: &[u8], follow: bool) -> Result<Attr> {
    let mut rest: Vec<Vec<u8>> = parts(path);
    let mut links = 0;
    let mut here = directories.attrs.getattr(root).await?;
    while let Some(part) = rest.pop() {
        if here.kind != FileKind::Directory {
            return Err(Error::refused(ErrorCode::NOT_A_DIRECTORY, "a part of the path is not a directory"));
        }
        if part == b".." && here.inode == root {
            continue;
        }
        if part == b".." {
            let above = directories.namespace.parent(here.inode).await?;
            here = directories.attrs.getattr(above).await?;
            continue;
        }
        let missing = Error::refused(ErrorCode::NOT_FOUND, "there is no such name");
        let next = directories.lookup(here.inode, &part).await?.attr.ok_or(missing)?;
        if next.kind != FileKind::Symlink || !follow {
            here = next;
            continue;
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Error::refused(ErrorCode::LOOP, "too many symbolic links"));
        }
        let target = directories.namespace.readlink(next.inode).await?;
        if target.starts_with(b"/") {
            here = directories.attrs.getattr(root).await?;
        }
        rest.extend(parts(&target));
    }
    Ok(here)
}

/// The parts of a path, last first.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|&byte| byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .rev()
        .map(<[u8]>::to_vec)
        .collect()
}
