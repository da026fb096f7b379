// SPDX-License-Identifier: Apache-2.0

//! A thread that sends units which several writes have filled. Of many writers side by side, those that are behind complete the
//! units; if they sent them too, they would stay behind, and the others would wait for them.
//!
//! **Failure model.** There may be no further thread: then the writers send. The thread ends with the client, which lives as
//! long as something is being sent.

use std::sync::{Arc, OnceLock};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;

/// The thread, started when it is first needed.
#[derive(Default)]
pub(crate) struct SendThread {
    runtime: OnceLock<Option<Handle>>,
    end: Arc<Notify>,
}

impl SendThread {
    /// Where to send from; `None`: where one is.
    pub(crate) fn runtime(&self) -> Option<&Handle> {
        self.runtime.get_or_init(|| self.start()).as_ref()
    }

    fn start(&self) -> Option<Handle> {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let (handle, end) = (runtime.handle().clone(), self.end.clone());
        let thread = std::thread::Builder::new().name("nyala-send".into());
        let started = thread.spawn(move || runtime.block_on(end.notified()));
        started.is_ok().then_some(handle)
    }
}

impl Drop for SendThread {
    fn drop(&mut self) {
        self.end.notify_one();
    }
}
