// SPDX-License-Identifier: Apache-2.0

//! Large transfers between disk and memory past the page cache.
//!
//! **Failure model.** A file system may not know direct I/O, or want other alignments: then the page cache is used, for
//! that file for good. The kernel keeps both ways coherent: a direct transfer first writes back what the page cache
//! has of its range, and a direct write drops it. A direct write is no more durable than another: the disk's own cache
//! is flushed by a sync. It blocks its thread until the disk has answered, so a process that dies leaves none behind that
//! lands later, when its successor has already looked at the block.

use super::os_disk::OsFile;
use nyala_wire::storage::BLOCK_BYTES;
use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Transfers from this length on go past the page cache, bytes.
const DIRECT_BYTES: usize = 64 << 10;
/// Alignment of offsets, lengths and memory, bytes.
const ALIGNMENT: usize = BLOCK_BYTES as usize;
/// Number of the system call `cachestat` (Linux 6.5), the same on all architectures.
const SYS_CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct CacheRange {
    offset: u64,
    len: u64,
}

/// Pages of a range, by what they are.
#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// May a transfer be direct?
pub(super) fn fits(memory: *const u8, len: usize, offset: u64) -> bool {
    len >= DIRECT_BYTES && offset.is_multiple_of(ALIGNMENT as u64) && memory.align_offset(ALIGNMENT) == 0
}

fn is_refusal(error: rustix::io::Errno) -> bool {
    matches!(error, rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP)
}

impl OsFile {
    pub(super) fn direct(&self) -> Option<&OwnedFd> {
        let reopen = || {
            let path = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
            open(path.as_str(), OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()).ok()
        };
        self.direct.get_or_init(reopen).as_ref()
    }

    /// Pages of a range that the page cache has; `None` if the kernel cannot tell.
    pub(super) fn cached_pages(&self, offset: u64, len: usize) -> Option<u64> {
        let range = CacheRange { offset, len: len as u64 };
        let mut stat = CacheStat::default();
        // SAFETY: both point to structures of the layout that the system call has, and live through it.
        let done = unsafe { libc::syscall(SYS_CACHESTAT, self.fd.as_raw_fd(), &raw const range, &raw mut stat, 0) };
        (done == 0).then_some(stat.cached)
    }

    /// Reads what the page cache has; `None` if it does not have all of it up to the end of the file.
    pub(super) fn read_nowait(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let mut done = 0;
        while done < buf.len() {
            let iov = libc::iovec { iov_base: buf[done..].as_mut_ptr().cast(), iov_len: buf.len() - done };
            let at =
                libc::off_t::try_from(offset + done as u64).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
            // SAFETY: one iovec that points into `buf`, which outlives the call and is nobody else's.
            let n = unsafe { libc::preadv2(self.fd.as_raw_fd(), &iov, 1, at, libc::RWF_NOWAIT) };
            match usize::try_from(n) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(_) => match io::Error::last_os_error() {
                    e if e.kind() == io::ErrorKind::Interrupted => {}
                    e if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EOPNOTSUPP)) => return Ok(None),
                    e => return Err(e),
                },
            }
        }
        Ok(Some(done))
    }

    /// Reads whole blocks; how many bytes it got, which may be none.
    pub(super) fn read_direct(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let Some(fd) = self.direct() else { return Ok(0) };
        let (whole, mut done) = (buf.len() / ALIGNMENT * ALIGNMENT, 0);
        while done < whole {
            match rustix::io::pread(fd, &mut buf[done..whole], offset + done as u64) {
                Ok(0) => break,
                // The rest is not aligned any more: the end of the file, or nearly.
                Ok(n) if !n.is_multiple_of(ALIGNMENT) => return Ok(done + n),
                Ok(n) => done += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) if is_refusal(e) => break,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(done)
    }

    /// Writes the whole blocks of `data`, or some; `None` if that is not possible here.
    pub(super) fn write_direct(&self, data: &[u8], offset: u64) -> io::Result<Option<usize>> {
        let Some(fd) = self.direct() else { return Ok(None) };
        match rustix::io::pwrite(fd, &data[..data.len() / ALIGNMENT * ALIGNMENT], offset) {
            Ok(n) => Ok(Some(n)),
            Err(e) if is_refusal(e) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }
}
