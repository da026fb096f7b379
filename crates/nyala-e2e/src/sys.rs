// SPDX-License-Identifier: Apache-2.0

//! The system calls that the checks need and `std` does not have, each with a path in its error.

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path for the kernel.
pub fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("the checks' paths have no NUL")
}

fn done(result: libc::c_int) -> Result<()> {
    if result == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

/// `mknod`.
pub fn mknod(path: &Path, mode: u32) -> Result<()> {
    // SAFETY: the C string lives through the call.
    done(unsafe { libc::mknod(c(path).as_ptr(), mode, 0) })
}

/// `mknod` of a device.
pub fn mkdev(path: &Path, mode: u32, device: u64) -> Result<()> {
    // SAFETY: the C string lives through the call.
    done(unsafe { libc::mknod(c(path).as_ptr(), mode, device) })
}

/// Gives an open file a name, as `linkat` of its `/proc` entry.
pub fn link_open(file: &File, to: &Path) -> Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("a number has no NUL");
    let (here, flags) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both C strings live through the call.
    done(unsafe { libc::linkat(here, from.as_ptr(), here, c(to).as_ptr(), flags) })
}

/// `syncfs`.
pub fn syncfs(file: &File) -> Result<()> {
    // SAFETY: a system call without memory.
    done(unsafe { libc::syncfs(file.as_raw_fd()) })
}

/// `link`, without following a symbolic link.
pub fn link(from: &Path, to: &Path) -> Result<()> {
    // SAFETY: both C strings live through the call.
    done(unsafe { libc::link(c(from).as_ptr(), c(to).as_ptr()) })
}

/// `renameat2`.
pub fn rename2(from: &Path, to: &Path, flags: u32) -> Result<()> {
    // SAFETY: both C strings live through the call.
    done(unsafe { libc::renameat2(libc::AT_FDCWD, c(from).as_ptr(), libc::AT_FDCWD, c(to).as_ptr(), flags) })
}

/// `rmdir` of the path exactly as it is given.
pub fn rmdir(path: &Path) -> Result<()> {
    // SAFETY: the C string lives through the call.
    done(unsafe { libc::rmdir(c(path).as_ptr()) })
}

/// `unlink` of the path exactly as it is given.
pub fn unlink(path: &Path) -> Result<()> {
    // SAFETY: the C string lives through the call.
    done(unsafe { libc::unlink(c(path).as_ptr()) })
}

/// `fallocate`.
pub fn fallocate(file: &File, mode: libc::c_int, offset: i64, len: i64) -> Result<()> {
    // SAFETY: a system call without memory.
    done(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, len) })
}

/// `copy_file_range` until all is copied or the source ends; how much that was.
pub fn copy_file_range(from: &File, mut at: i64, to: &File, mut to_at: i64, len: usize) -> Result<usize> {
    let mut copied = 0;
    while copied < len {
        let (input, output) = (from.as_raw_fd(), to.as_raw_fd());
        // SAFETY: both offsets live through the call.
        let more = unsafe { libc::copy_file_range(input, &mut at, output, &mut to_at, len - copied, 0) };
        match usize::try_from(more).map_err(|_| Error::last_os_error())? {
            0 => break,
            more => copied += more,
        }
    }
    Ok(copied)
}

/// Lets the kernel drop the file's pages.
pub fn drop_cache(file: &File) -> Result<()> {
    // SAFETY: a system call without memory.
    let error = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if error == 0 { Ok(()) } else { Err(Error::from_raw_os_error(error)) }
}

/// `lseek` with any whence.
pub fn seek(file: &File, offset: i64, whence: libc::c_int) -> Result<i64> {
    // SAFETY: a system call without memory.
    let at = unsafe { libc::lseek(file.as_raw_fd(), offset, whence) };
    if at < 0 { Err(Error::last_os_error()) } else { Ok(at) }
}

/// Sets access and modification time, (seconds, nanoseconds) each; `follow` symbolic links or not.
pub fn utimens(path: &Path, atime: (i64, i64), mtime: (i64, i64), follow: bool) -> Result<()> {
    let times = [atime, mtime].map(|(tv_sec, tv_nsec)| libc::timespec { tv_sec, tv_nsec });
    let flags = if follow { 0 } else { libc::AT_SYMLINK_NOFOLLOW };
    // SAFETY: the C string and the two times live through the call.
    done(unsafe { libc::utimensat(libc::AT_FDCWD, c(path).as_ptr(), times.as_ptr(), flags) })
}

/// `statvfs`.
pub fn statvfs(path: &Path) -> Result<libc::statvfs> {
    // SAFETY: all-zero bytes are a valid statvfs.
    let mut stats: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the C string and the structure live through the call.
    done(unsafe { libc::statvfs(c(path).as_ptr(), &mut stats) })?;
    Ok(stats)
}

/// Sets an extended attribute.
pub fn setxattr(path: &Path, name: &str, value: &[u8], flags: libc::c_int) -> Result<()> {
    let name = CString::new(name).expect("the checks' names have no NUL");
    let (pointer, len) = (value.as_ptr().cast(), value.len());
    // SAFETY: the C strings and the value live through the call, the length is the value's.
    done(unsafe { libc::lsetxattr(c(path).as_ptr(), name.as_ptr(), pointer, len, flags) })
}

/// Value of an extended attribute.
pub fn getxattr(path: &Path, name: &str) -> Result<Vec<u8>> {
    let name = CString::new(name).expect("the checks' names have no NUL");
    let mut value = vec![0_u8; 65_536];
    // SAFETY: the C strings and the buffer live through the call, the length is the buffer's.
    let len = unsafe { libc::lgetxattr(c(path).as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    value.truncate(usize::try_from(len).map_err(|_| Error::last_os_error())?);
    Ok(value)
}

/// Names of the `user.` attributes, sorted.
pub fn listxattr(path: &Path) -> Result<Vec<String>> {
    let mut names = vec![0_u8; 65_536];
    // SAFETY: the C string and the buffer live through the call, the length is the buffer's.
    let len = unsafe { libc::llistxattr(c(path).as_ptr(), names.as_mut_ptr().cast(), names.len()) };
    names.truncate(usize::try_from(len).map_err(|_| Error::last_os_error())?);
    let names = names.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("user.")).collect();
    names.sort();
    Ok(names)
}

/// `removexattr`.
pub fn removexattr(path: &Path, name: &str) -> Result<()> {
    let name = CString::new(name).expect("the checks' names have no NUL");
    // SAFETY: both C strings live through the call.
    done(unsafe { libc::lremovexattr(c(path).as_ptr(), name.as_ptr()) })
}

/// A directory stream that can tell and seek.
pub struct DirStream(*mut libc::DIR);

impl DirStream {
    /// `opendir`.
    pub fn open(path: &Path) -> Result<DirStream> {
        // SAFETY: the C string lives through the call.
        let stream = unsafe { libc::opendir(c(path).as_ptr()) };
        if stream.is_null() { Err(Error::last_os_error()) } else { Ok(DirStream(stream)) }
    }

    /// The next entry: name and inode number.
    pub fn read(&mut self) -> Result<Option<(Vec<u8>, u64)>> {
        // SAFETY: errno is the thread's own.
        unsafe { *libc::__errno_location() = 0 };
        // SAFETY: the stream is open; the entry is read before the next call.
        let entry = unsafe { libc::readdir64(self.0) };
        if entry.is_null() {
            let error = Error::last_os_error();
            return if error.raw_os_error() == Some(0) { Ok(None) } else { Err(error) };
        }
        // SAFETY: the entry is valid until the next call and its name ends with NUL.
        let (name, inode) = unsafe { (std::ffi::CStr::from_ptr((*entry).d_name.as_ptr()), (*entry).d_ino) };
        Ok(Some((name.to_bytes().to_vec(), inode)))
    }

    /// `telldir`.
    pub fn tell(&self) -> i64 {
        // SAFETY: the stream is open.
        unsafe { libc::telldir(self.0) }
    }

    /// `seekdir`.
    pub fn seek(&mut self, to: i64) {
        // SAFETY: the stream is open.
        unsafe { libc::seekdir(self.0, to) };
    }

    /// `rewinddir`.
    pub fn rewind(&mut self) {
        // SAFETY: the stream is open.
        unsafe { libc::rewinddir(self.0) };
    }

    /// All names that are left, without `.` and `..`.
    pub fn names(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        while let Some((name, _)) = self.read()? {
            if name != b"." && name != b".." {
                all.push(name);
            }
        }
        Ok(all)
    }
}

impl Drop for DirStream {
    fn drop(&mut self) {
        // SAFETY: the stream is open and not used again.
        unsafe { libc::closedir(self.0) };
    }
}

/// A shared, writable mapping of a file's first bytes.
pub struct Mapping {
    start: *mut libc::c_void,
    len: usize,
}

impl Mapping {
    /// Maps the first `len` bytes.
    pub fn new(file: &File, len: usize) -> Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address; nothing else of ours is there.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(Mapping { start, len }) }
    }

    /// The mapped bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is as long as said and lives as long as the value; only the check's own thread uses it.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), self.len) }
    }

    /// `msync` with `MS_SYNC`.
    pub fn sync(&self) -> Result<()> {
        // SAFETY: the range is our mapping.
        done(unsafe { libc::msync(self.start, self.len, libc::MS_SYNC) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is our mapping and not used again.
        unsafe { libc::munmap(self.start, self.len) };
    }
}

/// Sets an extended attribute, following a symbolic link.
pub fn setxattr_followed(path: &Path, name: &str, value: &[u8]) -> Result<()> {
    let name = CString::new(name).expect("the checks' names have no NUL");
    let (pointer, len) = (value.as_ptr().cast(), value.len());
    // SAFETY: the C strings and the value live through the call, the length is the value's.
    done(unsafe { libc::setxattr(c(path).as_ptr(), name.as_ptr(), pointer, len, 0) })
}

/// Value of an extended attribute, following a symbolic link.
pub fn getxattr_followed(path: &Path, name: &str) -> Result<Vec<u8>> {
    let name = CString::new(name).expect("the checks' names have no NUL");
    let mut value = vec![0_u8; 65_536];
    // SAFETY: the C strings and the buffer live through the call, the length is the buffer's.
    let len = unsafe { libc::getxattr(c(path).as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    value.truncate(usize::try_from(len).map_err(|_| Error::last_os_error())?);
    Ok(value)
}

/// `removexattr`, following a symbolic link.
pub fn removexattr_followed(path: &Path, name: &str) -> Result<()> {
    let name = CString::new(name).expect("the checks' names have no NUL");
    // SAFETY: both C strings live through the call.
    done(unsafe { libc::removexattr(c(path).as_ptr(), name.as_ptr()) })
}
