// SPDX-License-Identifier: Apache-2.0

//! What the layer above has to forget, by the numbers that it knows: a directory's for its fragments, and the file system's root for that of a
//! client that is kept to a directory.

use crate::listener::{CacheListener, FileEnd, Withdraw};
use crate::namespace::logic::SplitDirs;
use crate::rpc::cluster::Cluster;
use nyala_wire::InodeId;
use parking_lot::RwLock;
use std::pin::Pin;
use std::sync::Arc;

/// Tells a layer above in its own numbers. Those of files are the same in both.
pub(crate) struct InNumbersAbove {
    pub(crate) above: Arc<dyn CacheListener>,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) split_dirs: Arc<RwLock<SplitDirs>>,
}

impl CacheListener for InNumbersAbove {
    fn lacks_end(&self, inode: InodeId, size: u64) -> bool {
        self.above.lacks_end(inode, size)
    }

    fn note_end(&self, inode: InodeId, end: FileEnd) {
        self.above.note_end(inode, end);
    }

    fn withdraw(&self, inode: InodeId, what: Withdraw) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let dir = self.split_dirs.read().directory(inode);
        let what = if dir == inode { what } else { Withdraw { attrs: true, entries: true, ..what } };
        self.above.withdraw(self.cluster.proofs.called(dir), what)
    }

    fn withdraw_behind(&self, inode: InodeId, from: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.above.withdraw_behind(inode, from)
    }

    fn settle_lock(&self, inode: InodeId, owner: u64, flock: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.above.settle_lock(inode, owner, flock)
    }
}
