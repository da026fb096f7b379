// SPDX-License-Identifier: Apache-2.0

//! A drive of a drive service, as a member of a set has it.
//!
//! Failure model: see `held`, which does it.

use crate::attachment::AskError;
use crate::effects::split;
use crate::held::Shared;
use crate::thread::NetThread;
use nyala_drives::DriveAccess;
use nyala_raid::{Effect, Reply};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A drive of a drive service. Its requests wait on the caller's thread; the network is somebody else's.
pub(crate) struct RemoteDrive {
    pub location: String,
    pub shared: Arc<Shared>,
    pub thread: Arc<NetThread>,
}

impl DriveAccess for RemoteDrive {
    fn location(&self) -> &str {
        &self.location
    }

    fn is_there(&self) -> bool {
        let shared = self.shared.clone();
        self.thread.wait(async move { shared.is_there().await }).unwrap_or(false)
    }

    fn space(&self) -> Option<(u64, u64)> {
        let (total, free) = (self.shared.space.0.load(Ordering::Relaxed), self.shared.space.1.load(Ordering::Relaxed));
        (total > 0).then_some((total, free))
    }

    fn run(&self, effect: Effect) -> Reply {
        let shared = self.shared.clone();
        let failed = |error: &dyn std::fmt::Display| {
            tracing::warn!(drive = %self.location, %error, "a drive failed");
            Reply::Failed
        };
        let all = async move {
            let mut reply = Reply::Done;
            for effect in split(effect) {
                reply = shared.run(effect).await?;
                if matches!(reply, Reply::Failed) {
                    break;
                }
            }
            Ok(reply)
        };
        match self.thread.wait::<Result<Reply, AskError>>(all) {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => failed(&error),
            Err(error) => failed(&error),
        }
    }

    fn is_taken(&self) -> bool {
        self.shared.taken.load(Ordering::Relaxed)
    }

    fn instance(&self) -> Option<String> {
        Some(self.shared.instance.clone())
    }
}
