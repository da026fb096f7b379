// SPDX-License-Identifier: Apache-2.0

//! All files at once: `sync`, and a client's orderly end.
//!
//! **Failure model.** A file that cannot be pushed does not keep the others: all are tried, and the first error is told.
//! A session that cannot be closed ends by its timeout at the server. Servers may be away: the end waits for all of them together
//! for as long as for one call. A server that loses power afterwards has nobody to hear from what it had acknowledged: so the end is a sync.

use crate::core::Core;
use crate::error::Result;
use crate::rpc::deadline::{Deadline, within};
use crate::rpc::session_close::close_session;
use crate::writeback::flush::Flush;
use nyala_wire::meta::MetaOp;
use std::sync::Arc;
use std::time::Duration;

/// How long a server has to hear of a session's end.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

impl Core {
    /// Everything is on disk.
    pub(crate) async fn sync_all(self: &Arc<Core>) -> Result<()> {
        let mut result = self.sync_files(false).await;
        result = result.and(self.writeback.sync_forgotten().await);
        for target in self.cluster.maps.view().map.metadata_servers() {
            let synced = self.cluster.meta_at("sync metadata", MetaOp::Sync, target).await;
            result = result.and(synced.map(drop));
        }
        result?;
        self.cluster.confirm_all().await
    }

    /// Everything goes out, is closed and on disk, as after a local file system's unmount; then nothing works any more. What has not gone out when a call
    /// would have to end is lost, and said to be.
    pub(crate) async fn shut_down(self: &Arc<Core>) -> Result<()> {
        let deadline = Deadline::of_call(&self.ctx);
        let what = "write everything before the end";
        let flushed =
            deadline.wait(what, "servers that are away", within(self.ctx.retry_timeout(), self.flush_all_and_close()));
        let result = flushed.await.and_then(|flushed| flushed);
        self.ctx.stop();
        for file in self.files.all().iter().filter(|file| !file.state.lock().is_clean()) {
            let name = self.files.name_of(file.inode).unwrap_or_else(|| "name not known".into());
            tracing::error!(inode = %file.inode, name, "what was written to this file last is lost: its servers did not take it in time");
        }
        for session in self.cluster.all_sessions() {
            let closed = tokio::time::timeout(CLOSE_WAIT, close_session(&self.cluster, &session)).await;
            if !matches!(closed, Ok(Ok(()))) {
                tracing::debug!(target = %session.target, ?closed, "session left to its timeout");
            }
        }
        result
    }

    async fn flush_all_and_close(self: &Arc<Core>) -> Result<()> {
        let result = self.sync_files(true).await;
        self.ctx.settle().await;
        result.and(self.sync_what_is_left().await)
    }

    /// What was written to the files that are known here is on disk; in the end their servers hear that nobody has them open.
    async fn sync_files(self: &Arc<Core>, ends: bool) -> Result<()> {
        let mut result = Ok(());
        self.writeback.send_all_deferred().await;
        for file in self.files.all() {
            let (known, sync, close) = {
                let state = file.state.lock();
                let unsynced = !state.is_clean() || state.unsynced().has_own();
                (state.is_known(), unsynced, ends && state.open().is_registered())
            };
            if known && (sync || ends) {
                let flushed = match file.pass_gate(&self.ctx).await {
                    Ok(_gate) => self.writeback.flush(&file, Flush { close, sync, ..Flush::default() }).await,
                    Err(error) => Err(error),
                };
                result = result.and(flushed);
            }
        }
        result
    }

    /// What was acknowledged and may not be on disk yet: of files that are forgotten here, and names. Servers where there is nothing are not asked.
    async fn sync_what_is_left(self: &Arc<Core>) -> Result<()> {
        let mut result = self.writeback.sync_forgotten().await;
        for session in self.cluster.all_sessions().into_iter().filter(|session| session.has_unsynced()) {
            let synced = self.cluster.meta_at("sync metadata", MetaOp::Sync, session.target).await;
            result = result.and(synced.map(drop));
        }
        result?;
        self.cluster.confirm_all().await
    }
}
