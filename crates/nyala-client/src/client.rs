// SPDX-License-Identifier: Apache-2.0

//! The client's interface.

use crate::*;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::*;
use nyala_wire::*;
use std::sync::Arc;

/// A client of one cluster. Clones share it; it may be used from any thread with a tokio runtime.
#[derive(Clone)]
pub struct Client;

impl Client {
    /// Gets the map and starts the background work.
    pub async fn connect(config: ClientConfig) -> Result<Client> {
        Err(Error::ShutDown)
    }

    /// The cluster map now.
    pub fn map(&self) -> Arc<ClusterMap> {
        Arc::default()
    }

    /// Counters.
    pub fn stats(&self) -> ClientStats {
        ClientStats::default()
    }

    /// Looks up a name.
    pub async fn lookup(&self, parent: InodeId, name: &[u8]) -> Result<Attr> {
        Err(Error::ShutDown)
    }

    /// Attributes of an inode; this client's own unwritten changes included.
    pub async fn getattr(&self, inode: InodeId) -> Result<Attr> {
        Err(Error::ShutDown)
    }

    /// Attributes of many inodes, in any order; those that are gone are left out.
    pub async fn getattrs(&self, inodes: &[InodeId]) -> Result<Vec<Attr>> {
        Err(Error::ShutDown)
    }

    /// Changes attributes. `caller` is who asks.
    pub async fn setattr(&self, inode: InodeId, set: SetAttr) -> Result<Attr> {
        Err(Error::ShutDown)
    }

    /// Target of a symbolic link.
    pub async fn readlink(&self, inode: InodeId) -> Result<Vec<u8>> {
        Err(Error::ShutDown)
    }

    /// Makes a directory.
    pub async fn mkdir(&self, parent: InodeId, name: &[u8], perm: u16, owner: Owner) -> Result<Attr> {
        Err(Error::ShutDown)
    }

    /// Makes a fifo, socket, device or closed regular file.
    pub async fn mknod(
        &self,
        parent: InodeId,
        name: &[u8],
        kind: FileKind,
        perm: u16,
        rdev: u32,
        owner: Owner,
    ) -> Result<Attr> {
        Err(Error::ShutDown)
    }

    /// Makes a symbolic link.
    pub async fn symlink(&self, parent: InodeId, name: &[u8], target: &[u8], owner: Owner) -> Result<Attr> {
        Err(Error::ShutDown)
    }

    /// Makes another name for an inode.
    pub async fn link(&self, inode: InodeId, parent: InodeId, name: &[u8]) -> Result<Attr> {
        Err(Error::ShutDown)
    }

    /// Removes a name that is not a directory's.
    pub async fn unlink(&self, parent: InodeId, name: &[u8]) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// Removes an empty directory.
    pub async fn rmdir(&self, parent: InodeId, name: &[u8]) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// Renames.
    pub async fn rename(&self, rename: Rename) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// Makes and opens a file, or opens the one that is there.
    pub async fn create(
        &self,
        parent: InodeId,
        name: &[u8],
        perm: u16,
        owner: Owner,
        exclusive: bool,
    ) -> Result<(Attr, FileHandle)> {
        Err(Error::ShutDown)
    }

    /// Opens a file.
    pub async fn open(&self, inode: InodeId, options: OpenOptions) -> Result<FileHandle> {
        Err(Error::ShutDown)
    }

    /// Lists a directory after a cookie (0: from the start).
    pub async fn readdir(&self, dir: InodeId, after_cookie: u64, max_entries: u32, plus: bool) -> Result<Listing> {
        Err(Error::ShutDown)
    }

    /// Value of an extended attribute.
    pub async fn getxattr(&self, inode: InodeId, name: &[u8]) -> Result<Vec<u8>> {
        Err(Error::ShutDown)
    }

    /// Sets an extended attribute; `create`/`replace` as `XATTR_CREATE`/`XATTR_REPLACE`.
    pub async fn setxattr(&self, inode: InodeId, name: &[u8], value: &[u8], create: bool, replace: bool) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// Names of extended attributes.
    pub async fn listxattr(&self, inode: InodeId) -> Result<Vec<Vec<u8>>> {
        Err(Error::ShutDown)
    }

    /// Removes an extended attribute.
    pub async fn removexattr(&self, inode: InodeId, name: &[u8]) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// Size and use of the file system; at most a second old.
    pub async fn statfs(&self) -> Result<FsStats> {
        Err(Error::ShutDown)
    }

    /// Where an inode and its data are.
    pub async fn entry_info(&self, inode: InodeId) -> Result<EntryInfo> {
        Err(Error::ShutDown)
    }

    /// Sets what a directory gives to new files.
    pub async fn set_pattern(&self, dir: InodeId, pattern: StripePattern) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// The directory above a directory.
    pub async fn parent(&self, dir: InodeId) -> Result<InodeId> {
        Err(Error::ShutDown)
    }

    /// Follows a path from the root; symbolic links only if asked.
    pub async fn resolve(&self, path: &[u8], follow: bool) -> Result<Attr> {
        Err(Error::ShutDown)
    }

    /// Everything written and done so far is on disk (`syncfs`).
    pub async fn sync_all(&self) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// A directory's changes so far are on disk.
    pub async fn fsync_dir(&self, dir: InodeId) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// Writes everything out, closes files and sessions. The client does nothing afterwards.
    pub async fn shutdown(&self) -> Result<()> {
        Err(Error::ShutDown)
    }
}
