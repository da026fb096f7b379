// SPDX-License-Identifier: Apache-2.0

//! All files at once: `sync`, and a client's orderly end.
//!
//! **Failure model.** A file that cannot be pushed does not keep the others: all are tried, and the first error is told.
//! A session that cannot be closed ends by its timeout at the server.

use crate::core::Core;
use crate::error::Result;
use crate::push::Push;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Core {
    /// Everything is on disk.
    pub(crate) async fn sync_all(self: &Arc<Core>) -> Result<()> {
        let mut result = Ok(());
        self.send_all_closed().await;
        for file in self.files.all() {
            let (needed, known) = {
                let state = file.state.lock();
                (!state.is_clean() || state.unsynced.has_own(), state.layout.is_some())
            };
            if needed && known {
                let _gate = file.gate.lock().await;
                result = result.and(self.push(&file, Push { sync: true, ..Push::default() }).await);
            }
        }
        result = result.and(self.sync_forgotten().await);
        for target in self.maps.targets(nyala_wire::map::TargetKind::Meta) {
            let synced = self.meta_at("sync metadata", nyala_wire::meta::MetaOp::Sync, target).await;
            result = result.and(synced.map(drop));
        }
        result
    }

    /// Everything goes out and is closed; then nothing works any more.
    pub(crate) async fn shut_down(self: &Arc<Core>) -> Result<()> {
        let mut result = Ok(());
        self.send_all_closed().await;
        for file in self.files.all() {
            let (known, close) = {
                let state = file.state.lock();
                (state.layout.is_some(), state.opened)
            };
            if known {
                let _gate = file.gate.lock().await;
                result = result.and(self.push(&file, Push { close, ..Push::default() }).await);
            }
        }
        self.settle().await;
        self.stopping.store(true, Ordering::Release);
        self.stop.notify_one();
        for session in self.all_sessions() {
            if let Err(error) = session.close(self).await {
                tracing::debug!(target = %session.target, %error, "session left to its timeout");
            }
        }
        result
    }
}
