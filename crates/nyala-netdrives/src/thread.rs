// SPDX-License-Identifier: Apache-2.0

//! The thread that does what the network does. Failure model: see the crate; if it has ended, whoever waits is told.

use std::io;
use std::sync::mpsc;

/// It ends when its last user is gone, wherever that is.
pub(crate) struct NetThread {
    runtime: tokio::runtime::Handle,
    _end: tokio::sync::oneshot::Sender<()>,
}

impl NetThread {
    pub fn start() -> io::Result<NetThread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (handle, (end, ended)) = (runtime.handle().clone(), tokio::sync::oneshot::channel());
        let work = move || {
            // An error is the end.
            let _: Result<(), _> = runtime.block_on(ended);
        };
        std::thread::Builder::new().name("nyala-netdrives".into()).spawn(work)?;
        Ok(NetThread { runtime: handle, _end: end })
    }

    /// Waits for something that the network does. The caller may be a thread of another runtime: only its own work waits.
    pub fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
        let (report, done) = mpsc::channel();
        self.runtime.spawn(async move {
            // An error means that nobody waits any more.
            let _ = report.send(work.await);
        });
        done.recv().map_err(|_| io::Error::other("the network's thread has ended"))
    }
}
