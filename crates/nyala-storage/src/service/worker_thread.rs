// SPDX-License-Identifier: Apache-2.0

//! A worker thread: takes jobs from its queue, does writes that came together in one go, and hands syncs to others.
//!
//! **Failure model.** See [`crate::chunk_store`]. Operations on one chunk file are done in the order in which they came;
//! a sync runs beside the others and counts only for what came before it.

use super::queue::{Answer, Message, Outcome, Queue, Task};
use super::target::{Background, Helpers};
use crate::chunk_store::bad_blocks::export_as_is;
use crate::chunk_store::list::files_from;
use crate::chunk_store::{ChunkError, ChunkStore, ChunkWorker, Count, WriteOp};
use nyala_replica::FENCES;
use nyala_store::Lsn;
use nyala_wire::WireError;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Jobs that are taken at once.
const TAKE: usize = 64;
/// Between looks at the clock.
const TICK: Duration = Duration::from_millis(500);
/// Files of one background sync.
const IDLE_FILES: usize = 4096;

pub(super) struct WorkerThread {
    pub worker: Arc<Mutex<ChunkWorker>>,
    pub store: Arc<ChunkStore>,
    pub queue: Arc<Queue>,
    pub helpers: Helpers,
    pub sync_idle: Duration,
    /// Who waits for a sync of a file: of the one that runs, and of the one after it.
    pub syncing: HashMap<ChunkFileId, Waiting>,
    pub idle_sync_runs: bool,
}

#[derive(Default)]
pub(super) struct Waiting {
    now: Vec<(Answer, Awaited)>,
    next: Vec<(Answer, Awaited)>,
}

/// What has to be on disk before somebody is answered.
#[derive(Clone, Copy)]
pub(super) enum Awaited {
    /// All changes of the file so far, checksums included.
    Changes,
    /// Its cuts. Their checksums may follow: the file's flag is on disk.
    Cuts,
}

impl WorkerThread {
    pub fn run(mut self) {
        let (mut messages, mut stopping) = (Vec::with_capacity(TAKE), false);
        let began = Instant::now();
        let mut last_tick = began;
        while !stopping || !self.syncing.is_empty() || self.idle_sync_runs {
            self.queue.take(&mut messages, TAKE, TICK);
            stopping |= self.process(&mut messages);
            if last_tick.elapsed() >= TICK {
                last_tick = Instant::now();
                self.tick(began.elapsed());
            }
        }
        self.last_sync();
    }

    /// Does what was taken; true if it was told to stop.
    fn process(&mut self, messages: &mut Vec<Message>) -> bool {
        let (mut writes, mut answers) = (Vec::new(), Vec::new());
        let mut stop = false;
        let began = Instant::now();
        let store = self.store.clone();
        let running = (!messages.is_empty()).then(|| store.recent().jobs.begin(began));
        let mut jobs = 0;
        for message in messages.drain(..) {
            match message {
                Message::Job(mut job) => {
                    jobs += 1;
                    job.answer.waited = self.queue.times.waited(job.queued, began);
                    match job.task {
                        Task::Write(op) => {
                            writes.push(op);
                            answers.push((job.answer, job.permit));
                        }
                        task => {
                            if writes.iter().any(|op: &WriteOp| op.file == task.file()) {
                                self.write(&mut writes, &mut answers);
                            }
                            self.other(task, job.answer);
                        }
                    }
                }
                Message::Synced(job, file) => self.synced(job, file),
                Message::Stop => stop = true,
            }
        }
        self.write(&mut writes, &mut answers);
        if jobs > 0 {
            self.queue.times.worked(began);
            running.into_iter().for_each(|running| running.end(Instant::now(), jobs));
        }
        stop
    }

    fn write<P>(&mut self, writes: &mut Vec<WriteOp>, answers: &mut Vec<(Answer, P)>) {
        if writes.is_empty() {
            return;
        }
        let results = self.worker.lock().write_many(writes);
        // The memory of the data is free before anybody is told.
        writes.clear();
        for ((answer, permit), result) in answers.drain(..).zip(results) {
            drop(permit);
            self.answer(answer, result.map(|()| Outcome::Done));
        }
    }

    fn answer(&self, answer: Answer, result: Result<Outcome, ChunkError>) {
        if result.is_err() {
            self.store.counters().add(Count::Failed, 1);
        }
        answer.send(result.map_err(WireError::from));
    }

    fn other(&mut self, task: Task, answer: Answer) {
        if let Task::Other(file, StorageOp::Sync) = task {
            return self.sync(file, answer, Awaited::Changes);
        }
        let cut = task.cuts();
        let mut worker = self.worker.lock();
        let result = match task {
            Task::Change(by, file, op) => match worker.change_of(by, |worker| self.do_op(worker, file, op)) {
                // Whatever the first copy had to wait for.
                Ok(None) => self.store.position().map(Outcome::DoneWhenDurable),
                Ok(Some(outcome)) => Ok(outcome),
                Err(error) => Err(error),
            },
            task => self.do_task(&mut worker, task),
        };
        drop(worker);
        match (cut, result) {
            // Also for a copy that came late: the first one may have failed to get there.
            (Some(file), Ok(_)) => self.sync(file, answer, Awaited::Cuts),
            (_, result) => self.answer(answer, result),
        }
    }

    fn do_task(&self, worker: &mut ChunkWorker, task: Task) -> Result<Outcome, ChunkError> {
        match task {
            Task::Write(op) => worker.write(op).map(|()| Outcome::Done),
            Task::Read { file, offset, len, verify } => worker.read(file, offset, len, verify).map(Outcome::Read),
            Task::Export { file: FENCES, .. } => Ok(Outcome::Region(worker.fence_list())),
            Task::Import { file: FENCES, region, .. } => worker.take_fences(&region).map(Outcome::DoneWhenDurable),
            Task::Export { file, start, end, as_is: true } => {
                export_as_is(worker, file, start, end).map(Outcome::Region)
            }
            Task::Export { file, start, end, as_is: false } => worker.export(file, start, end).map(Outcome::Region),
            Task::Import { file, region, end } => {
                let taken = worker.import(file, &region, end, now_s());
                taken.map(|lsn| lsn.map_or(Outcome::Done, |lsn| self.unlinked(file, lsn)))
            }
            Task::PiecesFrom(from, most) => worker.pieces_from(from, most).map(Outcome::Pieces),
            Task::FilesFrom(from, most) => files_from(worker, from, most).map(Outcome::Files),
            Task::Piece { at, verify } => worker.piece(at, verify).map(Outcome::Piece),
            Task::Change(_, file, op) | Task::Other(file, op) => self.do_op(worker, file, op),
        }
    }

    fn do_op(&self, worker: &mut ChunkWorker, file: ChunkFileId, op: StorageOp) -> Result<Outcome, ChunkError> {
        match op {
            StorageOp::Truncate { len } => worker.truncate(file, len).map(|()| Outcome::Done),
            StorageOp::Punch { offset, len } => worker.punch(file, offset, len).map(|()| Outcome::Done),
            StorageOp::Allocate { offset, len } => worker.allocate(file, offset, len).map(|()| Outcome::Done),
            StorageOp::Stat => worker.stat(file).map(|(len, blocks)| Outcome::Stat(len, blocks)),
            StorageOp::Seek { offset, hole } => worker.seek(file, offset, hole).map(Outcome::Offset),
            StorageOp::Unlink => worker.unlink(file, now_s()).map(|lsn| self.unlinked(file, lsn)),
            StorageOp::Fence { session } => worker.fence(session).map(Outcome::DoneWhenDurable),
            StorageOp::Repair { .. } => Err(ChunkError::Invalid("only a mirror group can repair")),
            StorageOp::Walk { .. } => Err(ChunkError::Invalid("a walk is done piece by piece")),
            StorageOp::List { .. } => Err(ChunkError::Invalid("a list is made file by file")),
            StorageOp::Copy { .. } => Err(ChunkError::Invalid("a copy is done as a read and a write")),
            StorageOp::Sync => Err(ChunkError::Invalid("a sync is no change, and is done beside them")),
        }
    }

    fn unlinked(&self, file: ChunkFileId, lsn: Lsn) -> Outcome {
        self.helpers.send(Background::Remove(file));
        Outcome::DoneWhenDurable(lsn)
    }

    fn sync(&mut self, file: ChunkFileId, answer: Answer, awaited: Awaited) {
        if let Some(waiting) = self.syncing.get_mut(&file) {
            waiting.next.push((answer, awaited));
            return;
        }
        let begun = match awaited {
            Awaited::Changes => self.worker.lock().begin_sync(file),
            Awaited::Cuts => self.worker.lock().begin_cut_sync(file),
        };
        match begun {
            Err(error) => self.answer(answer, Err(error)),
            Ok(None) if matches!(awaited, Awaited::Cuts) => self.answer(answer, Ok(Outcome::Done)),
            Ok(None) => {
                let lsn = self.store.position();
                self.answer(answer, lsn.map(Outcome::DoneWhenDurable));
            }
            Ok(Some(job)) => {
                self.syncing.insert(file, Waiting { now: vec![(answer, awaited)], next: Vec::new() });
                self.helpers.send(Background::Sync(job, Some(file), self.queue.clone()));
            }
        }
    }

    fn synced(&mut self, job: crate::chunk_store::SyncJob, file: Option<ChunkFileId>) {
        let result = self.worker.lock().end_sync(job);
        let Some(file) = file else {
            self.idle_sync_runs = false;
            return;
        };
        let Some(waiting) = self.syncing.remove(&file) else { return };
        let code = result.as_ref().err().map(ToString::to_string);
        for (answer, awaited) in waiting.now {
            let result = match (&result, &code) {
                (Ok(_), _) if matches!(awaited, Awaited::Cuts) => Ok(Outcome::Done),
                (Ok(lsn), _) => Ok(Outcome::DoneWhenDurable(*lsn)),
                (Err(_), code) => {
                    let cause = std::io::Error::other(code.clone().unwrap_or_default());
                    Err(ChunkError::Io { operation: "sync", file, cause })
                }
            };
            self.answer(answer, result);
        }
        for (answer, awaited) in waiting.next {
            self.sync(file, answer, awaited);
        }
    }

    fn tick(&mut self, up: Duration) {
        // A network thread whose write hangs has the worker; it is no job that ended, so it is in no mean.
        let store = self.store.clone();
        let _running = store.recent().jobs.begin(Instant::now());
        let mut worker = self.worker.lock();
        if let Err(error) = worker.expire_dead(up.as_secs()) {
            tracing::warn!(%error, "cannot forget removed chunk files");
        }
        if !self.idle_sync_runs
            && let Some(job) = worker.begin_idle_sync(Instant::now(), self.sync_idle, IDLE_FILES)
        {
            self.idle_sync_runs = true;
            self.helpers.send(Background::Sync(job, None, self.queue.clone()));
        }
    }

    /// An orderly stop leaves nothing unsynced.
    fn last_sync(&mut self) {
        let mut worker = self.worker.lock();
        if let Some(mut job) = worker.begin_idle_sync(Instant::now(), Duration::ZERO, usize::MAX) {
            job.run();
            if let Err(error) = worker.end_sync(job) {
                tracing::error!(%error, "the last sync failed");
            }
        }
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
