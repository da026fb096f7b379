// SPDX-License-Identifier: Apache-2.0

//! How long and how often a call is tried again.
//!
//! **Failure model.** Servers may be away for milliseconds or days, all clients may come back at the same moment. Pauses
//! double up to a second, with a random part; after `retry_timeout` the call fails with the last reason. What is bound to a
//! session (`bound`) is not sent again after that has ended.

use crate::bound::Bound;
use crate::core::Core;
use crate::error::{Error, Result};
use nyala_transport::TransportError;
use nyala_wire::{ErrorCode, WireError};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// After failures to connect the transport's pool makes its callers wait already.
const MAX_CONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Why a try did not work, if another one may.
#[derive(Debug, Clone)]
pub(crate) enum Again {
    /// The network or the process on the other side.
    Connection(String),
    /// The server says: later, or elsewhere.
    Server(WireError),
    /// No other try can help.
    Never(Error),
}

pub(crate) struct Retry {
    what: &'static str,
    started: Instant,
    pause: Duration,
    bound: Option<Bound>,
}

impl Retry {
    pub(crate) fn new(what: &'static str) -> Retry {
        Retry { what, started: Instant::now(), pause: FIRST_PAUSE, bound: None }
    }

    /// Of a change that is bound to a session.
    pub(crate) fn bound(what: &'static str, bound: Bound) -> Retry {
        Retry { bound: Some(bound), ..Retry::new(what) }
    }

    /// Waits before the next try, or fails when time is up.
    pub(crate) async fn pause(&mut self, core: &Core, why: Again) -> Result<()> {
        core.stats.retries.fetch_add(1, Ordering::Relaxed);
        let limit = core.retry_timeout();
        let (last, longest) = match why {
            Again::Connection(text) => (text, MAX_CONNECT_PAUSE),
            Again::Server(error) => (error.to_string(), MAX_PAUSE),
            Again::Never(error) => return Err(error),
        };
        let after = self.started.elapsed();
        if limit.is_some_and(|limit| after >= limit) {
            return Err(Error::TimedOut { what: self.what, after, last });
        }
        if core.is_stopped() {
            return Err(Error::ShutDown);
        }
        let random = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
        let pause = self.pause.min(longest).mul_f64(0.5 + random / 2.0);
        tracing::debug!(what = self.what, ?pause, last, "trying again");
        tokio::time::sleep(pause).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        self.bound.map_or(Ok(()), |bound| core.check_bound(bound))
    }
}

/// Sorts a transport failure: worth another try, or not without somebody changing something.
pub(crate) fn sort_transport(what: &'static str, error: TransportError) -> Result<Again> {
    let again = error.is_transient() || matches!(error, TransportError::Handshake { .. } | TransportError::NoAddress);
    if again { Ok(Again::Connection(error.to_string())) } else { Err(Error::Transport { what, error }) }
}

/// Sorts an error reply.
pub(crate) fn sort_reply(what: &'static str, error: WireError) -> Result<Again> {
    if error.code.is_transient() || error.code == ErrorCode::STALE_SESSION {
        Ok(Again::Server(error))
    } else {
        Err(Error::Server { what, error })
    }
}
