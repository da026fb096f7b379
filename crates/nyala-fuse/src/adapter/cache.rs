// SPDX-License-Identifier: Apache-2.0

//! What the kernel keeps because a delegation allowed it, and how it is made to forget.
//!
//! - Attributes and ACLs: a notification that takes no locks.
//! - Pages: a notification that waits for pages just being read or written, on a thread of its own.
//! - Names, present and missing: the whole mount's epoch ends. The notification for one name would take the directory's
//!   lock, under which the kernel may be waiting for an answer that another mount holds up: never used.
//! - Listings: the directory's pages, and what `open_dirs` has on it.
//!
//! **Failure model.** A reply may be on its way to the kernel while what it says is withdrawn. The kernel takes replies
//! that were asked for before a withdrawal for old: names by the epoch, attributes by a version per inode, pages by their
//! locks. The gap is an inode that it hears of for the first time in such a reply: it then says that it does not know the
//! inode ([`Known::No`]). Such a withdrawal ends the epoch, so that nobody gets to the inode without a look-up, and is
//! repeated when a file or directory is opened that was reached by the old name ([`KernelCache::recheck`]). Replies that
//! the kernel does not compare with a version (to setattr, link and create) carry no lifetime for attributes at all.
//! Attributes that it takes for old it shows all the same to whoever asked, and goes on with the size that it had: a `read` would then end where the
//! file did some time ago. So they are withdrawn when nobody is asking ([`AttrRequests`]), as far as that can be seen: what others withdraw waits no
//! longer than [`ASKING`], since an answer that takes longer may be one that waits for the withdrawal; of requests that nobody has taken from the
//! kernel's queue yet it is not seen whose they are, and those in a ring and of the last moment are not seen at all. And before pages
//! of a file are withdrawn that may have grown since the kernel heard of its size, the kernel gets its last byte ([`FileEnd`]), which makes it take
//! the file for as long as it was under the delegation that goes. That byte is true under that delegation, and goes with the pages right after.
//! Where it cannot be read in time, a size that is just asked for may be lost as before.
//!
//! A kernel without epochs (before 6.16) is given no lifetimes of names. A notification that the kernel refuses for
//! another reason cannot be repaired here: it is logged as an error.

use super::attr_requests::{AttrRequests, DELIVERY, Underway};
use super::lock_holders::LockHolders;
use super::moved::{At, Moved};
use super::open_dirs::OpenDirs;
use super::page_cache::{PAGE, PageCacheUse};
use super::processes::Machine;
use crate::{Errno, Ino, InvalRange, Known, Notifier};
use nyala_client::{CacheListener, FileEnd, Withdraw};
use nyala_wire::InodeId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Longer than dropping pages takes that nobody holds.
const OWN_PAGE: Duration = Duration::from_millis(5);
/// Longer than a request mostly waits until it is fetched from the kernel.
const FETCHING: Duration = Duration::from_micros(50);
/// Longer than most answers to a request for attributes take.
const ASKING: Duration = Duration::from_millis(5);
/// Attributes that this mount changed are withdrawn after that, whoever asks.
const OWN_CHANGE: Duration = Duration::from_millis(100);
/// So many inodes are remembered that the kernel did not know when they were withdrawn.
const MAX_SUSPECTS: usize = 65536;

/// The kernel's caches of one mount. Without a notifier, nothing may be kept there.
#[derive(Default)]
pub struct KernelCache {
    notifier: OnceLock<Notifier>,
    /// The kernel has epochs.
    epochs: AtomicBool,
    /// What is open of directories.
    pub dirs: OpenDirs,
    /// Directories that others moved.
    pub moved: Moved,
    /// What may be in pages behind the back of writes.
    pub pages: PageCacheUse,
    suspects: Suspects,
    withdrawals: AtomicU64,
    attr_requests: Mutex<AttrRequests>,
    /// The last request for some inode's attributes was answered.
    attributes_sent: Notify,
}

/// Inodes that the kernel did not know when they were withdrawn, and when that was.
#[derive(Default)]
struct Suspects {
    count: AtomicUsize,
    inodes: Mutex<HashMap<u64, Instant>>,
}

impl Suspects {
    /// After `lifetime` whatever the kernel was told has run out anyway.
    fn add(&self, ino: Ino, now: Instant, lifetime: Duration) {
        let mut inodes = self.inodes.lock();
        if inodes.len() >= MAX_SUSPECTS {
            inodes.retain(|_, at| now.duration_since(*at) < lifetime);
            if inodes.len() >= MAX_SUSPECTS {
                // A reply reaches its caller within far less time than so many withdrawals take.
                inodes.clear();
            }
        }
        inodes.insert(ino.0, now);
        self.count.store(inodes.len(), Ordering::Release);
    }

    fn take(&self, ino: Ino) -> bool {
        if self.count.load(Ordering::Acquire) == 0 {
            return false;
        }
        let mut inodes = self.inodes.lock();
        let found = inodes.remove(&ino.0).is_some();
        self.count.store(inodes.len(), Ordering::Release);
        found
    }
}

impl KernelCache {
    /// From now on the kernel can be told.
    pub fn attach(&self, notifier: Notifier) {
        if self.notifier.set(notifier).is_err() {
            tracing::error!("a second notifier for one mount is ignored");
        }
    }

    /// What was attached.
    pub fn notifier(&self) -> Option<Notifier> {
        self.notifier.get().cloned()
    }

    /// The session has begun.
    pub fn started(&self, has_epochs: bool) {
        self.epochs.store(has_epochs, Ordering::Release);
    }

    /// Whether attributes, pages and listings may be kept.
    pub fn keeps(&self) -> bool {
        self.notifier.get().is_some()
    }

    /// Whether names may be kept.
    pub fn keeps_names(&self) -> bool {
        self.keeps() && self.epochs.load(Ordering::Acquire)
    }

    /// How many withdrawals the kernel was told of.
    pub fn withdrawals(&self) -> u64 {
        self.withdrawals.load(Ordering::Relaxed)
    }

    /// Something was opened: what was withdrawn while the kernel was just hearing of it is withdrawn again.
    pub fn recheck(&self, ino: Ino) {
        if self.suspects.take(ino) {
            self.forget_attributes(ino);
        }
    }

    /// No name that the kernel has is to be believed without asking again. Never blocks.
    pub fn forget_names(&self) {
        if let Some(notifier) = self.notifier.get() {
            self.end_epoch(notifier);
        }
    }

    /// The kernel asks for attributes.
    pub fn attributes_asked(&self, ino: Ino) {
        self.attr_requests.lock().begin(ino.0);
    }

    /// The answer was written to it.
    pub fn attributes_sent(&self, ino: Ino) {
        self.attr_requests.lock().end(ino.0, Instant::now());
        self.attributes_sent.notify_waiters();
    }

    /// The kernel's attributes of an inode, but for the size, are wrong by something that this mount did. Those that it is just asking for are
    /// answered first ([`AttrRequests`]). Never blocks.
    pub fn attributes_changed(self: &Arc<Self>, ino: Ino) {
        if self.is_quiet(ino) {
            return self.forget_attributes(ino);
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let began = Instant::now();
            while !this.is_quiet(ino) && began.elapsed() < OWN_CHANGE {
                tokio::time::sleep(DELIVERY).await;
            }
            this.forget_attributes(ino);
        });
    }

    /// No attributes of this inode are on their way to the kernel, as far as can be seen.
    fn is_quiet(&self, ino: Ino) -> bool {
        self.underway(ino) == Underway::No && !self.notifier.get().is_some_and(Notifier::has_requests)
    }

    fn underway(&self, ino: Ino) -> Underway {
        self.attr_requests.lock().underway(ino.0, Instant::now())
    }

    /// The kernel is to ask for attributes. Never blocks.
    fn forget_attributes(&self, ino: Ino) {
        if let Some(notifier) = self.notifier.get()
            && let Err(error) = notifier.withdraw_attributes(ino)
        {
            refused(ino, error);
        }
    }

    /// The same for pages (of a directory: its listing), too.
    pub async fn forget_content(&self, ino: Ino, range: InvalRange) {
        if let Some(notifier) = self.notifier.get()
            && let Err(error) = notifier.inval_inode(ino, range).await
        {
            refused(ino, error);
        }
    }

    /// Drops pages that a buffered write may not have reached, before the write is answered. The kernel may hold the lock of
    /// a page that the write itself filled, until then: that page is no stale one, and is not waited for.
    pub async fn forget_behind(self: &Arc<Self>, ino: Ino, offset: u64, len: u64) {
        let Some(notifier) = self.notifier.get().cloned() else { return };
        let (this, range) = (Arc::clone(self), InvalRange::Bytes { offset, len });
        this.pages.begin_invalidation_in_reply(InodeId(ino.0));
        let dropping = tokio::task::spawn_blocking(move || {
            if let Err(error) = notifier.inval_inode_blocking(ino, range) {
                refused(ino, error);
            }
            this.pages.end_invalidation(InodeId(ino.0));
        });
        if tokio::time::timeout(OWN_PAGE, dropping).await.is_err() {
            self.pages.outlasts_reply(InodeId(ino.0));
        }
    }

    /// The same without waiting for it: for an operation that itself holds the kernel's locks on the pages.
    pub fn forget_content_later(self: &Arc<Self>, ino: Ino) {
        drop(self.forget_elsewhere(ino, InvalRange::All));
    }

    /// Begins to drop pages; goes on whether it is waited for or not.
    fn forget_elsewhere(self: &Arc<Self>, ino: Ino, range: InvalRange) -> Option<tokio::task::JoinHandle<()>> {
        let notifier = self.notifier.get()?.clone();
        let this = Arc::clone(self);
        this.pages.begin_invalidation(InodeId(ino.0));
        Some(tokio::task::spawn_blocking(move || {
            if let Err(error) = notifier.inval_inode_blocking(ino, range) {
                refused(ino, error);
            }
            this.pages.end_invalidation(InodeId(ino.0));
        }))
    }

    fn end_epoch(&self, notifier: &Notifier) {
        if self.epochs.load(Ordering::Acquire)
            && let Err(error) = notifier.inc_epoch()
        {
            tracing::error!(%error, "the kernel was not made to forget names; they can be wrong for a while");
        }
    }

    /// The kernel gets another node of a directory: it is to keep nothing by those that it had, and to drop the place
    /// where it had it. Never blocks; what waits for locks goes on by itself, since whoever asked may be holding them.
    pub fn part(self: &Arc<Self>, dir: InodeId, before: Option<At>, lifetime: Duration) {
        if let Some((notifier, At { parent, name })) = self.notifier.get().cloned().zip(before) {
            drop(tokio::task::spawn_blocking(move || {
                if let Err(error) = notifier.inval_entry_blocking(parent, &name) {
                    refused(parent, error);
                }
            }));
        }
        let this = Arc::clone(self);
        self.moved.nodes(dir).for_each(|node| self.forget_attributes(node));
        let all = Withdraw { attrs: true, entries: true, data: true };
        tokio::spawn(async move { this.withdraw(dir, all, lifetime).await });
    }

    async fn withdraw(self: &Arc<Self>, inode: InodeId, what: Withdraw, lifetime: Duration) {
        if what == Withdraw::default() {
            return;
        }
        for node in self.moved.nodes(inode) {
            self.withdraw_node(node, what, lifetime).await;
        }
    }

    /// Lets the kernel have the attributes that it is asking for, unless that takes long.
    async fn let_ask(&self, ino: Ino) {
        // Nearly always: without a timer.
        if self.underway(ino) == Underway::No {
            return;
        }
        let delivered = async {
            loop {
                let sent = self.attributes_sent.notified();
                let mut sent = std::pin::pin!(sent);
                sent.as_mut().enable();
                match self.underway(ino) {
                    Underway::No => return,
                    Underway::Asked => sent.await,
                    Underway::Until(then) => tokio::time::sleep_until(then.into()).await,
                }
            }
        };
        // Whether it was in time or not.
        let _ = tokio::time::timeout(ASKING, delivered).await;
    }

    /// The kernel drops an inode's attributes and pages, which takes another thread. Attributes that it asked for before that one ran are answered
    /// first, too, until `deadline`.
    async fn drop_all(self: &Arc<Self>, ino: Ino, deadline: Instant) -> Result<Known, Errno> {
        let Some(notifier) = self.notifier.get() else { return Ok(Known::Yes) };
        loop {
            let (this, notifier) = (Arc::clone(self), notifier.clone());
            let dropping = tokio::task::spawn_blocking(move || {
                while Instant::now() < deadline {
                    // In this order: what is fetched in between is under way.
                    let is_queued = notifier.has_requests();
                    if this.underway(ino) != Underway::No {
                        return None;
                    }
                    if !is_queued {
                        break;
                    }
                    // sleeps: until what is queued is fetched, and can be told apart
                    std::thread::sleep(FETCHING);
                }
                if let Some(FileEnd { size, last }) = this.pages.take_end(InodeId(ino.0))
                    && notifier.store_blocking(ino, size - 1, &[last]).is_ok()
                {
                    this.pages.note_at_least(InodeId(ino.0), size);
                }
                Some(notifier.inval_inode_known(ino, InvalRange::All))
            });
            match dropping.await {
                Ok(Some(known)) => return known,
                Ok(None) => self.let_ask(ino).await,
                // The runtime is going down, and the mount with it.
                Err(_) => return Err(Errno::ECANCELED),
            }
        }
    }

    async fn withdraw_node(self: &Arc<Self>, ino: Ino, what: Withdraw, lifetime: Duration) {
        let Some(notifier) = self.notifier.get() else { return };
        let began = Instant::now();
        self.let_ask(ino).await;
        self.withdrawals.fetch_add(1, Ordering::Relaxed);
        // Before the kernel is asked, so that an open that comes right after its answer finds it.
        self.suspects.add(ino, Instant::now(), lifetime);
        if what.entries {
            self.dirs.withdrawn(ino);
            self.end_epoch(notifier);
        }
        let known = if what.data || what.entries {
            self.pages.begin_invalidation(InodeId(ino.0));
            let known = self.drop_all(ino, began + ASKING).await;
            self.pages.end_invalidation(InodeId(ino.0));
            known
        } else {
            notifier.withdraw_attributes(ino)
        };
        match known {
            Ok(Known::Yes) => drop(self.suspects.take(ino)),
            Ok(Known::No) if what.entries => {}
            Ok(Known::No) => self.end_epoch(notifier),
            Err(error) => refused(ino, error),
        }
    }
}

fn refused(ino: Ino, error: Errno) {
    tracing::error!(inode = %InodeId(ino.0), %error, "the kernel was not made to forget an inode; it can be wrong there for a while");
}

/// The client's way to the kernel's caches.
pub struct Listener {
    /// The caches.
    pub cache: Arc<KernelCache>,
    /// How long the kernel is allowed to keep things.
    pub lifetime: Duration,
    /// Who holds locks.
    pub locks: Arc<LockHolders>,
}

impl CacheListener for Listener {
    fn lacks_end(&self, inode: InodeId, size: u64) -> bool {
        self.cache.keeps() && self.cache.pages.lacks_size(inode, size)
    }

    fn note_end(&self, inode: InodeId, end: FileEnd) {
        self.cache.pages.note_end(inode, end);
    }

    fn withdraw(&self, inode: InodeId, what: Withdraw) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (cache, lifetime) = (Arc::clone(&self.cache), self.lifetime);
        Box::pin(async move { cache.withdraw(inode, what, lifetime).await })
    }

    fn withdraw_behind(&self, inode: InodeId, from: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        // The page that the write ends in is locked by it. Length 0 is to the end.
        let range = InvalRange::Bytes { offset: from.div_ceil(PAGE).saturating_mul(PAGE), len: 0 };
        let dropping = self.cache.forget_elsewhere(Ino(inode.0), range);
        Box::pin(async move {
            if let Some(dropping) = dropping {
                // why ignored: it fails only when the runtime ends, and the mount with it.
                let _ = dropping.await;
            }
        })
    }

    fn settle_lock(&self, inode: InodeId, owner: u64, flock: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (locks, machine) = (Arc::clone(&self.locks), Machine { notifier: self.cache.notifier() });
        Box::pin(async move { locks.settle(Ino(inode.0), owner, flock, &machine).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suspects_are_taken_once_and_bounded() {
        let suspects = Suspects::default();
        let (start, lifetime) = (Instant::now(), Duration::from_secs(10));
        assert!(!suspects.take(Ino(1)));
        suspects.add(Ino(1), start, lifetime);
        assert!(suspects.take(Ino(1)));
        assert!(!suspects.take(Ino(1)));
        for ino in 0..MAX_SUSPECTS as u64 {
            suspects.add(Ino(ino), start, lifetime);
        }
        // The old ones make room.
        suspects.add(Ino(1 << 40), start + Duration::from_secs(11), lifetime);
        assert!(suspects.take(Ino(1 << 40)));
        assert_eq!(suspects.count.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn without_a_notifier_nothing_is_kept() {
        let cache = KernelCache::default();
        cache.started(true);
        assert!(!cache.keeps() && !cache.keeps_names());
        let what = Withdraw { attrs: true, entries: true, data: true };
        let listener = Listener { cache: Arc::new(cache), lifetime: Duration::from_secs(1), locks: Arc::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(listener.withdraw(InodeId(1), what));
        assert_eq!(listener.cache.withdrawals(), 0);
    }
}
