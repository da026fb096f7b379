// SPDX-License-Identifier: Apache-2.0

//! Sending the content of closed small files together (`writeback::deferred_close` says why and when).
//!
//! **Failure model.** One request carries many files. Where it fails, all have failed; where it is answered, each is taken or
//! refused, and a refused one goes out by itself, which finds out what is the matter. Others may be at a file at the same
//! time: what they push is not sent here.

mod parts;

use crate::error::Result;
use crate::file::state::File;
use crate::rpc::bound::{Bound, UNBOUND};
use crate::rpc::failure::unexpected_reply;
use crate::writeback::flush::Flush;
use crate::writeback::flush_inline::{Sent, Taken};
use crate::writeback::owner::Writeback;
use bytes::Bytes;
use nyala_wire::SessionId;
use nyala_wire::meta::{MetaOp, MetaReply, PutInline, PutOutcome, Want};
use parts::parts;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::MutexGuard;
use tokio::task::JoinSet;

/// A file whose content is in a request.
struct Going<'a> {
    file: &'a Arc<File>,
    data: Bytes,
    sent: Sent<'a>,
    _gate: MutexGuard<'a, ()>,
}

impl Writeback {
    pub(crate) async fn send_deferred(self: &Arc<Writeback>, files: Vec<Arc<File>>) {
        let view = self.cluster.maps.view();
        let mut by_server: BTreeMap<_, Vec<Arc<File>>> = BTreeMap::new();
        for file in files {
            by_server.entry(view.map.slot_target(file.inode.slot())).or_default().push(file);
        }
        let mut sends = JoinSet::new();
        for (_, files) in by_server {
            for part in parts(files) {
                let writeback = self.clone();
                sends.spawn(async move {
                    writeback.send_batch(&part).await;
                    writeback.deferred_closes.lock().done(part.len());
                    part.iter().for_each(|file| writeback.files.release(file));
                });
            }
        }
        while sends.join_next().await.is_some() {}
    }

    /// Files of one server.
    async fn send_batch(self: &Arc<Writeback>, files: &[Arc<File>]) {
        let (mut puts, mut going, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        // One request is bound to one session.
        let mut under: Option<SessionId> = None;
        for file in files {
            let gate = file.gate.try_lock();
            let mut state = file.state.lock();
            state.open_mut().settle_close();
            let clean = state.is_clean();
            drop(state);
            if clean {
                continue;
            }
            let Ok(gate) = gate else {
                alone.push(file);
                continue;
            };
            let Some(Taken { put, session, sent }) = self.take_inline(file, Flush::default()) else {
                alone.push(file);
                continue;
            };
            if *under.get_or_insert(session) != session {
                drop(sent);
                alone.push(file);
                continue;
            }
            going.push(Going { file, data: put.data.clone(), sent, _gate: gate });
            puts.push(put);
        }
        if let Some(first) = puts.first().map(|put: &PutInline| put.inode) {
            let bound = Bound::new(first, under.unwrap_or(UNBOUND));
            alone.extend(self.send_puts(puts, going, bound).await);
        }
        let mut pushes = JoinSet::new();
        for file in alone {
            let (writeback, file) = (self.clone(), file.clone());
            pushes.spawn(async move { writeback.note_sent(writeback.flush_now(&file).await) });
        }
        while pushes.join_next().await.is_some() {}
    }

    /// The files that were refused.
    async fn send_puts<'a>(
        self: &Arc<Writeback>,
        puts: Vec<PutInline>,
        going: Vec<Going<'a>>,
        bound: Bound,
    ) -> Vec<&'a Arc<File>> {
        const WHAT: &str = "store small files";
        let answer = self.cluster.meta_bound(WHAT, MetaOp::PutInlines { puts }, Want::NOTHING, bound).await;
        let outcomes = match answer.map(|answer| answer.reply) {
            Ok(MetaReply::Inlines(outcomes)) if outcomes.len() == going.len() => outcomes,
            other => {
                let error = other.err().unwrap_or_else(|| unexpected_reply(WHAT));
                for Going { file, sent, .. } in going {
                    self.note_sent(sent.failed(error.clone()).inspect_err(|error| file.fail(error.clone())));
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

    fn note_sent(&self, flushed: Result<()>) {
        if flushed.is_err() {
            self.deferred_closes.lock().failed(self.ctx.now_ms());
        }
    }
}
