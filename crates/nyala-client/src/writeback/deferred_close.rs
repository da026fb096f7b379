// SPDX-License-Identifier: Apache-2.0

//! Closed small files. A file that was written under an exclusive delegation and is closed again would cost a request of its own
//! to say what is in it, and its program a round trip. Instead its content waits for a moment
//! (`writeback::logic::deferred_close`) and goes out with that of others. Nobody can tell the difference from
//! elsewhere: who looks at the file has the delegation revoked first, and before that goes back the content is sent
//! (`Writeback::let_go`).
//!
//! **Failure model.** The client may end or lose its session in this moment: then the content of files that nobody synced is
//! lost, as it is while they are open. A server that is short of space may not take it: there nothing is put off, and
//! `close` says ENOSPC. A file is not renamed before its content is out, so that what is replaced that way is
//! never lost for nothing. The server may refuse one and take others; a refused one goes out by itself, as when a program
//! waits for it. If that fails the file keeps it, for whoever has it open, the log says it, and closes wait for their
//! servers for a while, so that programs hear of the next failures. A file may be removed, opened, written, locked for a
//! push by others meanwhile: whoever holds the gate sends what is there.

use crate::error::Result;
use crate::file::state::File;
use crate::writeback::logic::deferred_close::Next;
use crate::writeback::owner::Writeback;
use nyala_wire::InodeId;
use nyala_wire::map::CapacityPool;
use nyala_wire::meta::DelegationMode;
use std::sync::{Arc, Weak};
use std::time::Duration;

impl Writeback {
    /// Instead of a push at a close: whether the file's content goes out by itself in a moment.
    pub(crate) fn defer_close(&self, file: &Arc<File>) -> bool {
        if self.delegations.delegation(file.inode) != DelegationMode::Exclusive || !self.has_room(file.inode) {
            return false;
        }
        let now_ms = self.ctx.now_ms();
        let mut closed = self.deferred_closes.lock();
        let mut state = file.state.lock();
        let waits = state.open().is_close_deferred();
        if !state.is_new_inline() || self.ctx.is_stopped() || !(waits || closed.may(now_ms)) {
            return false;
        }
        if waits {
            return true;
        }
        state.open_mut().defer_close();
        drop(state);
        let look = closed.put(self.files.acquire(file.inode), now_ms);
        drop(closed);
        if look {
            self.deferred_wake.notify_one();
        }
        true
    }

    /// Whether the file's server is not short of space: who closes a file there should hear if it does not fit.
    fn has_room(&self, inode: InodeId) -> bool {
        let view = self.cluster.maps.view();
        let target = view.map.slot_target(inode.slot()).and_then(|server| view.server_target(server));
        target.is_some_and(|target| target.capacity_pool == CapacityPool::Normal)
    }

    /// Before a file gets another name: its content is at the server.
    pub(crate) async fn flush_deferred(self: &Arc<Writeback>, inode: InodeId) -> Result<()> {
        let Some(file) = self.files.get(inode).filter(|file| file.state.lock().open().is_close_deferred()) else {
            return Ok(());
        };
        self.flush_now(&file).await
    }

    /// Looks after closed files until the client ends. Runs on the client's own thread.
    pub(crate) async fn send_deferred_when_due(writeback: Weak<Writeback>) {
        while let Some(strong) = writeback.upgrade().filter(|writeback| !writeback.ctx.is_stopped()) {
            let more = strong.deferred_wake.clone();
            let next = strong.deferred_closes.lock().next(strong.ctx.now_ms());
            match next {
                Next::Take(files) => {
                    let background = strong.clone();
                    strong.ctx.spawn(async move { background.send_deferred(files).await });
                }
                Next::Wait(ms) => {
                    let _client = strong.ctx.hold();
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
    pub(crate) async fn send_all_deferred(self: &Arc<Writeback>) {
        let files = self.deferred_closes.lock().take_all();
        self.send_deferred(files).await;
    }
}
