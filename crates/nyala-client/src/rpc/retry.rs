// SPDX-License-Identifier: Apache-2.0

//! How long and how often a call is tried again.
//!
//! **Failure model.** Servers may be away for milliseconds or days, all clients may come back at the same moment. Pauses
//! double up to a second, with a random part; after `retry_timeout`, or at its call's deadline, it fails with the last reason. A server may
//! have another secret, version or setting than this client, or somebody else may answer at its address: a call fails at once,
//! so that whoever mounts sees why, but what was written is kept and tried again like during any other outage. What is bound to a
//! session (`rpc::bound`) is not sent again after that has ended.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::rpc::bound::Bound;
use crate::rpc::deadline;
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
    /// Somebody has to change something (secret, encryption, version, cluster), here or there; or somebody who is not asked
    /// answers. Nothing proves who said so.
    Refused(TransportError),
}

pub(crate) struct Retry {
    what: &'static str,
    started: Instant,
    /// When the call that this is a part of has to end.
    call: Option<Instant>,
    pause: Duration,
    bound: Option<Bound>,
    keeps: bool,
}

impl Retry {
    pub(crate) fn new(what: &'static str) -> Retry {
        let call = deadline::of_this_call();
        Retry { what, started: Instant::now(), call, pause: FIRST_PAUSE, bound: None, keeps: false }
    }

    /// Of a change that is bound to a session.
    pub(crate) fn bound(what: &'static str, bound: Bound) -> Retry {
        Retry { bound: Some(bound), ..Retry::keeping(what) }
    }

    /// Of what programs believe to be taken: an answer that nobody vouches for is no reason to drop it.
    pub(crate) fn keeping(what: &'static str) -> Retry {
        Retry { keeps: true, ..Retry::new(what) }
    }

    /// Waits before the next try, or fails when time is up.
    pub(crate) async fn pause(&mut self, core: &Core, why: Again) -> Result<()> {
        core.stats.retries.fetch_add(1, Ordering::Relaxed);
        let limit = core.retry_timeout();
        let (last, longest) = match why {
            Again::Connection(text) => (text, MAX_CONNECT_PAUSE),
            Again::Server(error) => (error.to_string(), MAX_PAUSE),
            Again::Never(error) => return Err(error),
            Again::Refused(error) if !self.keeps => return Err(Error::Transport { what: self.what, error }),
            Again::Refused(error) => {
                core.complain(self.what, &error);
                (error.to_string(), MAX_PAUSE)
            }
        };
        let after = self.started.elapsed();
        if limit.is_some_and(|limit| after >= limit) || self.call.is_some_and(|at| Instant::now() >= at) {
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

/// Between two complaints of one client.
const COMPLAIN_MS: u64 = 30_000;

impl Core {
    /// Says, now and then, what keeps written data from its server.
    fn complain(&self, what: &'static str, error: &TransportError) {
        let (now_ms, last_ms) = (self.now_ms(), self.complained_ms.load(Ordering::Relaxed));
        let due = last_ms == 0 || now_ms.saturating_sub(last_ms) >= COMPLAIN_MS;
        if due && self.complained_ms.compare_exchange(last_ms, now_ms, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            tracing::warn!(what, %error, "a server cannot be talked to; written data is kept and tried again");
        }
    }
}

/// Sorts a transport failure: worth another try, or not without somebody changing something.
pub(crate) fn sort_transport(what: &'static str, error: TransportError) -> Result<Again> {
    use TransportError::{EncryptionMismatch, Handshake, NoAddress, VersionMismatch, WrongCluster, WrongSecret};
    match error {
        WrongSecret { .. } | WrongCluster { .. } | VersionMismatch { .. } | EncryptionMismatch { .. } => {
            Ok(Again::Refused(error))
        }
        Handshake { .. } | NoAddress => Ok(Again::Connection(error.to_string())),
        error if error.is_transient() => Ok(Again::Connection(error.to_string())),
        error => Err(Error::Transport { what, error }),
    }
}

/// What a file lies on was removed from the cluster: no repetition brings it back.
pub(crate) fn removed(what: &'static str, home: &str) -> Error {
    let reason = format!("{home} was removed from the cluster, and with it what the file had there");
    tracing::error!(what, reason, "data is gone");
    Error::Server { what, error: ErrorCode::IO.with(reason) }
}

/// Sorts an error reply.
pub(crate) fn sort_reply(what: &'static str, error: WireError) -> Result<Again> {
    if error.code.is_transient() || error.code == ErrorCode::STALE_SESSION {
        Ok(Again::Server(error))
    } else {
        Err(Error::Server { what, error })
    }
}
