// SPDX-License-Identifier: Apache-2.0

//! Disk work that the member wants done. Failure model: see the parent module. Work goes on when the member has lost
//! interest in it; its end is then ignored by the member.

use super::action::{Answered, Work};
use super::parse::{ChangeOp, ChangeRequest, Payload, ReadKind, own};
use super::shell::Shell;
use crate::chunk_store::SMALL_BYTES;
use crate::service::queue::{Outcome, Task, mistake};
use crate::service::read_reply::Found;
use nyala_replica::{Input, Job, Span, Ticket};
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageReply};
use nyala_wire::walk::WalkAt;
use nyala_wire::{ErrorCode, WireError};
use std::sync::Arc;

/// Chunk files that are listed at once.
const LISTED: usize = 256;

impl Shell {
    /// Does what takes time and is not on the way of most requests, and tells the member how it ended.
    pub(super) async fn work(&self, work: Work) {
        let (job, ok) = match work {
            Work::WriteRows => return self.write_rows().await,
            Work::ReadRegion { job, file, span, into, as_is } => {
                let read = self.read_region(file, span, into, as_is).await;
                let (last, bytes) = read.unwrap_or_default();
                return self.input(Input::Done { job, ok: read.is_some(), last, bytes });
            }
            Work::WriteRegion { job, file, end, region } => (job, self.write_region(file, end, region).await),
            Work::Flush { job, files } => (job, self.flush(files).await),
            Work::ListFiles { of, after } => {
                let files = self.files(after).await;
                return self.input(Input::Listed { of, after, files });
            }
        };
        self.input(done(job, ok));
    }

    fn says(&self, what: &str, error: &WireError) {
        let (group, target) = (self.shared.setup.group, self.shared.setup.me);
        tracing::error!(%group, %target, %error, "a member of a mirror group cannot {what}");
    }

    /// Writes the rows that have come together.
    async fn write_rows(&self) {
        let Some((jobs, result)) = self.shared.setup.target.persist_mirror(&self.shared.rows).await else { return };
        let ok = result.inspect_err(|error| self.says("write down what may differ", error)).is_ok();
        jobs.into_iter().for_each(|job| self.input(done(job, ok)));
    }

    pub(super) async fn apply(&self, job: Job, file: ChunkFileId, ticket: Ticket, request: Option<Payload>) {
        let Some(Payload::Change(request)) = request else {
            tracing::error!(group = %self.shared.setup.group, "a change without its request");
            return self.input(done(job, false));
        };
        let result = self.change(&request).await;
        self.applied([(Change { job, file, ticket, request }, result)]);
    }

    /// Changes have ended.
    pub(super) fn applied(&self, changes: impl IntoIterator<Item = (Change, Result<(), WireError>)>) {
        self.carry_out(self.steps(changes, |state, (Change { job, file, ticket, request }, result)| {
            state.flushes.changed(file);
            let refused = |error: &WireError| is_refusal(&request.op, error.code);
            let ok = result.as_ref().err().is_none_or(refused);
            if let Err(error) = result {
                // Rare, and worth the wait of others.
                (!ok).then(|| self.says("do a change", &error));
                state.refusals.refuse(ticket, error);
            }
            Some(done(job, ok))
        }));
    }

    async fn change(&self, request: &ChangeRequest) -> Result<(), WireError> {
        let target = &self.shared.setup.target;
        match &request.op {
            ChangeOp::Write(op) => {
                if op.data.len() >= SMALL_BYTES {
                    // Others can begin with it meanwhile: it goes to them first.
                    tokio::task::yield_now().await;
                }
                self.thread.inline_path.write(target, own(op)).await
            }
            ChangeOp::Other(file, StorageOp::Repair { offset, len, bad }) => {
                if *bad == self.shared.setup.me {
                    Box::pin(self.repair(*file, *offset, *len)).await;
                }
                Ok(())
            }
            ChangeOp::Other(file, op) => Box::pin(target.call(Task::Other(*file, op.clone()))).await.map(drop),
        }
    }

    pub(super) async fn read(&self, job: Job, file: ChunkFileId, kind: Option<ReadKind>) {
        let result = match kind {
            Some(kind) => Some(self.read_as(file, kind).await),
            None => None,
        };
        self.carry_out(self.step(|state| {
            state.data = result.map(|result| (job, result));
            // What went wrong with the read is part of its answer.
            Some(done(job, true))
        }));
    }

    async fn read_as(&self, file: ChunkFileId, kind: ReadKind) -> Result<Answered, WireError> {
        let target = &self.shared.setup.target;
        let task = match kind {
            ReadKind::Bulk { offset, len, verify: false } => {
                return self.thread.inline_path.read(target, file, offset, len).await.map(Answered::Read);
            }
            ReadKind::Bulk { offset, len, verify } => Task::Read { file, offset, len, verify },
            ReadKind::Stat => Task::Other(file, StorageOp::Stat),
            ReadKind::Seek { offset, hole } => Task::Other(file, StorageOp::Seek { offset, hole }),
        };
        match Box::pin(target.call(task)).await? {
            Outcome::Read(out) => Ok(Answered::Read(Found::Copied(out))),
            Outcome::Stat(len, blocks) => Ok(Answered::Reply(StorageReply::Stat { len, blocks })),
            Outcome::Offset(offset) => Ok(Answered::Reply(StorageReply::Offset(offset))),
            _ => Err(mistake()),
        }
    }

    /// The next chunk files of the target behind `after`.
    async fn files(&self, after: Option<ChunkFileId>) -> Option<Vec<ChunkFileId>> {
        let (mut files, mut after) = (Vec::new(), after);
        while files.len() < LISTED {
            // Behind all pieces that a file can have.
            let from = after.map_or_else(WalkAt::default, |file| WalkAt { file, offset: u64::MAX });
            match self.shared.setup.target.call(Task::PiecesFrom(from, 1)).await {
                Ok(Outcome::Pieces(places)) => after = places.first().map(|place| place.file),
                Ok(_) => return None,
                Err(error) => {
                    self.says("list its chunk files", &error);
                    return None;
                }
            }
            match after {
                Some(file) => files.push(file),
                None => break,
            }
        }
        Some(files)
    }

    /// Whether the file ends in the region, and the bytes that there are in it; `None`: it cannot be read.
    async fn read_region(&self, file: ChunkFileId, span: Span, into: Ticket, as_is: bool) -> Option<(bool, u64)> {
        let task = Task::Export { file, start: span.start, end: span.end, as_is };
        match self.shared.setup.target.call(task).await {
            Ok(Outcome::Region(region)) => {
                let found = (region.header.len <= span.end, region.data.len() as u64);
                self.shared.state()?.buffers.insert(into, Payload::Region(region));
                Some(found)
            }
            Ok(_) => None,
            Err(error) => {
                self.says("read a region for another one", &error);
                None
            }
        }
    }

    async fn write_region(&self, file: ChunkFileId, end: u64, region: Option<Payload>) -> bool {
        let Some(Payload::Region(region)) = region else { return false };
        let (bytes, setup) = (region.data.len() as u64, &self.shared.setup);
        let done = setup.target.call(Task::Import { file, region, end }).await;
        self.shared.state().into_iter().for_each(|mut state| state.flushes.changed(file));
        setup.common.count("mirror.regions_taken", 1);
        setup.common.count("mirror.region_bytes_taken", bytes);
        setup.common.count(&format!("mirror.{}.{}.taken_bytes", setup.group, setup.me), bytes);
        done.inspect_err(|error| self.says("take a region", error)).is_ok()
    }

    /// These files to disk.
    async fn flush(&self, files: Vec<ChunkFileId>) -> bool {
        let mut syncs = tokio::task::JoinSet::new();
        for file in files {
            let target = self.shared.setup.target.clone();
            syncs.spawn_local(async move { (file, target.call(Task::Other(file, StorageOp::Sync)).await.map(drop)) });
        }
        let mut all = true;
        while let Some(done) = syncs.join_next().await {
            let Ok((file, result)) = done else {
                all = false;
                continue;
            };
            self.shared.state().into_iter().for_each(|mut state| state.flushes.synced(file, result.is_ok()));
            if let Err(error) = result {
                all = false;
                self.says("sync a chunk file", &error);
            }
        }
        all
    }
}

/// A change in the hands of the disk.
pub(super) struct Change {
    pub job: Job,
    pub file: ChunkFileId,
    pub ticket: Ticket,
    pub request: Arc<ChangeRequest>,
}

fn done(job: Job, ok: bool) -> Input {
    Input::Done { job, ok, last: false, bytes: 0 }
}

/// What no member can do is not the failure of one. Room that is reserved here or not is no content.
fn is_refusal(op: &ChangeOp, code: ErrorCode) -> bool {
    let always = [
        ErrorCode::STALE,
        ErrorCode::FILE_TOO_BIG,
        ErrorCode::BAD_MESSAGE,
        ErrorCode::NOT_SUPPORTED,
        ErrorCode::BAD_BLOCK,
    ];
    let reserves = matches!(op, ChangeOp::Other(_, StorageOp::Allocate { .. }));
    always.contains(&code) || (reserves && code == ErrorCode::NO_SPACE)
}
