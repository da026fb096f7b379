// SPDX-License-Identifier: Apache-2.0

//! Chunk files on a local file system: `chunks/<aa>/<bb>/<inode>.<index>`.
//!
//! **Failure model.** Directories are made when they are first needed, so a crash may leave empty ones. They stay when their last
//! file goes, unless inodes are scarce: then others may remove one just when a file is to be made in it, which makes it
//! again. A new file's name is durable only after its directories were synced. Somebody may put other things there or remove files:
//! only regular files are opened, links are not followed.

use super::direct;
use super::disk::{ChunkDisk, ChunkFile, Opened};
use nyala_wire::checksum::crc32c;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use parking_lot::Mutex;
use rustix::fs::{self, FallocateFlags, Mode, OFlags};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Writes from this length on leave the page cache as soon as they are on disk.
const STREAMING_BYTES: usize = 256 << 10;
/// `RWF_DONTCACHE` of Linux 6.14 and later.
const RWF_DONTCACHE: libc::c_int = 0x80;
/// A directory that is removed so often just before a file is made in it was not removed by us.
const MAKE_TRIES: usize = 100;
/// Types of file systems that have no disk.
const TMPFS: i64 = 0x0102_1994;
const RAMFS: i64 = 0x8584_58f6;

/// The chunk files in one directory.
pub struct OsDisk {
    root: PathBuf,
    dir: OwnedFd,
    dontcache: Arc<AtomicBool>,
    memory: bool,
    /// Directories whose own entries are known to be durable.
    durable_dirs: Mutex<HashSet<[u8; 2]>>,
}

pub(super) struct OsFile {
    pub(super) fd: OwnedFd,
    /// Opened again past the page cache, when first needed; none where the file system has no such way.
    pub(super) direct: OnceLock<Option<OwnedFd>>,
    dontcache: Arc<AtomicBool>,
    /// There is no disk behind it.
    memory: bool,
}

/// The two directory names of a chunk file: lowest and second lowest byte of the CRC-32C of the inode number's eight
/// little-endian bytes.
pub fn directory_of(file: ChunkFileId) -> [u8; 2] {
    let crc = crc32c(&file.inode.0.to_le_bytes()).to_le_bytes();
    [crc[0], crc[1]]
}

/// Path of a chunk file below `chunks/`.
pub fn path_of(file: ChunkFileId) -> String {
    let [first, second] = directory_of(file);
    format!("{first:02x}/{second:02x}/{}.{}", file.inode, file.index)
}

impl OsDisk {
    /// Opens the `chunks` directory, which must exist.
    pub fn open(root: &Path) -> io::Result<OsDisk> {
        let dir = fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let dontcache = Arc::new(AtomicBool::new(true));
        let memory = [TMPFS, RAMFS].contains(&fs::fstatfs(&dir)?.f_type);
        Ok(OsDisk { root: root.to_owned(), dir, dontcache, memory, durable_dirs: Mutex::default() })
    }

    fn sync_dir(&self, relative: &str) -> io::Result<()> {
        match File::open(self.root.join(relative)) {
            // A sync must not fail for that; this one needs no descriptor.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => self.sync_all(),
            // Its last file was removed meanwhile, and it with that.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            opened => opened?.sync_all(),
        }
    }

    /// Fewer than half of the inodes are left. Directories are up to 65,792 of them; file systems that do not count theirs have enough.
    fn is_short_of_inodes(&self) -> bool {
        fs::fstatvfs(&self.dir).is_ok_and(|stat| stat.f_favail < stat.f_files / 2)
    }

    /// Removes the directory that a chunk file was in, if nothing else is there.
    fn remove_empty_dir(&self, file: ChunkFileId) {
        let names = directory_of(file);
        // Whoever makes it again has to sync its name again.
        let mut durable = self.durable_dirs.lock();
        let path = format!("{:02x}/{:02x}", names[0], names[1]);
        if fs::unlinkat(&self.dir, path.as_str(), fs::AtFlags::REMOVEDIR).is_ok() {
            durable.remove(&names);
        }
    }

    fn make_dirs(&self, file: ChunkFileId) -> io::Result<()> {
        let [first, second] = directory_of(file);
        for name in [format!("{first:02x}"), format!("{first:02x}/{second:02x}")] {
            match fs::mkdirat(&self.dir, name.as_str(), Mode::from_raw_mode(0o700)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

impl ChunkDisk for OsDisk {
    fn open(&self, file: ChunkFileId, create: bool) -> io::Result<Option<Opened>> {
        let path = path_of(file);
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let opened = |fd, created| {
            let file = Arc::new(OsFile {
                fd,
                direct: OnceLock::new(),
                dontcache: self.dontcache.clone(),
                memory: self.memory,
            });
            Ok(Some(Opened { file, created }))
        };
        match fs::openat(&self.dir, path.as_str(), flags, Mode::empty()) {
            Ok(fd) => return opened(fd, false),
            Err(rustix::io::Errno::NOENT) if !create => return Ok(None),
            Err(rustix::io::Errno::NOENT) => {}
            Err(e) => return Err(e.into()),
        }
        let make = || fs::openat(&self.dir, path.as_str(), flags | OFlags::CREATE, Mode::from_raw_mode(0o600));
        let mut made = make();
        for _ in 0..MAKE_TRIES {
            if !matches!(made, Err(rustix::io::Errno::NOENT)) {
                break;
            }
            self.make_dirs(file)?;
            made = make();
        }
        opened(made?, true)
    }

    fn remove(&self, file: ChunkFileId) -> io::Result<()> {
        match fs::unlinkat(&self.dir, path_of(file).as_str(), fs::AtFlags::empty()) {
            Ok(()) if self.is_short_of_inodes() => self.remove_empty_dir(file),
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    fn sync_dirs(&self, file: ChunkFileId) -> io::Result<()> {
        let names = directory_of(file);
        self.sync_dir(&format!("{:02x}/{:02x}", names[0], names[1]))?;
        if !self.durable_dirs.lock().contains(&names) {
            self.sync_dir(&format!("{:02x}", names[0]))?;
            self.sync_dir(".")?;
            self.durable_dirs.lock().insert(names);
        }
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        Ok(fs::syncfs(&self.dir)?)
    }

    fn is_memory(&self) -> bool {
        self.memory
    }
}

impl ChunkFile for OsFile {
    fn stat(&self) -> io::Result<(u64, u64)> {
        let stat = fs::fstat(&self.fd)?;
        Ok((u64::try_from(stat.st_size).unwrap_or(0), u64::try_from(stat.st_blocks).unwrap_or(0)))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let large = direct::fits(buf.as_ptr(), buf.len(), offset);
        self.read_as(buf, offset, large && !self.is_mostly_cached(offset, buf.len()))
    }

    fn read_from_disk(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_as(buf, offset, true)
    }

    fn read_cached(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        // Such file systems refuse reads that must not wait; and what a ring does for them costs a wake-up.
        if self.memory { self.read_as(buf, offset, false).map(Some) } else { self.read_nowait(buf, offset) }
    }

    fn is_cached(&self, offset: u64, len: usize) -> bool {
        self.cached_pages(offset, len).is_some_and(|pages| pages * BLOCK_BYTES >= len as u64)
    }

    fn is_mostly_cached(&self, offset: u64, len: usize) -> bool {
        self.cached_pages(offset, len).is_some_and(|pages| pages * BLOCK_BYTES * 2 > len as u64)
    }

    fn descriptor(&self, direct: bool) -> Option<BorrowedFd<'_>> {
        if direct { self.direct().map(AsFd::as_fd) } else { Some(self.fd.as_fd()) }
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        if direct::fits(data.as_ptr(), data.len(), offset)
            && let Some(n) = self.write_direct(data, offset)?
        {
            return Ok(n);
        }
        if data.len() >= STREAMING_BYTES && self.dontcache.load(Ordering::Relaxed) {
            match self.write_streaming(data, offset) {
                Err(e) if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL)) => {
                    self.dontcache.store(false, Ordering::Relaxed);
                }
                other => return other,
            }
        }
        Ok(rustix::io::pwrite(&self.fd, data, offset)?)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Ok(fs::ftruncate(&self.fd, len)?)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        match fs::fallocate(&self.fd, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        Ok(fs::fallocate(&self.fd, FallocateFlags::KEEP_SIZE, offset, len)?)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(fs::fdatasync(&self.fd)?)
    }
}

impl OsFile {
    fn read_as(&self, buf: &mut [u8], offset: u64, direct: bool) -> io::Result<usize> {
        let mut done = 0;
        if direct && direct::fits(buf.as_ptr(), buf.len(), offset) {
            done = self.read_direct(buf, offset)?;
        }
        while done < buf.len() {
            match rustix::io::pread(&self.fd, &mut buf[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(done)
    }

    fn write_streaming(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        let iov = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
        let offset = libc::off_t::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
        // SAFETY: one iovec that points into `data`, which outlives the call and is only read.
        let n = unsafe { libc::pwritev2(self.fd.as_raw_fd(), &iov, 1, offset, RWF_DONTCACHE) };
        usize::try_from(n).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;

    #[test]
    fn a_directory_that_goes_with_its_last_file_is_made_again_whoever_removes_it_when() {
        let dir = tempfile::tempdir().unwrap();
        let disk = OsDisk::open(dir.path()).unwrap();
        // Files of one inode share their directory.
        let file = |index| ChunkFileId { inode: InodeId(7), index };
        let path = dir.path().join(path_of(file(0)));
        let inside = path.parent().unwrap();
        let make = |index| {
            assert!(disk.open(file(index), true).unwrap().unwrap().created);
            disk.sync_dirs(file(index)).unwrap();
        };
        make(0);
        disk.remove_empty_dir(file(0));
        assert!(path.exists() && !disk.durable_dirs.lock().is_empty());
        disk.remove(file(0)).unwrap();
        disk.remove_empty_dir(file(0));
        assert!(!inside.exists() && disk.durable_dirs.lock().is_empty());
        disk.sync_dirs(file(0)).expect("nothing is there to sync");
        std::thread::scope(|scope| {
            for index in 0..3 {
                let (disk, make) = (&disk, &make);
                scope.spawn(move || {
                    for _ in 0..300 {
                        make(index);
                        disk.remove(file(index)).unwrap();
                        disk.remove_empty_dir(file(index));
                    }
                });
            }
        });
        assert!(!inside.exists());
    }
}
