// SPDX-License-Identifier: Apache-2.0

//! Locks of applications.
//!
//! **Failure model.** Whoever waits may be interrupted at any moment, a request that takes the lock being under way then:
//! such a request always runs to its end, and a lock that nobody waits for any more is given up again. Locks die with
//! the session: after it was lost, they are not taken again, as somebody else may have had them meanwhile.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::maps::odd;
use nyala_wire::meta::{FileLock, LockKind, MetaOp, MetaReply, Owner};
use nyala_wire::{ErrorCode, InodeId};
use std::sync::Arc;
use tokio::sync::oneshot;

impl Core {
    pub(crate) async fn get_lock(self: &Arc<Core>, inode: InodeId, lock: FileLock) -> Result<Option<FileLock>> {
        match self.meta("look for a lock", MetaOp::GetLock { inode, lock }, Owner::default()).await? {
            MetaReply::Lock(found) => Ok(found),
            _ => Err(odd("look for a lock")),
        }
    }

    pub(crate) async fn set_lock(self: &Arc<Core>, inode: InodeId, lock: FileLock, wait: bool) -> Result<()> {
        loop {
            match self.try_lock(inode, lock).await {
                Err(error) if wait && error.is(ErrorCode::AGAIN) => {}
                other => return other,
            }
            self.meta_done("wait for a lock", MetaOp::LockWait { inode, lock }).await?;
        }
    }

    /// Runs in the background, so that dropping the caller's future does not leave its outcome open.
    async fn try_lock(self: &Arc<Core>, inode: InodeId, lock: FileLock) -> Result<()> {
        let (tell, told) = oneshot::channel();
        let core = self.clone();
        let started = self.spawn(async move {
            let result = core.meta_done("lock a file", MetaOp::SetLock { inode, lock }).await;
            let unwanted = match tell.send(result) {
                Err(Ok(())) => lock.kind != LockKind::Unlock,
                _ => false,
            };
            if unwanted {
                let lock = FileLock { kind: LockKind::Unlock, ..lock };
                if let Err(error) = core.meta_done("give a lock up", MetaOp::SetLock { inode, lock }).await {
                    tracing::warn!(%inode, %error, "a lock that nobody waits for any more was not given up");
                }
            }
        });
        if !started {
            return Err(Error::ShutDown);
        }
        told.await.unwrap_or(Err(Error::ShutDown))
    }
}
