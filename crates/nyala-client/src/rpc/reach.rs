// SPDX-License-Identifier: Apache-2.0

//! Members of mirror groups that this client cannot reach though management hears them.
//!
//! **Failure model.** A cable, a switch or a packet filter between this client and one server fails, in one direction or in both.
//! Management sees a server that is well and makes nobody else primary, rightly: others reach it. So a request that has no answer
//! for [`SUSPECT`] has its host probed; a host that does not answer is left out: reads go to other members, and what
//! the primary has to do is passed on to it by another member (`GroupHeader::pass_on`), under the same number, so that it is done
//! once. The host is probed every second until it answers. A service that is slow or stopped is none of this: its
//! host answers.

use crate::rpc::transport::Rpc;
use nyala_transport::Endpoint;
use nyala_wire::TargetId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A request without an answer for so long is a reason to probe its host.
pub(crate) const SUSPECT: Duration = Duration::from_secs(1);
/// Between two probes of a host that does not answer.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// Whoever probes may have ended with its thread: what is known is forgotten after so long.
const VALID: Duration = Duration::from_secs(10);

/// Members out of reach, and when that was last seen.
#[derive(Debug, Default)]
pub(crate) struct Unreached(Mutex<HashMap<TargetId, Instant>>);

impl Unreached {
    pub(crate) fn has(&self, target: TargetId) -> bool {
        self.0.lock().get(&target).is_some_and(|seen| seen.elapsed() < VALID)
    }

    /// Notes it; whether that is new.
    fn note(&self, target: TargetId) -> bool {
        self.0.lock().insert(target, Instant::now()).is_none_or(|seen| seen.elapsed() >= VALID)
    }
}

impl Unreached {
    /// A member's host does not answer; it is probed until it does.
    pub(crate) fn report(self: &Arc<Unreached>, rpc: &Arc<dyn Rpc>, target: TargetId, endpoint: &Endpoint) {
        if !self.note(target) {
            return;
        }
        tracing::warn!(%target, "its host cannot be reached from here, though management hears it; other members are asked");
        let (all, rpc, endpoint) = (Arc::downgrade(self), Arc::downgrade(rpc), endpoint.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(PROBE_INTERVAL).await;
                // Without the client there is nobody to know it for.
                let (Some(all), Some(rpc)) = (all.upgrade(), rpc.upgrade()) else { return };
                if rpc.is_reachable(&endpoint).await {
                    all.0.lock().remove(&target);
                    tracing::info!(%target, "its host can be reached again");
                    return;
                }
                all.note(target);
            }
        });
    }
}
