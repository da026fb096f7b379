// SPDX-License-Identifier: Apache-2.0

//! Running as a service: one process, one role.
//!
//! **Failure model.** SIGTERM and SIGINT ask for an orderly end; a second one ends the process at once, for when the
//! first is stuck on a disk or a network that does not answer.

mod asked;
mod ended;
mod manager;
pub mod meta;
pub mod mgmtd;
pub mod mon;
pub mod mount;
mod mount_announce;
mod mount_flags;
mod mount_serve;
mod mount_wait;
pub mod storage;

pub use asked::Asked;

use crate::config::{Settings, load, load_default};
use crate::exit::{Failure, io};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

/// Flags that every service has.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServiceArgs {
    /// Configuration file [default: /etc/nyala/ROLE.toml, if there is one]
    #[arg(long, env = "NYALA_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Leave the caller's terminal session first
    #[arg(long, hide = true)]
    pub own_session: bool,
}

impl ServiceArgs {
    /// The flags and variables over the file's settings.
    pub fn settings<S: Settings>(&self, flags: S) -> Result<S, Failure> {
        let file = match &self.config {
            Some(path) => load(path)?,
            None => load_default()?,
        };
        Ok(flags.over(file))
    }

    /// Leaves the caller's session, where asked to, so that its Ctrl-C does not end the service.
    pub fn detach(&self) {
        if self.own_session
            && let Err(error) = rustix::process::setsid()
        {
            tracing::warn!(%error, "cannot leave the caller's session");
        }
    }
}

/// Takes the rights of group and others from every file and directory that this process makes from now on.
pub fn make_files_private() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

/// Runs a service's future to its end on one thread.
pub fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io("cannot start"))?;
    let mut result = None;
    {
        let mut work = std::pin::pin!(async { result = Some(future.await) });
        // One type for all commands, so that the runtime's code is not made anew for each.
        let work: Pin<&mut dyn Future<Output = ()>> = work.as_mut();
        LocalSet::new().block_on(&runtime, work);
    }
    // Blocking jobs that hang on a dead disk must not keep the process.
    runtime.shutdown_background();
    result.expect("work that has been run to its end has set it")
}

/// Waits for SIGTERM or SIGINT. Must be called inside a runtime; signals count from the call on, not from the first
/// poll of what it returns.
pub fn stop_signal() -> Result<impl Future<Output = ()> + 'static, Failure> {
    let watch = |kind| signal(kind).map_err(io("cannot watch for signals"));
    let mut term = watch(SignalKind::terminate())?;
    let mut int = watch(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => tracing::info!("SIGTERM: stopping"),
            _ = int.recv() => tracing::info!("SIGINT: stopping"),
        }
        manager::stopping();
        tokio::task::spawn(async move {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            tracing::warn!("second signal: ending at once");
            std::process::exit(1);
        });
    })
}
