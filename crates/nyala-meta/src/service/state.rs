// SPDX-License-Identifier: Apache-2.0

//! What the service keeps in memory besides the tables. One thread owns it all.

use super::flusher::Flusher;
use super::lock_wait::LockWaits;
use super::peers::Peers;
use crate::tables::{Tables, store_error};
use nyala_cluster::placement::PlacementTable;
use nyala_kv::{Batch, ChangeKind};
use nyala_namespace::change::Change;
use nyala_namespace::doubts::Doubts;
use nyala_namespace::keys;
use nyala_namespace::leases::Leases;
use nyala_namespace::listings::Listings;
use nyala_namespace::lock_checks::LockChecks;
use nyala_namespace::locks::Locks;
use nyala_namespace::ns::Env;
use nyala_namespace::sessions::Sessions;
use nyala_namespace::tx::TX_PER_BOOT;
use nyala_namespace::tx::participant::Ended;
use nyala_store::Store;
use nyala_transport::member::Member;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::Owner;
use nyala_wire::meta_tx::TxId;
use nyala_wire::{ErrorCode, InodeId, MapVersion, SessionId, TargetId, Time, WireError};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Notify;

/// A metadata service at work.
pub struct State {
    /// The target that it serves.
    pub me: TargetId,
    /// The tables.
    pub tables: Tables,
    /// What is under them.
    pub store: Store,
    /// Group commit.
    pub flusher: Rc<Flusher>,
    /// Membership: map and lease.
    pub member: Member,
    /// Other servers.
    pub peers: Peers,
    /// Locks of transactions and truncations.
    pub locks: RefCell<Locks>,
    /// Who waits for which lock of a file.
    pub lock_waits: LockWaits,
    /// Questions to holders of file locks.
    pub lock_checks: RefCell<LockChecks>,
    /// Rung when some are answered.
    pub lock_news: Notify,
    /// Rung when locks are released.
    pub released: Notify,
    /// Sessions.
    pub sessions: RefCell<Sessions>,
    /// Who may keep what.
    pub leases: RefCell<Leases>,
    /// Files that storage may have too much of.
    pub doubts: RefCell<Doubts>,
    /// Listings that were begun.
    pub listings: RefCell<Listings>,
    /// Rung when leases come back.
    pub lease_news: Notify,
    /// Bells of the sessions' polls for revocations.
    pub polls: RefCell<HashMap<SessionId, Rc<Notify>>>,
    /// Number of this run of the service.
    pub boot: u64,
    /// Changing requests under way.
    pub running: RefCell<HashSet<(SessionId, u64)>>,
    /// Rung when a changing request ends.
    pub finished: Notify,
    /// Transactions that this server coordinates and that are not decided.
    pub undecided: RefCell<HashSet<u64>>,
    /// Requests whose transactions were decided in an earlier run, and whose participants do not all know yet.
    pub untold: RefCell<HashSet<(SessionId, u64)>>,
    /// Decided transactions that all participants have done, but perhaps not yet on disk.
    pub told: RefCell<Vec<(u64, Vec<TargetId>)>>,
    /// Transactions prepared here for other coordinators.
    pub prepared: RefCell<HashMap<TxId, Promise>>,
    /// Transactions of other coordinators that ended here lately.
    pub ended: RefCell<Ended>,
    /// Number of operations by name.
    pub counters: RefCell<BTreeMap<&'static str, u64>>,
    next_tx: Cell<u64>,
    random: Cell<u64>,
    started: Instant,
    placement: RefCell<Option<(MapVersion, Rc<PlacementTable>)>>,
}

impl State {
    /// A service that has just opened its tables.
    pub fn new(
        me: TargetId,
        tables: Tables,
        flusher: Rc<Flusher>,
        member: Member,
        peers: Peers,
        boot: u64,
        seed: u64,
    ) -> State {
        State {
            me,
            store: tables.store.clone(),
            tables,
            flusher,
            member,
            peers,
            locks: RefCell::default(),
            lock_waits: LockWaits::default(),
            lock_checks: RefCell::default(),
            lock_news: Notify::new(),
            released: Notify::new(),
            sessions: RefCell::default(),
            leases: RefCell::default(),
            listings: RefCell::default(),
            lease_news: Notify::new(),
            polls: RefCell::default(),
            boot,
            running: RefCell::default(),
            finished: Notify::new(),
            undecided: RefCell::default(),
            untold: RefCell::default(),
            told: RefCell::default(),
            prepared: RefCell::default(),
            doubts: RefCell::default(),
            ended: RefCell::default(),
            counters: RefCell::default(),
            next_tx: Cell::new(boot * TX_PER_BOOT),
            random: Cell::new(seed),
            started: Instant::now(),
            placement: RefCell::default(),
        }
    }

    /// A transaction number that was never used before.
    pub fn new_tx(&self) -> TxId {
        let number = self.next_tx.get();
        self.next_tx.set(number + 1);
        TxId { coordinator: self.me, number }
    }

    /// Milliseconds since the service started.
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// A random number (SplitMix64, seeded from the system at start).
    pub fn random(&self) -> u64 {
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Counts an operation.
    pub fn count(&self, name: &'static str) {
        *self.counters.borrow_mut().entry(name).or_default() += 1;
    }

    /// The cluster map.
    pub fn map(&self) -> Arc<ClusterMap> {
        self.member.map()
    }

    fn placement(&self, map: &ClusterMap) -> Rc<PlacementTable> {
        let mut cached = self.placement.borrow_mut();
        match &*cached {
            Some((version, table)) if *version == map.version => table.clone(),
            _ => {
                let table = Rc::new(PlacementTable::new(map));
                *cached = Some((map.version, table.clone()));
                table
            }
        }
    }

    /// Runs `logic` on the tables as they are, as an operation or for a transaction.
    pub fn with_change<T>(
        &self,
        caller: &Caller,
        tx: Option<TxId>,
        logic: impl FnOnce(Change<'_>, &Env<'_>) -> T,
    ) -> T {
        let map = self.map();
        let placement = self.placement(&map);
        let env = Env {
            me: self.me,
            map: &map,
            placement: &placement,
            session: caller.session,
            unsaid: caller.unsaid,
            owner: caller.owner,
            now: caller.now,
            random: self.random(),
        };
        let locks = self.locks.borrow();
        logic(Change::new(&self.tables, &locks, tx), &env)
    }

    /// Applies a batch; it is visible at once, and safe from the process's death after [`Flusher::flushed`].
    pub fn apply(&self, batch: &Batch) -> Result<(), WireError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.tables.apply(batch)?;
        self.flusher.applied();
        Ok(())
    }

    /// Returns when everything written so far is on disk.
    pub async fn durable(&self) -> Result<(), WireError> {
        self.store.wait_durable(self.store.written()).await.map_err(store_error)
    }

    /// Waits while the tables have no room for more changes.
    pub async fn room(&self) {
        if self.store.over_limit() {
            self.store.wait_room().await;
        }
    }

    /// Returns when a change of this kind may be made; ENOSPC if it would make full tables larger.
    pub async fn room_for(&self, kind: ChangeKind) -> Result<(), WireError> {
        self.store.wait_to(kind).await.map_err(store_error)
    }

    /// Bytes of inline content that an inode has.
    pub fn inline_len(&self, inode: InodeId) -> usize {
        let row = self.store.get(&keys::data(inode));
        // What cannot be read is refused by whoever reads it to change it.
        row.ok().flatten().map_or(0, |data| data.len())
    }

    /// Takes locks for a transaction; `BUSY` if another one stands in the way.
    pub fn lock(&self, tx: TxId, keys: &[nyala_namespace::locks::LockKey]) -> Result<(), WireError> {
        if self.locks.borrow_mut().acquire(tx, keys) { Ok(()) } else { Err(ErrorCode::BUSY.into()) }
    }

    /// Releases a transaction's locks and wakes who waits for some.
    pub fn unlock(&self, tx: TxId) {
        self.locks.borrow_mut().release(tx);
        self.released.notify_waiters();
    }
}

/// A promise to a coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// When it was made, or taken up.
    pub since: Instant,
    /// It was made by an earlier process. The coordinator may have been told already that it was kept, by one that lost
    /// power before that was on disk; so next time it has to be.
    pub taken_up: bool,
}

impl Promise {
    /// One of now.
    pub fn new(taken_up: bool) -> Promise {
        Promise { since: Instant::now(), taken_up }
    }
}

/// On whose behalf something is done.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The session, 0 for the service itself.
    pub session: SessionId,
    /// See [`Env::unsaid`].
    pub unsaid: bool,
    /// Owner of what is made.
    pub owner: Owner,
    /// Time stamp of what changes.
    pub now: Time,
}

impl Caller {
    /// The service itself, at this time.
    pub fn service(now: Time) -> Caller {
        Caller { session: SessionId(0), unsaid: false, owner: Owner::default(), now }
    }
}
