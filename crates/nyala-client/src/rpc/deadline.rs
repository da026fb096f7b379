// SPDX-License-Identifier: Apache-2.0

//! One deadline for all that one call of a program waits for.
//!
//! **Failure model.** A call may wait for several things one after the other: a delegation, others that push the same file, a
//! server, a target. Each of them can be away for as long as it likes. Without one deadline the limits add up, and waiters in a
//! queue inherit those of everybody before them. The deadline is set where the call comes in ([`within`]); what a task in
//! the background waits for has [`crate::ClientConfig::retry_timeout`] from its own start.

use crate::context::Context;
use crate::error::{Error, Result};
use std::time::{Duration, Instant};

tokio::task_local! {
    static CALL: Instant;
}

/// When a wait has to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    started: Instant,
    /// `None`: never.
    at: Option<Instant>,
}

/// Runs a call that has to end within `limit`; `None` leaves it without a deadline of its own.
pub(crate) async fn within<T>(limit: Option<Duration>, call: impl Future<Output = T>) -> T {
    match limit.and_then(|limit| Instant::now().checked_add(limit)) {
        Some(at) => CALL.scope(at, call).await,
        None => call.await,
    }
}

/// When the call under way has to end, if this runs in one that has a deadline.
pub(crate) fn of_this_call() -> Option<Instant> {
    CALL.try_with(|at| *at).ok()
}

impl Deadline {
    /// That of the call under way, or else as long from now as anything is tried.
    pub(crate) fn of_call(ctx: &Context) -> Deadline {
        let started = Instant::now();
        let own = ctx.retry_timeout().and_then(|limit| started.checked_add(limit));
        Deadline { started, at: of_this_call().into_iter().chain(own).min() }
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.at.is_some_and(|at| Instant::now() >= at)
    }

    /// How long it has been waited.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// What a wait that was given up ends with; `last` says for what it waited.
    pub(crate) fn error(&self, what: &'static str, last: impl Into<String>) -> Error {
        Error::TimedOut { what, after: self.elapsed(), last: last.into() }
    }

    /// Waits for something, at most until the deadline.
    pub(crate) async fn wait<T>(
        &self,
        what: &'static str,
        last: &'static str,
        work: impl Future<Output = T>,
    ) -> Result<T> {
        match self.at {
            None => Ok(work.await),
            Some(at) => tokio::time::timeout_at(at.into(), work).await.map_err(|_| self.error(what, last)),
        }
    }
}
