// SPDX-License-Identifier: Apache-2.0

//! A drive's files in a directory of a file system.

use crate::drive_files::DriveFiles;
use crate::unsynced::Unsynced;
use nyala_raid::ObjectId;
use parking_lot::Mutex;
use rustix::fs::{self, FallocateFlags, Mode, OFlags};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that are kept open.
const MOST_OPEN: usize = 1024;

/// Files in a directory of a file system of this machine.
pub struct OsFiles {
    path: PathBuf,
    dir: OwnedFd,
    open: Mutex<HashMap<ObjectId, Arc<File>>>,
    unsynced: Unsynced,
}

/// Where the strips of an object lie, below the directory of all.
pub(crate) fn path_of(object: ObjectId) -> String {
    let name = format!("{:032x}", object.0);
    format!("{}/{name}", &name[30..])
}

impl OsFiles {
    /// Those under `dir`, which exists. It stays open: a failed write-back is reported to the next sync.
    pub fn open(dir: &Path) -> io::Result<OsFiles> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let (open, unsynced) = (Mutex::default(), Unsynced::default());
        Ok(OsFiles { path: dir.to_owned(), dir: fs::open(dir, flags, Mode::empty())?, open, unsynced })
    }

    fn file(&self, object: ObjectId, create: bool) -> io::Result<Option<Arc<File>>> {
        let mut open = self.open.lock();
        if let Some(file) = open.get(&object) {
            return Ok(Some(file.clone()));
        }
        let path = path_of(object);
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = match fs::openat(&self.dir, path.as_str(), flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) if !create => return Ok(None),
            Err(rustix::io::Errno::NOENT) => {
                match fs::mkdirat(&self.dir, &path[..2], Mode::from_raw_mode(0o700)) {
                    Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                let made = fs::openat(&self.dir, path.as_str(), flags | OFlags::CREATE, Mode::from_raw_mode(0o600))?;
                self.unsynced.names_changed();
                made
            }
            opened => opened?,
        };
        if open.len() >= MOST_OPEN {
            open.clear();
        }
        let file = Arc::new(File::from(fd));
        open.insert(object, file.clone());
        Ok(Some(file))
    }
}

impl DriveFiles for OsFiles {
    fn read(&self, object: ObjectId, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        if let Some(file) = self.file(object, false)? {
            while done < buffer.len() {
                match file.read_at(&mut buffer[done..], offset + done as u64) {
                    Ok(0) => break,
                    Ok(read) => done += read,
                    Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                    Err(_) => {}
                }
            }
        }
        buffer[done..].fill(0);
        Ok(())
    }

    fn write(&self, object: ObjectId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.file(object, true)?.ok_or(io::ErrorKind::NotFound)?;
        let written = file.write_all_at(bytes, offset);
        self.unsynced.changed(object, &file);
        written
    }

    fn discard(&self, object: ObjectId, offset: u64, len: Option<u64>) -> io::Result<()> {
        let Some(file) = self.file(object, false)? else { return Ok(()) };
        match len {
            None if offset == 0 => {
                self.open.lock().remove(&object);
                let removed = fs::unlinkat(&self.dir, path_of(object).as_str(), fs::AtFlags::empty());
                self.unsynced.removed(object);
                match removed {
                    Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            None if file.metadata()?.len() > offset => {
                let cut = file.set_len(offset);
                self.unsynced.changed(object, &file);
                cut
            }
            None => Ok(()),
            Some(len) => {
                let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                let punched = fs::fallocate(&*file, punch, offset, len);
                self.unsynced.changed(object, &file);
                match punched {
                    // It only frees space: what is there has no meaning any more.
                    Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self.unsynced.take() {
            Some(files) => files.values().try_for_each(|file| file.sync_data()),
            None => Ok(fs::syncfs(&self.dir)?),
        }
    }

    fn is_there(&self) -> bool {
        let (Ok(here), Ok(there)) = (fs::fstat(&self.dir), fs::stat(&self.path)) else { return false };
        (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
    }

    fn space(&self) -> io::Result<Option<(u64, u64)>> {
        let stat = fs::fstatvfs(&self.dir)?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Ok(Some((bytes(stat.f_blocks), bytes(stat.f_bavail))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sparse_and_go_away() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = OsFiles::open(dir.path()).expect("it is there");
        let object = ObjectId(0xabcd);
        let read = |offset, len| {
            let mut buffer = vec![9; len];
            files.read(object, offset, &mut buffer).expect("it can be read");
            buffer
        };
        assert_eq!(read(0, 5), [0; 5], "no file is zeros");
        files.write(object, 8192, b"hello").expect("it can be written");
        assert_eq!((read(8192, 8), read(0, 3)), (b"hello\0\0\0".to_vec(), vec![0; 3]));
        assert!(dir.path().join(path_of(object)).ends_with("cd/0000000000000000000000000000abcd"));
        files.discard(object, 8194, None).expect("the end goes");
        assert_eq!(read(8192, 4), b"he\0\0");
        files.discard(object, 0, None).expect("all goes");
        assert!(!dir.path().join(path_of(object)).exists());
        assert_eq!(read(8192, 2), [0; 2]);
    }
}
