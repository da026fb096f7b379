// SPDX-License-Identifier: Apache-2.0

//! One storage target: its directory, its store, its threads.
//!
//! **Failure model.** See the parent module and [`crate::chunk_store`]. The directory is locked as long as this lives.
//! Removals that fail are tried again; their record survives everything.

use super::evacuator::Evacuator;
use super::mirror_rows::{Persisted, RowLog};
use super::queue::{Message, Outcome, Queue, Task};
use super::target_parts::{self, Parts};
use super::worker_thread::WorkerThread;
use crate::chunk_store::{ChunkStore, ChunkStoreOptions, ChunkWorker, Count, Remover, SyncJob, WriteOp, worker_of};
use crate::config::TargetSpec;
use crate::disks::Disks;
use crate::drive_set::{DriveKeys, TargetDir, Upkeep};
use crate::error::StorageError;
use crate::scrub::logic::pace::Use;
use nyala_drives::SetError;
use nyala_metrics::Snapshot;
use nyala_replica::Row;
use nyala_store::Store;
use nyala_transport::trace::part;
use nyala_wire::mgmt::{Capacity, DiskErrors, TargetCapacity};
use nyala_wire::storage::{ChunkFileId, WriteVerifier};
use nyala_wire::{ClusterId, GroupId, SessionId, TargetId, WireError};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Threads for syncs, per target.
const SYNC_THREADS: usize = 2;
/// Until a failed removal is tried again.
const REMOVE_AGAIN: Duration = Duration::from_secs(10);

/// An open target.
pub struct Target {
    /// Its directory, or those of its drives, locked.
    pub dir: Arc<Mutex<TargetDir>>,
    /// The alias that the operator wishes.
    pub alias: String,
    /// The id that the operator wishes for a new one; 0 for none.
    pub wished_id: TargetId,
    limit_bytes: Option<u64>,
    pub(super) store: Arc<ChunkStore>,
    kv: Store,
    shards: Vec<Shard>,
    helpers: Mutex<Option<Helpers>>,
    workers: Mutex<Vec<JoinHandle<()>>>,
    others: Mutex<Vec<JoinHandle<()>>>,
    /// Of its drive set, if it lies on one.
    upkeep: Option<Arc<Upkeep>>,
    /// The client that empties it, as its disk fails.
    pub(super) evacuator: Evacuator,
}

/// A share of the chunk files: their worker, and the queue of the thread that may block with it.
pub(super) struct Shard {
    pub worker: Arc<Mutex<ChunkWorker>>,
    pub queue: Arc<Queue>,
}

/// What goes on beside the workers.
pub(super) enum Background {
    /// A sync, the file if somebody waits for it, and where to report its end.
    Sync(SyncJob, Option<ChunkFileId>, Arc<Queue>),
    /// Content of a dead file.
    Remove(ChunkFileId),
}

/// The way to the background threads; they end with the last clone of it.
#[derive(Clone)]
pub(super) struct Helpers {
    syncs: mpsc::Sender<(SyncJob, Option<ChunkFileId>, Arc<Queue>)>,
    removals: mpsc::Sender<ChunkFileId>,
}

impl Helpers {
    pub fn send(&self, what: Background) {
        // The threads live as long as a sender does; they end only after it.
        match what {
            Background::Sync(job, file, queue) => drop(self.syncs.send((job, file, queue))),
            Background::Remove(file) => drop(self.removals.send(file)),
        }
    }
}

impl Target {
    /// Opens or makes a target, recovers it, and starts its threads, which keep `open_files` chunk files open at most.
    /// `new_uuid` is for a new one; a drive set is made only for a service that `is_new`.
    pub fn open(
        spec: &TargetSpec,
        (disks, keys): (&dyn Disks, Option<&DriveKeys>),
        new_uuid: ClusterId,
        workers: usize,
        sync_idle: Duration,
        open_files: usize,
        is_new: bool,
    ) -> Result<Target, StorageError> {
        let Parts { dir, kv, recovery, chunks, boot_id, upkeep } = match &spec.set {
            None => target_parts::of_directory(spec, disks, new_uuid)?,
            Some(set) => target_parts::of_set(spec, set, (disks, keys), new_uuid, is_new)?,
        };
        let label = match dir.lock().identity.target.0 {
            0 => spec.dir.display().to_string(),
            id => format!("{id} ({})", spec.dir.display()),
        };
        let options = ChunkStoreOptions { label, boot_id, limit_bytes: spec.limit_bytes };
        let store = ChunkStore::open(Arc::new(kv.clone()), chunks, &options)
            .map_err(|error| StorageError::Chunks { path: spec.dir.clone(), error })?;
        tracing::info!(target_id = options.label, ?recovery, report = ?store.report(), "storage target is open");
        let (alias, wished_id) = (spec.alias.clone(), spec.id.unwrap_or_default());
        let (shards, helpers, store) = (Vec::new(), Mutex::new(None), Arc::new(store));
        let (threads, others) = (Mutex::default(), Mutex::default());
        let limit_bytes = spec.limit_bytes;
        let evacuator = Evacuator::default();
        let mut target = Target {
            dir,
            alias,
            wished_id,
            limit_bytes,
            store,
            kv,
            shards,
            helpers,
            workers: threads,
            others,
            upkeep,
            evacuator,
        };
        target.start(workers.max(1), sync_idle, open_files)?;
        Ok(target)
    }

    fn start(&mut self, count: usize, sync_idle: Duration, open_files: usize) -> Result<(), StorageError> {
        let failed = |error| StorageError::System { what: "cannot start a thread", error };
        let (syncs, sync_jobs) = mpsc::channel();
        let (removals, dead) = mpsc::channel();
        let helpers = Helpers { syncs, removals };
        let sync_jobs = Arc::new(Mutex::new(sync_jobs));
        for _ in 0..SYNC_THREADS {
            let jobs = sync_jobs.clone();
            let thread = std::thread::Builder::new().name("nyala-sync".into()).spawn(move || run_syncs(&jobs));
            self.others.lock().push(thread.map_err(failed)?);
        }
        let (remover, kv) = (self.store.remover(), self.kv.clone());
        let thread = std::thread::Builder::new().name("nyala-remove".into());
        self.others.lock().push(thread.spawn(move || run_removals(&remover, &kv, &dead)).map_err(failed)?);
        self.store.removals().into_iter().for_each(|file| helpers.send(Background::Remove(file)));
        for index in 0..count {
            let queue = Arc::new(Queue::new());
            let mut worker = self.store.worker(index, count);
            worker.keep_open(open_files / count);
            let worker = Arc::new(Mutex::new(worker));
            self.shards.push(Shard { worker: worker.clone(), queue: queue.clone() });
            let store = self.store.clone();
            let (syncing, idle_sync_runs, helpers) = (HashMap::new(), false, helpers.clone());
            let thread = WorkerThread { worker, store, queue, helpers, sync_idle, syncing, idle_sync_runs };
            let started = std::thread::Builder::new().name("nyala-chunks".into()).spawn(move || thread.run());
            self.workers.lock().push(started.map_err(failed)?);
        }
        *self.helpers.lock() = Some(helpers);
        Ok(())
    }

    fn shard(&self, file: ChunkFileId) -> &Shard {
        &self.shards[self.shard_number(file)]
    }

    /// The share that a chunk file is in.
    pub(super) fn shard_number(&self, file: ChunkFileId) -> usize {
        worker_of(file, self.shards.len())
    }

    /// The worker of a chunk file, if nobody else has it at the moment.
    pub(super) fn try_worker(&self, file: ChunkFileId) -> Option<MutexGuard<'_, ChunkWorker>> {
        self.shard(file).worker.try_lock()
    }

    /// May a write be tried on any thread?
    pub(super) fn is_short(&self, op: &WriteOp) -> bool {
        self.store.is_short(op)
    }

    /// Has a task done by the chunk file's worker.
    pub async fn call(&self, task: Task) -> Result<Outcome, WireError> {
        match self.shard(task.file()).queue.call(task).await? {
            Outcome::DoneWhenDurable(lsn) => {
                let durable = part("log", self.kv.wait_durable(lsn)).await;
                durable.map_err(|error| WireError::from(crate::chunk_store::ChunkError::from(error)))?;
                Ok(Outcome::Done)
            }
            outcome => Ok(outcome),
        }
    }

    /// What is remembered of a mirror group.
    pub(super) fn mirror_rows(&self, group: GroupId) -> Result<Vec<Row>, WireError> {
        super::mirror_rows::load(&self.kv, group)
    }

    /// Mirror groups of which something is remembered.
    pub(super) fn remembered_groups(&self) -> Result<Vec<GroupId>, WireError> {
        super::mirror_rows::groups(&self.kv)
    }

    /// Forgets a mirror group; how much was remembered of it.
    pub(super) async fn forget_group(&self, group: GroupId) -> Result<u64, WireError> {
        super::mirror_rows::remove(&self.kv, group).await
    }

    /// Remembers what waits in the queue; returns when that is in the log, or on disk.
    pub(super) async fn persist_mirror(&self, rows: &RowLog) -> Option<Persisted> {
        rows.write(&self.kv).await
    }

    /// Whether writes of a session are refused.
    pub(super) fn is_fenced(&self, session: SessionId) -> bool {
        self.store.is_fenced(session)
    }

    /// What tells clients whether anything was lost between a change and its sync. `target`: its id.
    pub(super) fn verifier(&self, target: TargetId) -> WriteVerifier {
        WriteVerifier { target, losses: self.store.losses() }
    }

    /// Capacity of the file system, or of the limit if that is less.
    pub fn capacity(&self) -> Capacity {
        let mut capacity = self.dir.lock().there().map(nyala_transport::member::capacity).unwrap_or_default();
        if let Some(upkeep) = &self.upkeep {
            (capacity.total_bytes, capacity.free_bytes) = upkeep.space();
        }
        let Some(limit) = self.limit_bytes else { return capacity };
        let left = limit.saturating_sub(self.store.used_bytes());
        let (total_bytes, free_bytes) = (capacity.total_bytes.min(limit), capacity.free_bytes.min(left));
        Capacity { total_bytes, free_bytes, ..capacity }
    }

    /// What others do with it, a scrub apart.
    pub(super) fn used(&self) -> Use {
        let sum = |counts: &[Count]| counts.iter().map(|count| self.count(*count)).sum::<u64>();
        let ops = sum(&[Count::Writes, Count::Reads, Count::Syncs, Count::Others]);
        let bytes = sum(&[Count::WriteBytes, Count::ReadBytes]);
        Use { ops, bytes, waiting: self.depth() }
    }

    /// Most bytes of data that may be on it: without a limit, all that its file system has. A scrub that reckons with these is not late.
    pub(super) fn most_data_bytes(&self) -> u64 {
        let used = |capacity: Capacity| capacity.total_bytes.saturating_sub(capacity.free_bytes);
        if self.limit_bytes.is_some() { self.store.used_bytes() } else { used(self.capacity()) }
    }

    /// About how many bytes of data are on it, if it knows that.
    pub(super) fn counted_bytes(&self) -> Option<u64> {
        self.store.data_bytes()
    }

    /// What it reports to management, as `id`; with `limit` recent errors of its disk it fails.
    pub(super) fn report(&self, id: TargetId, limit: u64) -> TargetCapacity {
        let (total, recent) = self.store.disk_errors();
        let errors = (total > 0).then_some(DiskErrors { total, recent, limit });
        TargetCapacity { data_bytes: self.counted_bytes(), errors, ..TargetCapacity::new(id, self.capacity()) }
    }

    /// A scrub has compared all of it, so many bytes.
    pub(super) fn scrubbed(&self, bytes: u64) {
        self.store.scrubbed(bytes);
    }

    /// Notes how much data is on it, if that has changed.
    pub(super) fn note_data_bytes(&self) -> Result<(), WireError> {
        Ok(self.store.note_data_bytes()?)
    }

    fn depth(&self) -> u64 {
        self.shards.iter().map(|shard| shard.queue.depth() as u64).sum()
    }

    /// The upkeep of its drive set, if it lies on one.
    pub(super) fn upkeep(&self) -> Option<&Arc<Upkeep>> {
        self.upkeep.as_ref()
    }

    /// Its drive set has stopped and may go on when it is opened again.
    pub(super) fn has_stopped(&self) -> Option<SetError> {
        self.upkeep.as_ref().and_then(|upkeep| upkeep.has_stopped())
    }

    /// Counters by name, the depth of the queues among them.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut counters = self.store.counters().values();
        counters.push(("queue.depth", self.depth()));
        counters.push(("log.syncs", self.kv.stats().syncs));
        counters
    }

    /// How long its disk took lately, and whether its log has room, as counters by name.
    pub(super) fn disk_counters(&self, id: TargetId) -> Vec<(String, u64)> {
        let (recent, now) = (self.store.recent(), Instant::now());
        let kinds = [("job", &recent.jobs), ("read", &recent.reads), ("sync", &recent.syncs)];
        let mut counters: Vec<_> =
            kinds.into_iter().flat_map(|(kind, recent)| recent.lately(now).counters(&id, kind)).collect();
        counters.extend(nyala_store::metrics::counters(&id, &self.kv));
        counters
    }

    /// One of its counters.
    pub(super) fn count(&self, what: Count) -> u64 {
        self.store.counters().get(what)
    }

    /// Jobs that wait or are being done, how long they waited, and how long turns of the workers took.
    pub(super) fn jobs(&self) -> (u64, Snapshot, Snapshot) {
        let (mut depth, mut waits, mut work) = (0, Snapshot::default(), Snapshot::default());
        for Shard { queue, .. } in &self.shards {
            depth += queue.depth() as u64;
            waits += queue.times.waits.get();
            work += queue.times.work.get();
        }
        (depth, waits, work)
    }

    /// The tables.
    pub(super) fn kv(&self) -> &Store {
        &self.kv
    }

    /// Ends what is queued, syncs and closes. Blocks.
    pub fn close(&self) -> Result<(), StorageError> {
        self.shards.iter().for_each(|shard| shard.queue.stop());
        let workers = std::mem::take(&mut *self.workers.lock());
        workers.into_iter().for_each(join);
        drop(self.helpers.lock().take());
        let others = std::mem::take(&mut *self.others.lock());
        others.into_iter().for_each(join);
        self.upkeep.iter().for_each(|upkeep| upkeep.stop());
        let path = self.dir.lock().path.clone();
        self.store.close().map_err(|error| StorageError::Chunks { path: path.clone(), error })?;
        self.kv.clone().close().map_err(|error| StorageError::Store { path, error })
    }
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a thread of a storage target has panicked");
    }
}

type SyncQueue = mpsc::Receiver<(SyncJob, Option<ChunkFileId>, Arc<Queue>)>;

fn run_syncs(jobs: &Mutex<SyncQueue>) {
    loop {
        let next = jobs.lock().recv();
        let Ok((mut job, file, queue)) = next else { return };
        job.run();
        queue.push(Message::Synced(job, file));
    }
}

fn run_removals(remover: &Remover, kv: &Store, dead: &mpsc::Receiver<ChunkFileId>) {
    let mut pending = Vec::new();
    loop {
        let first = if pending.is_empty() {
            dead.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected)
        } else {
            dead.recv_timeout(REMOVE_AGAIN)
        };
        match first {
            Ok(file) => pending.push(file),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            // What is pending goes on after the next start.
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
        pending.extend(dead.try_iter());
        // The records must be on disk before the content goes.
        if let Err(error) = kv.sync_blocking() {
            tracing::error!(%error, "removal of chunk files waits: the log cannot be synced");
            continue;
        }
        pending.retain(|file| match remover.remove(*file) {
            Ok(()) => false,
            Err(error) => {
                tracing::warn!(%error, "removal of a chunk file will be tried again");
                true
            }
        });
    }
}
