// SPDX-License-Identifier: Apache-2.0

//! The cluster as one client sees it: the map, its sessions with metadata servers, and the state of requests to storage.
//!
//! **Failure model.** See the modules that send: `rpc::meta`, `rpc::storage`, `rpc::mirror`.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::rpc::bound::{Bound, UNBOUND};
use crate::rpc::logic::{
    acknowledged::AcknowledgedChanges, group_numbers::Numbers, proofs::Proofs, slots_came::SlotsCame,
};
use crate::rpc::{cluster_map::Maps, grant_fetches::GrantFetches};
use crate::rpc::{reach::Unreached, session::Session, transport::Rpc};
use nyala_wire::meta::Want;
use nyala_wire::slots::Slots;
use nyala_wire::{DataLocation, GroupId, InodeId, SessionId, TargetId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::Semaphore;

/// Work of a [`SessionObserver`].
pub(crate) type Reopening<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Who holds delegations and open files under sessions, and hears what becomes of these.
pub(crate) trait SessionObserver: Send + Sync + 'static {
    /// The server answered under this session: it keeps its promises until `session.good_until_ms()`.
    fn renewed(&self, session: &Session);

    /// From now on grants of this run of the server count.
    fn run_began(&self, session: &Session, boot: u64);

    /// The session has ended, and all that was held under it is lost. It goes on under another id, which is set here.
    fn ended(&self, session: &Session, goes_on_as: SessionId);

    /// A new session was opened in place of one that ended: registers what is open.
    fn reopen<'a>(&'a self, session: &'a Arc<Session>) -> Reopening<'a>;

    /// The files of this server that are open, or count as open there.
    fn open_files(&self, session: &Session) -> Vec<InodeId>;

    /// A name for the log.
    fn name_of(&self, inode: InodeId) -> Option<String>;
}

pub(crate) struct Cluster {
    pub(crate) ctx: Arc<Context>,
    pub(super) rpc: Arc<dyn Rpc>,
    /// Who this client is to storage, and what the ids of its sessions are made of.
    pub(super) client_id: u64,
    /// Ids of sessions that were used.
    session_ids: AtomicU64,
    pub(crate) maps: Maps,
    pub(crate) proofs: Proofs,
    pub(super) grant_fetches: GrantFetches,
    sessions: Mutex<HashMap<TargetId, Arc<Session>>>,
    observer: OnceLock<Weak<dyn SessionObserver>>,
    /// Sessions lost so far, each counted before its delegations are dropped: a grant made under a lost session is void.
    pub(crate) sessions_lost: AtomicU64,
    pub(super) write_slots: Mutex<HashMap<DataLocation, Arc<Semaphore>>>,
    /// Numbers of requests to mirror groups.
    pub(super) numbers: Mutex<HashMap<GroupId, Arc<Mutex<Numbers>>>>,
    /// Members of mirror groups that cannot be reached from here.
    pub(super) unreached: Arc<Unreached>,
    /// Which changes are under way with targets without mirrors.
    pub(super) slots: Mutex<HashMap<TargetId, Arc<Mutex<Slots>>>>,
    /// When it was last said that a server cannot be talked to; 0: never.
    pub(super) complained_ms: AtomicU64,
    /// Changes that metadata servers acknowledged and may not have on disk.
    pub(super) acknowledged: Mutex<AcknowledgedChanges>,
    /// What is to be taken over where slots came to, and that it is done by one at a time.
    pub(super) slots_came: Mutex<SlotsCame>,
    pub(super) adopting: tokio::sync::Mutex<()>,
}

impl Cluster {
    pub(crate) fn new(ctx: Arc<Context>, rpc: Arc<dyn Rpc>) -> Result<Cluster> {
        let random = getrandom::u64().map_err(|e| Error::System(format!("no random bytes: {e}")))?;
        Ok(Cluster {
            maps: Maps::new(&ctx.config.mgmt, rpc.clone()),
            ctx,
            rpc,
            proofs: Proofs::default(),
            grant_fetches: GrantFetches::default(),
            client_id: random.max(1),
            session_ids: AtomicU64::new(0),
            sessions: Mutex::default(),
            observer: OnceLock::new(),
            sessions_lost: AtomicU64::new(0),
            write_slots: Mutex::default(),
            numbers: Mutex::default(),
            unreached: Arc::default(),
            slots: Mutex::default(),
            complained_ms: AtomicU64::new(0),
            acknowledged: Mutex::default(),
            slots_came: Mutex::default(),
            adopting: tokio::sync::Mutex::default(),
        })
    }

    /// Names the observer of sessions. Once, before anything is sent.
    pub(crate) fn observe(&self, observer: Weak<dyn SessionObserver>) {
        // why ignored: a second call would name the same observer.
        let _ = self.observer.set(observer);
    }

    pub(super) fn observer(&self) -> Option<Arc<dyn SessionObserver>> {
        self.observer.get().and_then(Weak::upgrade)
    }

    /// The session with a metadata target; not opened by this. Each has an id of its own: a server that ends one has it fenced at
    /// storage, which must not hit what is written under those with other servers.
    pub(crate) fn session(&self, target: TargetId) -> Arc<Session> {
        self.sessions.lock().entry(target).or_insert_with(|| Arc::new(Session::new(target, self.next_id()))).clone()
    }

    /// An id that no session of this client had before.
    pub(super) fn next_id(&self) -> SessionId {
        SessionId::of_client(self.client_id, self.session_ids.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// The session under which an inode's server knows this client.
    pub(crate) fn session_of(&self, inode: InodeId) -> SessionId {
        let target = self.maps.view().map.slot_target(inode.slot());
        target.map_or(SessionId(self.client_id), |target| self.session(target).id())
    }

    /// Delegations to ask for with each request.
    pub(crate) fn want(&self) -> Want {
        if self.ctx.config.delegations { Want::DELEGATIONS } else { Want::NOTHING }
    }

    /// The session that something is accepted under which comes from a program now.
    pub(crate) fn accepting(&self, inode: InodeId) -> SessionId {
        if self.ctx.config.delegations { self.session_of(inode) } else { UNBOUND }
    }

    /// Fails once the session has ended, as far as this client knows.
    pub(crate) fn check_bound(&self, bound: Bound) -> Result<()> {
        let ended = !bound.is_free() && self.session_of(bound.inode) != bound.session;
        if ended { Err(bound.lost()) } else { Ok(()) }
    }
}
