// SPDX-License-Identifier: Apache-2.0

//! Withdraws what the kernel has cached.
//!
//! **Failure model.** A notification can block inside the kernel: for a page that is just being read, or for a directory
//! in which an operation is just running, both of which may wait for an answer of this very session. Sent from a thread
//! that serves requests it would then never end. The asynchronous methods therefore run each on a thread of tokio's
//! blocking pool, so that one that waits holds up no other; the `_blocking` ones are for threads that serve nothing.
//! A handler must not await an asynchronous one inside an operation on the same directory or page either.
//! Withdrawing attributes alone and ending the entries' epoch take no locks and never block.
//! What the kernel does not have cached, or a mount that is gone, is success: nothing stale can be seen. But an inode that
//! the kernel says it does not know may be in a reply that is just on its way to it: see [`Known`].

use crate::abi::notify::*;
use crate::errno::Errno;
use crate::transport::dev::Device;
use crate::types::Ino;
use std::io::{self, IoSlice};
use zerocopy::IntoBytes;

/// Which cached data of an inode to withdraw; attributes always go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalRange {
    /// None.
    AttributesOnly,
    /// All pages.
    All,
    /// The pages of these bytes.
    Bytes {
        /// First byte.
        offset: u64,
        /// How many; zero is to the end.
        len: u64,
    },
}

/// Whether the kernel knew the inode of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It did, and has forgotten what it was told to; replies on their way with something older are taken for old.
    Yes,
    /// It did not. A reply on its way that names the inode for the first time is **not** taken for old.
    No,
}

/// Tells the kernel of one mount what to forget.
#[derive(Clone, Debug)]
pub struct Notifier {
    device: Device,
}

impl Notifier {
    pub(crate) fn new(device: Device) -> Notifier {
        Notifier { device }
    }

    /// The inode's attributes, and cached data in `range`, are no longer true. Returns when no reader can see them.
    pub async fn inval_inode(&self, ino: Ino, range: InvalRange) -> Result<(), Errno> {
        let this = self.clone();
        elsewhere(move || this.inval_inode_blocking(ino, range)).await
    }

    /// The inode's attributes (and ACLs) are no longer true. Never blocks.
    pub fn withdraw_attributes(&self, ino: Ino) -> Result<Known, Errno> {
        self.inode(ino, InvalRange::AttributesOnly)
    }

    /// No name on the whole mount, existing or missing, is to be believed without asking again: neither those that the
    /// kernel has, nor those in replies on their way. Takes no locks, never blocks. Linux 6.16 and newer; see
    /// [`crate::Negotiated::has_epochs`].
    pub fn inc_epoch(&self) -> Result<(), Errno> {
        self.send(INC_EPOCH, &[]).map(drop)
    }

    /// A name (existing, or remembered as missing) is no longer true.
    pub async fn inval_entry(&self, parent: Ino, name: &[u8]) -> Result<(), Errno> {
        let (this, name) = (self.clone(), name.to_vec());
        elsewhere(move || this.inval_entry_blocking(parent, &name)).await
    }

    /// As [`Notifier::inval_entry`], but what is below a directory stays and only has to be asked for again.
    pub async fn expire_entry(&self, parent: Ino, name: &[u8]) -> Result<(), Errno> {
        let (this, name) = (self.clone(), name.to_vec());
        elsewhere(move || this.entry(parent, &name, EXPIRE_ONLY)).await
    }

    /// The name was removed by somebody else: watchers are told, and a directory that is somebody's working
    /// directory is seen as deleted.
    pub async fn delete(&self, parent: Ino, child: Ino, name: &[u8]) -> Result<(), Errno> {
        let (this, name) = (self.clone(), name.to_vec());
        elsewhere(move || {
            let head =
                DeleteOut { parent: parent.0, child: child.0, namelen: name_len(&name)?, ..DeleteOut::default() };
            this.send(DELETE, &[IoSlice::new(head.as_bytes()), IoSlice::new(&name), IoSlice::new(&[0])]).map(drop)
        })
        .await
    }

    /// [`Notifier::inval_inode`] for threads that serve no requests.
    pub fn inval_inode_blocking(&self, ino: Ino, range: InvalRange) -> Result<(), Errno> {
        self.inode(ino, range).map(drop)
    }

    /// As [`Notifier::inval_inode_blocking`], and says whether the kernel knew the inode.
    pub fn inval_inode_known(&self, ino: Ino, range: InvalRange) -> Result<Known, Errno> {
        self.inode(ino, range)
    }

    fn inode(&self, ino: Ino, range: InvalRange) -> Result<Known, Errno> {
        let (off, len) = match range {
            InvalRange::AttributesOnly => (-1, 0),
            InvalRange::All => (0, 0),
            InvalRange::Bytes { offset, len } => (
                i64::try_from(offset).map_err(|_| Errno::EINVAL)?,
                // Beyond the largest file is the same as to the end.
                i64::try_from(len).unwrap_or(0),
            ),
        };
        let body = InvalInodeOut { ino: ino.0, off, len };
        self.send(INVAL_INODE, &[IoSlice::new(body.as_bytes())])
    }

    /// [`Notifier::inval_entry`] for threads that serve no requests.
    pub fn inval_entry_blocking(&self, parent: Ino, name: &[u8]) -> Result<(), Errno> {
        self.entry(parent, name, 0)
    }

    fn entry(&self, parent: Ino, name: &[u8], flags: u32) -> Result<(), Errno> {
        let head = InvalEntryOut { parent: parent.0, namelen: name_len(name)?, flags };
        self.send(INVAL_ENTRY, &[IoSlice::new(head.as_bytes()), IoSlice::new(name), IoSlice::new(&[0])]).map(drop)
    }

    /// Whether the kernel has requests for `/dev/fuse` that nobody has fetched yet. Those that wait behind too many others
    /// in the background, or in a ring, are not seen. Never blocks.
    pub fn has_requests(&self) -> bool {
        self.device.has_requests()
    }

    fn send(&self, code: i32, body: &[IoSlice<'_>]) -> Result<Known, Errno> {
        settle(self.device.write(0, code, body))
    }
}

/// What the kernel does not know, it does not have cached.
fn settle(result: io::Result<()>) -> Result<Known, Errno> {
    match result {
        Ok(()) => Ok(Known::Yes),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT) => Ok(Known::No),
            // Nobody can look any more, or the name's directory is something else by now.
            Some(libc::ENOTDIR | libc::ENODEV | libc::ENOTCONN | libc::ECONNABORTED) => Ok(Known::Yes),
            _ => Err(Errno::from(error)),
        },
    }
}

fn name_len(name: &[u8]) -> Result<u32, Errno> {
    u32::try_from(name.len()).map_err(|_| Errno::ENAMETOOLONG)
}

/// Runs on a thread where waiting hurts nobody.
async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> Result<T, Errno> + Send + 'static) -> Result<T, Errno> {
    // The blocking pool refuses work only when the runtime is going down, and the mount with it.
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Errno::ECANCELED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_does_not_know_is_told_apart_from_what_failed() {
        let error = |number| settle(Err(io::Error::from_raw_os_error(number)));
        assert_eq!(settle(Ok(())), Ok(Known::Yes));
        assert_eq!(error(libc::ENOENT), Ok(Known::No));
        assert_eq!(error(libc::ENODEV), Ok(Known::Yes));
        assert_eq!(error(libc::EINVAL), Err(Errno::EINVAL));
    }
}
