// SPDX-License-Identifier: Apache-2.0

//! Disk work that the member wants done. Failure model: see the parent module. Work goes on when the member has lost
//! interest in it; its end is then ignored by the member.

use super::entry::Answered;
use super::parse::{ChangeOp, ChangeRequest, Payload, ReadKind};
use super::shell::Shell;
use crate::chunk_store::{ChunkWorker, SMALL_BYTES, WriteOp};
use crate::service::queue::{Outcome, Task, mistake};
use crate::service::read_reply::Found;
use nyala_replica::{Change, Effect, Input, Job, Row, Span, Ticket, Token};
use nyala_wire::storage::{ChunkFileId, Stamp, StorageOp, StorageReply};
use nyala_wire::walk::WalkAt;
use nyala_wire::{ErrorCode, WireError};
use std::rc::Rc;

/// Chunk files that are listed at once.
const LISTED: usize = 256;

impl Shell {
    pub(super) fn begin(self: &Rc<Self>, effect: Effect) {
        let shell = self.clone();
        tokio::task::spawn_local(async move {
            let (job, ok) = match effect {
                Effect::Persist { job, rows, durable } => (job, shell.persist(rows, durable).await),
                Effect::Apply { job, change, payload } => (job, shell.apply(change, payload).await),
                Effect::Read { job, token, file, .. } => return shell.read(job, token, file).await,
                Effect::ReadRegion { job, file, span, into } => {
                    let read = shell.read_region(file, span, into).await;
                    let (last, bytes) = read.unwrap_or_default();
                    return shell.input(Input::Done { job, ok: read.is_some(), last, bytes });
                }
                Effect::WriteRegion { job, file, span, from } => (job, shell.write_region(file, span, from).await),
                Effect::Flush { job } => (job, shell.flush().await),
                Effect::ListFiles { of, after } => {
                    let files = shell.files(after).await;
                    return shell.input(Input::Listed { of, after, files });
                }
                Effect::Reply(..) | Effect::Send(..) | Effect::Drop(_) | Effect::Ask(_) | Effect::FetchMap => return,
            };
            shell.input(Input::Done { job, ok, last: false, bytes: 0 });
        });
    }

    fn says(&self, what: &str, error: &WireError) {
        let (group, target) = (self.setup.group, self.setup.me);
        tracing::error!(%group, %target, %error, "a member of a mirror group cannot {what}");
    }

    async fn persist(&self, rows: Vec<Row>, durable: bool) -> bool {
        let done = self.setup.target.persist_mirror(&self.rows, &rows, durable).await;
        done.inspect_err(|error| self.says("write down what may differ", error)).is_ok()
    }

    async fn apply(&self, change: Change, ticket: Ticket) -> bool {
        let payload = self.state.borrow().buffers.get(&ticket).cloned();
        let Some(Payload::Change(request)) = payload else {
            tracing::error!(group = %self.setup.group, "a change without its request");
            return false;
        };
        let result = self.change(&request).await;
        let mut state = self.state.borrow_mut();
        state.flushes.changed(change.file);
        let Err(error) = result else { return true };
        let refused = is_refusal(&request.op, error.code);
        if !refused {
            self.says("do a change", &error);
        }
        state.refusals.refuse(ticket, error);
        refused
    }

    async fn change(&self, request: &ChangeRequest) -> Result<(), WireError> {
        let target = &self.setup.target;
        match &request.op {
            ChangeOp::Write(op) => {
                // The session was looked at when the request came in; what was let in is done on all members.
                let op = WriteOp { session: ChunkWorker::OWN, stamp: Stamp::default(), ..op.clone() };
                // One thread serves the group: it must not spend its time copying.
                match op.data.len() < SMALL_BYTES {
                    true => self.inline_path.write(target, op).await,
                    false => target.call(Task::Write(op)).await.map(drop),
                }
            }
            ChangeOp::Other(file, StorageOp::Repair { offset, len, bad }) => {
                if *bad == self.setup.me {
                    self.repair(*file, *offset, *len).await;
                }
                Ok(())
            }
            ChangeOp::Other(file, op) => target.call(Task::Other(*file, op.clone())).await.map(drop),
        }
    }

    async fn read(self: Rc<Self>, job: Job, token: Token, file: ChunkFileId) {
        let kind = self.state.borrow().waiting.get(&token).and_then(|waiting| waiting.read);
        if let Some(kind) = kind {
            let result = self.read_as(file, kind).await;
            self.state.borrow_mut().data.insert(job, result);
        }
        // What went wrong with the read is part of its answer.
        self.input(Input::Done { job, ok: true, last: false, bytes: 0 });
        self.state.borrow_mut().data.remove(&job);
    }

    async fn read_as(&self, file: ChunkFileId, kind: ReadKind) -> Result<Answered, WireError> {
        let target = &self.setup.target;
        let outcome = match kind {
            ReadKind::Bulk { offset, len, verify: false } => {
                return self.inline_path.read(target, file, offset, len).await.map(Answered::Read);
            }
            ReadKind::Bulk { offset, len, verify } => target.call(Task::Read { file, offset, len, verify }).await?,
            ReadKind::Stat => target.call(Task::Other(file, StorageOp::Stat)).await?,
            ReadKind::Seek { offset, hole } => target.call(Task::Other(file, StorageOp::Seek { offset, hole })).await?,
        };
        match outcome {
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
            match self.setup.target.call(Task::PiecesFrom(from, 1)).await {
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
    async fn read_region(&self, file: ChunkFileId, span: Span, into: Ticket) -> Option<(bool, u64)> {
        let task = Task::Export { file, start: span.start, end: span.end };
        match self.setup.target.call(task).await {
            Ok(Outcome::Region(region)) => {
                let found = (region.header.len <= span.end, region.data.len() as u64);
                let mut state = self.state.borrow_mut();
                state.buffers.insert(into, Payload::Region(region));
                Some(found)
            }
            Ok(_) => None,
            Err(error) => {
                self.says("read a region for another one", &error);
                None
            }
        }
    }

    async fn write_region(&self, file: ChunkFileId, span: Span, from: Ticket) -> bool {
        let payload = self.state.borrow().buffers.get(&from).cloned();
        let Some(Payload::Region(region)) = payload else { return false };
        let bytes = region.data.len() as u64;
        let done = self.setup.target.call(Task::Import { file, region, end: span.end }).await;
        self.state.borrow_mut().flushes.changed(file);
        if let Some(mirrors) = self.setup.mirrors.upgrade() {
            mirrors.count("mirror.regions_taken", 1);
            mirrors.count("mirror.region_bytes_taken", bytes);
            mirrors.count(&format!("mirror.{}.{}.taken_bytes", self.setup.group, self.setup.me), bytes);
        }
        done.inspect_err(|error| self.says("take a region", error)).is_ok()
    }

    /// All files with changes to disk.
    async fn flush(&self) -> bool {
        let files = self.state.borrow_mut().flushes.begin();
        let mut syncs = tokio::task::JoinSet::new();
        for file in files {
            let target = self.setup.target.clone();
            syncs.spawn_local(async move { (file, target.call(Task::Other(file, StorageOp::Sync)).await.map(drop)) });
        }
        let mut all = true;
        while let Some(done) = syncs.join_next().await {
            let Ok((file, result)) = done else {
                all = false;
                continue;
            };
            self.state.borrow_mut().flushes.synced(file, result.is_ok());
            if let Err(error) = result {
                all = false;
                self.says("sync a chunk file", &error);
            }
        }
        all
    }
}

/// What no member can do is not the failure of one. Room that is reserved here or not is no content.
fn is_refusal(op: &ChangeOp, code: ErrorCode) -> bool {
    let always = [ErrorCode::STALE, ErrorCode::FILE_TOO_BIG, ErrorCode::BAD_MESSAGE, ErrorCode::NOT_SUPPORTED];
    let reserves = matches!(op, ChangeOp::Other(_, StorageOp::Allocate { .. }));
    always.contains(&code) || (reserves && code == ErrorCode::NO_SPACE)
}
