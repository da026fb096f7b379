// SPDX-License-Identifier: Apache-2.0

//! Requests and replies through `/dev/fuse`, non-blocking, on the thread's own event loop.
//!
//! **Failure model.** A read can find nothing (another thread was faster), be interrupted, or find that its request was
//! withdrawn (`ENOENT`): it is repeated. `ENODEV` (unmounted) and `ECONNABORTED` (aborted) end the channel. A request
//! whose own length disagrees with what was read is reported and answered by nobody; the kernel never does that.
//! A reply is taken whole or refused.

use super::{Channel, Request, Ticket};
use crate::abi;
use crate::abi::header::{InHeader, OutHeader};
use crate::buf::{Buf, BufPool};
use std::io::{self, IoSlice};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use zerocopy::{FromBytes, IntoBytes};

/// Path of the device.
pub(crate) const DEVICE: &str = "/dev/fuse";

/// The open device of one mount. Dropping the last one ends the mount's connection.
#[derive(Clone, Debug)]
pub struct Device(Arc<OwnedFd>);

impl Device {
    /// Wraps a descriptor that a mount was made with, and makes it non-blocking.
    pub fn new(fd: OwnedFd) -> io::Result<Device> {
        let flags = rustix::fs::fcntl_getfl(&fd)?;
        rustix::fs::fcntl_setfl(&fd, flags | rustix::fs::OFlags::NONBLOCK)?;
        Ok(Device(Arc::new(fd)))
    }

    /// Another descriptor of the same mount, with a queue of its own for requests being served.
    pub(crate) fn another(&self) -> io::Result<Device> {
        use rustix::fs::{Mode, OFlags};
        let fd = rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
        let source: u32 = self.0.as_raw_fd() as u32;
        // SAFETY: this ioctl reads one u32 from the pointer, which lives through the call.
        let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::c_ulong::from(abi::DEV_IOC_CLONE) as _, &source) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Device(Arc::new(fd)))
    }

    /// Reads one request into `room`.
    pub(crate) fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(self.0.as_fd(), room)?)
    }

    /// Whether there is a request to be read.
    pub(crate) fn has_requests(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut fds = [PollFd::new(&*self.0, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // A device that cannot be asked is one without a mount.
        poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::IN)
    }

    /// Writes a reply or a notification, in one piece.
    pub(crate) fn write(&self, unique: u64, error: i32, body: &[IoSlice<'_>]) -> io::Result<()> {
        let len = size_of::<OutHeader>() + body.iter().map(|part| part.len()).sum::<usize>();
        let len = u32::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let header = OutHeader { len, error, unique };
        let mut parts: [IoSlice<'_>; MAX_PARTS + 1] = [IoSlice::new(&[]); MAX_PARTS + 1];
        parts[0] = IoSlice::new(header.as_bytes());
        let slots = parts.get_mut(1..1 + body.len()).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        slots.copy_from_slice(body);
        rustix::io::writev(self.0.as_fd(), &parts[..1 + body.len()])?;
        Ok(())
    }
}

impl AsRawFd for Device {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A reply has at most so many parts; whoever has more joins some.
pub(crate) const MAX_PARTS: usize = 64;

/// One thread's door to the device.
pub(crate) struct DevFuse {
    fd: AsyncFd<Device>,
    pool: BufPool,
}

/// `ERROR` belongs to it: an unmounted device is reported as that alone.
const WANTED: Interest = Interest::READABLE.add(Interest::ERROR);

impl DevFuse {
    /// Registers the device with the running thread's event loop.
    pub(crate) fn new(device: Device, pool: BufPool) -> io::Result<DevFuse> {
        // SAFETY: the descriptor is the device's own, never replaced, and open for as long as the AsyncFd holds it.
        let fd = unsafe { AsyncFd::register_with_interest(device, WANTED) }.map_err(io::Error::from)?;
        Ok(DevFuse { fd, pool })
    }
}

impl Channel for DevFuse {
    async fn next(&self) -> io::Result<Option<Request>> {
        let mut buf = self.pool.get().await?;
        loop {
            let mut guard = self.fd.ready(WANTED).await?;
            let Ok(read) = guard.try_io(|fd| fd.get_ref().read(buf.request_space())) else { continue };
            let error = match read {
                Ok(len) => {
                    buf.set_filled(len);
                    match InHeader::read_from_prefix(buf.filled()) {
                        Ok((header, _)) if header.len as usize == len => {
                            let buf = Buf::Pooled(buf);
                            return Ok(Some(Request { header, buf, args_at: size_of::<InHeader>() }));
                        }
                        _ => tracing::error!(len, "the kernel sent a request of a wrong length; it is dropped"),
                    }
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EINTR | libc::ENOENT) => {}
                Some(libc::ENODEV) => return Ok(None),
                Some(libc::ECONNABORTED) => {
                    tracing::warn!("the mount was aborted");
                    return Ok(None);
                }
                _ => return Err(error),
            }
        }
    }

    fn reply(&self, ticket: Ticket, error: i32, body: &[IoSlice<'_>]) -> io::Result<()> {
        self.fd.get_ref().write(ticket.unique, error, body)
    }
}
