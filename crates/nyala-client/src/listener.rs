// SPDX-License-Identifier: Apache-2.0

//! The layer above, and how it is told to forget what it was allowed to keep.

use nyala_wire::InodeId;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// What the layer above must forget of an inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Withdraw {
    /// Its attributes, extended attributes included.
    pub attrs: bool,
    /// Its entries, present and missing, and its listing.
    pub entries: bool,
    /// Its content.
    pub data: bool,
}

/// How a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEnd {
    /// Its size, bytes; not 0.
    pub size: u64,
    /// Its last byte.
    pub last: u8,
}

/// A layer above that keeps what it was told, and can be asked to forget it.
pub trait CacheListener: Send + Sync + 'static {
    /// Whether a withdrawal of this file's content is to be preceded by [`CacheListener::note_end`]: the layer above may take the file for shorter
    /// than it is under the delegation that goes.
    fn lacks_end(&self, inode: InodeId, size: u64) -> bool {
        let _ = (inode, size);
        false
    }

    /// How the file ends under the delegation that goes; its withdrawal comes next.
    fn note_end(&self, inode: InodeId, end: FileEnd) {
        let _ = (inode, end);
    }

    /// Forgets; done when nobody can see what was kept any more. It may wait for operations of this client.
    fn withdraw(&self, inode: InodeId, what: Withdraw) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Forgets content from this byte on, while [`CacheListener::withdraw`] waits for a write that ends before it.
    fn withdraw_behind(&self, inode: InodeId, from: u64) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Gives up what an owner had locked in open files that programs have closed by now; done when the server knows, or
    /// the lock still stands, after a moment at most. A layer that hears of every close before it returns has nothing to do.
    fn settle_lock(&self, inode: InodeId, owner: u64, flock: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let _ = (inode, owner, flock);
        Box::pin(std::future::ready(()))
    }
}

/// How long the layer above has before the gate opens.
pub(crate) const INVALIDATION_TIMEOUT: Duration = Duration::from_millis(5);
