// SPDX-License-Identifier: Apache-2.0

//! Names as the kernel gives them, of a mount. Failure model: see the parent module.

use crate::exit::{Failure, io};
use nyala_wire::{FileKind, InodeId};
use std::fs::{DirEntry, FileType, metadata, symlink_metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A name that is found on the way.
#[derive(Clone, Debug)]
pub struct Named {
    /// From where the walk began.
    pub path: PathBuf,
    /// Its inode.
    pub inode: InodeId,
    /// What it is.
    pub kind: FileKind,
}

/// What lies at a path of a mount; `follow`: where a link there leads to.
pub fn at(path: &Path, mountpoint: &Path, follow: bool) -> Result<Named, Failure> {
    let found = if follow { metadata(path) } else { symlink_metadata(path) };
    let found = found.map_err(io(format!("cannot look at {}", path.display())))?;
    let root = symlink_metadata(mountpoint).map_err(io("cannot look at the mount"))?;
    if found.dev() != root.dev() {
        return Err(Failure::failed("it is on another file system that is mounted there"));
    }
    Ok(Named { path: path.to_owned(), inode: InodeId(found.ino()), kind: kind_of(found.file_type()) })
}

/// A name that the kernel gives. `None`: it is gone, or another file system is mounted there.
pub fn in_mount(entry: std::io::Result<DirEntry>, device: u64) -> Result<Option<Named>, Failure> {
    let path = entry.map_err(io("cannot list it"))?.path();
    match symlink_metadata(&path) {
        Ok(at) if at.dev() == device => {
            Ok(Some(Named { inode: InodeId(at.ino()), kind: kind_of(at.file_type()), path }))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::failed(error.to_string()).context(path.display())),
    }
}

/// What the kernel says that it is.
fn kind_of(kind: FileType) -> FileKind {
    match kind {
        kind if kind.is_dir() => FileKind::Directory,
        kind if kind.is_symlink() => FileKind::Symlink,
        kind if kind.is_fifo() => FileKind::Fifo,
        kind if kind.is_socket() => FileKind::Socket,
        kind if kind.is_char_device() => FileKind::CharDevice,
        kind if kind.is_block_device() => FileKind::BlockDevice,
        _ => FileKind::File,
    }
}
