// SPDX-License-Identifier: Apache-2.0

//! The queue in front of one worker thread.
//!
//! **Failure model.** Senders are faster than the disk: they wait for a place, asynchronously. A sender may be gone when
//! its answer is ready: then nobody gets it. After the stop, everybody gets `NOT_READY`.

use super::job_times::JobTimes;
use crate::chunk_store::{Author, ReadOut, Region, SyncJob, WriteOp};
use nyala_store::Lsn;
use nyala_transport::trace::{measured_part, part};
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::walk::{WalkAt, WalkPiece};
use nyala_wire::{ErrorCode, WireError};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Jobs that wait for one worker, or are in its hands.
const QUEUE_DEPTH: usize = 128;

/// What a worker is asked to do.
#[derive(Debug)]
pub enum Task {
    /// Write.
    Write(WriteOp),
    /// Read.
    Read {
        /// The chunk file.
        file: ChunkFileId,
        /// Where, bytes.
        offset: u64,
        /// How much, bytes.
        len: u32,
        /// Compare checksums.
        verify: bool,
    },
    /// What is between two offsets, for another member of a mirror group.
    Export {
        /// The chunk file.
        file: ChunkFileId,
        /// Blocks that cannot be read are a part of it, as bad ones.
        as_is: bool,
        /// From here, bytes.
        start: u64,
        /// To here, bytes.
        end: u64,
    },
    /// Make it what another member has.
    Import {
        /// The chunk file.
        file: ChunkFileId,
        /// What the other has.
        region: Region,
        /// Up to here, bytes; the largest number: to the end.
        end: u64,
    },
    /// Where there is something, from there on, whichever worker has it.
    PiecesFrom(WalkAt, usize),
    /// Which chunk files there are, from there on, whichever worker has them.
    FilesFrom(ChunkFileId, usize),
    /// What is there.
    Piece {
        /// Where.
        at: WalkAt,
        /// Compare it with its checksums.
        verify: bool,
    },
    /// A change for a client, refused if its session is fenced.
    Change(Author, ChunkFileId, StorageOp),
    /// Anything else, and changes that were looked at already.
    Other(ChunkFileId, StorageOp),
}

impl Task {
    /// The chunk file that it is about.
    pub fn file(&self) -> ChunkFileId {
        match self {
            Task::Write(op) => op.file,
            Task::PiecesFrom(at, _) | Task::Piece { at, .. } => at.file,
            Task::FilesFrom(file, _) => *file,
            Task::Read { file, .. } | Task::Export { file, .. } | Task::Import { file, .. } => *file,
            Task::Change(_, file, _) | Task::Other(file, _) => *file,
        }
    }

    /// The chunk file that it cuts, which is to be on disk before it is answered.
    pub fn cuts(&self) -> Option<ChunkFileId> {
        match self {
            Task::Change(_, file, StorageOp::Truncate { .. }) | Task::Other(file, StorageOp::Truncate { .. }) => {
                Some(*file)
            }
            _ => None,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    /// Done.
    Done,
    /// Done, and may be acknowledged once the log is on disk up to here.
    DoneWhenDurable(Lsn),
    /// Data.
    Read(ReadOut),
    /// What another member of a mirror group is to have.
    Region(Region),
    /// Length in bytes, use in units of 512 bytes.
    Stat(u64, u64),
    /// Where the data or hole is.
    Offset(Option<u64>),
    /// Where something is.
    Pieces(Vec<WalkAt>),
    /// Chunk files, and the fewest bytes that each has to have.
    Files(Vec<(ChunkFileId, u64)>),
    /// What it is.
    Piece(Option<WalkPiece>),
}

/// What came of a job, and how long it waited for a worker.
type Answered = (Result<Outcome, WireError>, Duration);

/// Where an answer goes.
pub(super) struct Answer {
    sender: oneshot::Sender<Answered>,
    /// How long the job waited for a worker.
    pub waited: Duration,
}

impl Answer {
    /// Answers; nobody may wait any more.
    pub fn send(self, result: Result<Outcome, WireError>) {
        let _ = self.sender.send((result, self.waited));
    }
}

pub(super) struct Job {
    pub task: Task,
    pub answer: Answer,
    pub permit: OwnedSemaphorePermit,
    pub queued: Instant,
}

pub(super) enum Message {
    Job(Job),
    /// A sync has ended.
    Synced(SyncJob, Option<ChunkFileId>),
    Stop,
}

pub(super) struct Queue {
    inner: Mutex<Inner>,
    ready: Condvar,
    permits: Arc<Semaphore>,
    pub times: JobTimes,
}

#[derive(Default)]
struct Inner {
    messages: VecDeque<Message>,
    sleeping: bool,
}

pub(super) fn stopping() -> WireError {
    ErrorCode::NOT_READY.with("the storage service is stopping")
}

/// A worker answered something that it was not asked.
pub(super) fn mistake() -> WireError {
    ErrorCode::IO.with("a worker gave something else; this is a mistake in the storage service")
}

impl Queue {
    pub fn new() -> Queue {
        Queue {
            inner: Mutex::default(),
            ready: Condvar::new(),
            permits: Arc::new(Semaphore::new(QUEUE_DEPTH)),
            times: JobTimes::default(),
        }
    }

    /// Has a task done.
    pub async fn call(&self, task: Task) -> Result<Outcome, WireError> {
        let permit = match self.permits.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => part("queue", self.permits.clone().acquire_owned()).await.map_err(|_| stopping())?,
        };
        let (sender, answered) = oneshot::channel();
        let answer = Answer { sender, waited: Duration::ZERO };
        self.push(Message::Job(Job { task, answer, permit, queued: Instant::now() }));
        let (result, waited) = answered.await.map_err(|_| stopping())?;
        measured_part("queue", waited);
        result
    }

    pub fn push(&self, message: Message) {
        let mut inner = self.inner.lock();
        inner.messages.push_back(message);
        let sleeping = std::mem::take(&mut inner.sleeping);
        drop(inner);
        if sleeping {
            self.ready.notify_one();
        }
    }

    /// Nobody gets a place any more; what has one is still done.
    pub fn stop(&self) {
        self.permits.close();
        self.push(Message::Stop);
    }

    /// Number of jobs that wait or are being done.
    pub fn depth(&self) -> usize {
        QUEUE_DEPTH.saturating_sub(self.permits.available_permits())
    }

    /// Moves up to `limit` messages to `taken`; waits for the first one, but not longer than `timeout`.
    pub fn take(&self, taken: &mut Vec<Message>, limit: usize, timeout: Duration) {
        let mut inner = self.inner.lock();
        if inner.messages.is_empty() {
            inner.sleeping = true;
            self.ready.wait_for(&mut inner, timeout);
            inner.sleeping = false;
        }
        let count = inner.messages.len().min(limit);
        taken.extend(inner.messages.drain(..count));
    }
}
