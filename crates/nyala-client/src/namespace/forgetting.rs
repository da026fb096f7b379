// SPDX-License-Identifier: Apache-2.0

//! The layer above knows directories and not their fragments: it is told of the directory where it has to forget something of a fragment. And it
//! knows the root of a client that is kept to a directory by the number that all roots have.

use crate::listener::{CacheListener, FileEnd, Withdraw};
use crate::namespace::logic::SplitDirs;
use crate::rpc::cluster::Cluster;
use nyala_wire::InodeId;
use parking_lot::RwLock;
use std::pin::Pin;
use std::sync::Arc;

pub(crate) struct OfDirectories {
    pub(crate) above: Arc<dyn CacheListener>,
    pub(crate) split_dirs: Arc<RwLock<SplitDirs>>,
}

impl CacheListener for OfDirectories {
    fn withdraw(&self, inode: InodeId, what: Withdraw) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let dir = self.split_dirs.read().directory(inode);
        match dir == inode {
            true => self.above.withdraw(inode, what),
            false => self.above.withdraw(dir, Withdraw { attrs: true, entries: true, ..what }),
        }
    }

    fn lacks_end(&self, inode: InodeId, size: u64) -> bool {
        self.above.lacks_end(inode, size)
    }

    fn note_end(&self, inode: InodeId, end: FileEnd) {
        self.above.note_end(inode, end);
    }

    fn withdraw_behind(&self, inode: InodeId, from: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.above.withdraw_behind(inode, from)
    }

    fn settle_lock(&self, inode: InodeId, owner: u64, flock: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.above.settle_lock(inode, owner, flock)
    }
}

/// Tells a layer above of its root by the number that it has for it.
pub(crate) struct RootCalled {
    pub(crate) above: Arc<dyn CacheListener>,
    pub(crate) cluster: Arc<Cluster>,
}

impl CacheListener for RootCalled {
    fn withdraw(&self, inode: InodeId, what: Withdraw) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.above.withdraw(self.cluster.proofs.called(inode), what)
    }

    fn lacks_end(&self, inode: InodeId, size: u64) -> bool {
        self.above.lacks_end(inode, size)
    }

    fn note_end(&self, inode: InodeId, end: FileEnd) {
        self.above.note_end(inode, end);
    }

    fn withdraw_behind(&self, inode: InodeId, from: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.above.withdraw_behind(inode, from)
    }

    fn settle_lock(&self, inode: InodeId, owner: u64, flock: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.above.settle_lock(inode, owner, flock)
    }
}
