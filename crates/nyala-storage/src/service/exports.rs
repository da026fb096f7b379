// SPDX-License-Identifier: Apache-2.0

//! Drives of this host that targets of other hosts may lie on. They are lent out before any target is opened, so that hosts that start together do not wait for each
//! other, and until all targets are closed, of which some may lie on them. Failure model: that of `nyala_netdrives`.

use crate::config::StorageConfig;
use crate::error::StorageError;
use nyala_netdrives::DriveServer;
use nyala_transport::{Secret, ShutdownHandle, TransportError};
use std::io;
use tokio::sync::oneshot;

/// The thread that lends them out, if there are any.
pub(super) struct Exports(Option<(ShutdownHandle, oneshot::Receiver<Result<(), TransportError>>)>);

impl Exports {
    /// Listens.
    pub fn start(config: &StorageConfig, secret: &Secret) -> Result<Exports, StorageError> {
        if config.exports.is_empty() {
            return Ok(Exports(None));
        }
        let server = DriveServer::bind(config.drive_listen, secret.clone(), config.encrypt, config.exports.clone())?;
        let stop = server.shutdown_handle();
        let failed = |error| StorageError::System { what: "cannot start a thread", error };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (report, ended) = oneshot::channel();
        let serve = move || {
            // An error means that nobody waits any more.
            let _ = report.send(tokio::task::LocalSet::new().block_on(&runtime, server.serve()));
        };
        std::thread::Builder::new().name("nyala-exports".into()).spawn(serve).map_err(failed)?;
        let names: Vec<&str> = config.exports.iter().map(|export| export.name.as_str()).collect();
        tracing::info!(listen = %config.drive_listen, ?names, "drives are lent out");
        Ok(Exports(Some((stop, ended))))
    }

    /// They are lent out no more, which does not happen by itself unless something is wrong; never where there are none.
    pub async fn ended(&mut self) -> StorageError {
        let Some((_, ended)) = &mut self.0 else { return std::future::pending().await };
        let how = ended.await;
        // What it says is said once.
        self.0 = None;
        match how {
            Ok(Err(error)) => error.into(),
            Ok(Ok(())) | Err(_) => {
                let error = io::Error::other("it panicked, or was told to stop");
                StorageError::System { what: "the thread that lends drives out has ended", error }
            }
        }
    }

    /// Ends it.
    pub async fn stop(self) {
        if let Some((stop, ended)) = self.0 {
            stop.stop();
            // How it ended does not matter any more.
            let _ = ended.await;
        }
    }
}
