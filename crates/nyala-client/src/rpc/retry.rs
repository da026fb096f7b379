// SPDX-License-Identifier: Apache-2.0

//! How long and how often a call is tried again.
//!
//! **Failure model.** Servers may be away for milliseconds or days, all clients may come back at the same moment. Pauses
//! double up to a second, with a random part; after `retry_timeout`, or at its call's deadline, it fails with the last
//! reason. A server may have another secret, version or setting than this client, or somebody else may answer at its
//! address: a call fails at once, so that whoever mounts sees why, but what was written is kept and tried again like
//! during any other outage. What is bound to a session (`rpc::bound`) is not sent again after that has ended.

use crate::error::{Error, Result};
use crate::rpc::bound::Bound;
use crate::rpc::cluster::Cluster;
use crate::rpc::deadline;
use crate::rpc::failure::Again;
use nyala_transport::TransportError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// After failures to connect the transport's pool makes its callers wait already.
const MAX_CONNECT_PAUSE: Duration = Duration::from_millis(100);

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

    /// Of what somebody else can do as well.
    pub(crate) fn within(what: &'static str, limit: Duration) -> Retry {
        let call = deadline::of_this_call();
        Retry { call: call.into_iter().chain(Instant::now().checked_add(limit)).min(), ..Retry::new(what) }
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
    pub(crate) async fn pause(&mut self, cluster: &Cluster, why: Again) -> Result<()> {
        cluster.ctx.stats.retries.add(1);
        let limit = cluster.ctx.retry_timeout();
        let (last, longest) = match why {
            Again::Connection(text) => (text, MAX_CONNECT_PAUSE),
            Again::Server(error) => (error.to_string(), MAX_PAUSE),
            Again::Never(error) => return Err(error),
            Again::Refused(error) if !self.keeps => return Err(Error::Transport { what: self.what, error }),
            Again::Refused(error) => {
                cluster.complain(self.what, &error);
                (error.to_string(), MAX_PAUSE)
            }
        };
        let after = self.started.elapsed();
        if limit.is_some_and(|limit| after >= limit) || self.call.is_some_and(|at| Instant::now() >= at) {
            return Err(Error::TimedOut { what: self.what, after, last });
        }
        if cluster.ctx.is_stopped() {
            return Err(Error::ShutDown);
        }
        let random = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
        let pause = self.pause.min(longest).mul_f64(0.5 + random / 2.0);
        tracing::debug!(what = self.what, ?pause, last, "trying again");
        tokio::time::sleep(pause).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        self.bound.map_or(Ok(()), |bound| cluster.check_bound(bound))
    }
}

/// Between two complaints of one client.
const COMPLAIN_MS: u64 = 30_000;

impl Cluster {
    /// Says, now and then, what keeps written data from its server.
    fn complain(&self, what: &'static str, error: &TransportError) {
        let (now_ms, last_ms) = (self.ctx.now_ms(), self.complained_ms.load(Ordering::Relaxed));
        let due = last_ms == 0 || now_ms.saturating_sub(last_ms) >= COMPLAIN_MS;
        if due && self.complained_ms.compare_exchange(last_ms, now_ms, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            tracing::warn!(what, %error, "a server cannot be talked to; written data is kept and tried again");
        }
    }
}
