// SPDX-License-Identifier: Apache-2.0

//! Closed small files. A file that was written under an exclusive lease and is closed again would cost a request of its own
//! to say what is in it, and its program a round trip. Instead its content waits for a moment ([`PutOff`]) and goes out
//! with that of others. Nobody can tell the difference from elsewhere: who looks at the file has the lease revoked first,
//! and before that goes back the content is sent (`Core::let_go`).
//!
//! **Failure model.** The client may end or lose its session in this moment: then the content of files that nobody synced is
//! lost, as it is while they are open. A server that is short of space may not take it: there nothing is put off, and
//! `close` says ENOSPC. A file is not renamed before its content is out, so that what is replaced that way is
//! never lost for nothing. The server may refuse one and take others; a refused one goes out by itself, as when a program
//! waits for it. If that fails the file keeps it, for whoever has it open, the log says it, and closes wait for their
//! servers for a while, so that programs hear of the next failures. A file may be removed, opened, written, locked for a
//! push by others meanwhile: whoever holds the gate sends what is there.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::file::File;
use crate::logic::put_off::Next;
use crate::maps::odd;
use crate::push::Push;
use crate::push_inline::{Sent, Taken};
use bytes::Bytes;
use nyala_wire::InodeId;
use nyala_wire::map::CapacityPool;
use nyala_wire::meta::{LeaseMode, MAX_PUTS, MetaOp, MetaReply, Owner, PutInline, PutOutcome};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::MutexGuard;
use tokio::task::JoinSet;

/// Most content in one request, bytes.
const MAX_BYTES: usize = 256 << 10;

/// A file whose content is in a request.
struct Going<'a> {
    file: &'a Arc<File>,
    data: Bytes,
    sent: Sent<'a>,
    _gate: MutexGuard<'a, ()>,
}

impl Core {
    /// Instead of a push at a close: whether the file's content goes out by itself in a moment.
    pub(crate) fn put_off(&self, file: &Arc<File>) -> bool {
        if self.leased(file.inode) != LeaseMode::Exclusive || !self.has_room(file.inode) {
            return false;
        }
        let now_ms = self.now_ms();
        let mut closed = self.closed.lock();
        let mut state = file.state.lock();
        if state.put_off || !state.is_new_inline() || !closed.may(now_ms) {
            return state.put_off;
        }
        state.put_off = true;
        drop(state);
        let look = closed.put(self.files.acquire(file.inode), now_ms);
        drop(closed);
        if look {
            self.closed_more.notify_one();
        }
        true
    }

    /// Whether the file's server is not short of space: who closes a file there should hear if it does not fit.
    fn has_room(&self, inode: InodeId) -> bool {
        let map = &self.maps.view().map;
        let target = map.slot_target(inode.slot()).and_then(|target| map.target(target));
        target.is_some_and(|target| target.capacity_pool == CapacityPool::Normal)
    }

    /// Before a file gets another name: its content is at the server.
    pub(crate) async fn push_closed(self: &Arc<Core>, inode: InodeId) -> Result<()> {
        let Some(file) = self.files.get(inode).filter(|file| file.state.lock().put_off) else { return Ok(()) };
        self.push_out(&file).await
    }

    /// Looks after closed files until the client ends. Runs on the client's own thread.
    pub(crate) async fn send_closed_when_due(core: Weak<Core>) {
        while let Some(strong) = core.upgrade().filter(|core| !core.is_stopped()) {
            let more = strong.closed_more.clone();
            let next = strong.closed.lock().next(strong.now_ms());
            match next {
                Next::Take(files) => {
                    let background = strong.clone();
                    strong.spawn(async move { background.send_closed(files).await });
                }
                Next::Wait(ms) => {
                    // The client lives as long as something waits. why ignored: either way it looks again.
                    let _ = tokio::time::timeout(Duration::from_millis(ms), more.notified()).await;
                }
                Next::Idle => {
                    drop(strong);
                    more.notified().await;
                }
            }
        }
    }

    /// Sends what waits now, due or not.
    pub(crate) async fn send_all_closed(self: &Arc<Core>) {
        let files = self.closed.lock().take_all();
        self.send_closed(files).await;
    }

    async fn send_closed(self: &Arc<Core>, files: Vec<Arc<File>>) {
        let view = self.maps.view();
        let mut by_server: BTreeMap<_, Vec<Arc<File>>> = BTreeMap::new();
        for file in files {
            by_server.entry(view.map.slot_target(file.inode.slot())).or_default().push(file);
        }
        let mut sends = JoinSet::new();
        for (_, files) in by_server {
            let core = self.clone();
            sends.spawn(async move {
                for part in files.chunks(MAX_PUTS) {
                    core.send_together(part).await;
                }
                core.closed.lock().done(files.len());
                files.iter().for_each(|file| core.release(file));
            });
        }
        while sends.join_next().await.is_some() {}
    }

    /// Files of one server.
    async fn send_together(self: &Arc<Core>, files: &[Arc<File>]) {
        let (mut puts, mut going, mut alone, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for file in files {
            let gate = file.gate.try_lock();
            let mut state = file.state.lock();
            state.put_off = false;
            let (size, clean) = (state.size as usize, state.is_clean());
            drop(state);
            if clean {
                continue;
            }
            let Ok(gate) = gate else {
                alone.push(file);
                continue;
            };
            bytes += size;
            let taken = if bytes <= MAX_BYTES { self.take_inline(file, Push::default()) } else { None };
            let Some(Taken { put, sent }) = taken else {
                alone.push(file);
                continue;
            };
            going.push(Going { file, data: Bytes::copy_from_slice(&put.data), sent, _gate: gate });
            puts.push(put);
        }
        if !puts.is_empty() {
            alone.extend(self.send_puts(puts, going).await);
        }
        let mut pushes = JoinSet::new();
        for file in alone {
            let (core, file) = (self.clone(), file.clone());
            pushes.spawn(async move { core.closed_pushed(core.push_out(&file).await) });
        }
        while pushes.join_next().await.is_some() {}
    }

    /// The files that were refused.
    async fn send_puts<'a>(self: &Arc<Core>, puts: Vec<PutInline>, going: Vec<Going<'a>>) -> Vec<&'a Arc<File>> {
        const WHAT: &str = "store small files";
        let outcomes = match self.meta(WHAT, MetaOp::PutInlines { puts }, Owner::default()).await {
            Ok(MetaReply::Inlines(outcomes)) if outcomes.len() == going.len() => Ok(outcomes),
            Ok(_) => Err(odd(WHAT)),
            Err(error) => Err(error),
        };
        let outcomes = match outcomes {
            Ok(outcomes) => outcomes,
            Err(error) => {
                for Going { file, sent, .. } in going {
                    self.closed_pushed(sent.failed(error.clone()).inspect_err(|error| file.fail(error.clone())));
                }
                return Vec::new();
            }
        };
        let mut refused = Vec::new();
        for (one, outcome) in going.into_iter().zip(outcomes) {
            match outcome {
                PutOutcome::Taken { attr, version } => one.sent.stored(one.data, &attr, version),
                PutOutcome::Refused(_) => refused.push(one.file),
            }
        }
        refused
    }

    fn closed_pushed(&self, pushed: Result<(), Error>) {
        if pushed.is_err() {
            self.closed.lock().failed(self.now_ms());
        }
    }
}
