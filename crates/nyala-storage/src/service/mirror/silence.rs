// SPDX-License-Identifier: Apache-2.0

//! Members that this one does not reach, though management hears them.
//!
//! **Failure model.** What lies between two members fails, in one direction or in both, and between each of them and management it
//! does not: neither is ever offline. A member that owes an answer for [`SUSPECT_MS`] has its host probed. If that does not answer, the
//! group goes on without the member ([`Input::Silent`]), and does not try to bring it up to date until its host answers. A slow disk or a
//! stopped process is none of this, since the host answers for them.

use super::shell::Shell;
use nyala_replica::Input;
use nyala_transport::Endpoint;
use nyala_transport::member::monotonic_ms;
use nyala_wire::TargetId;

/// An answer that is owed for so long is a reason to probe its host.
const SUSPECT_MS: u64 = 800;
/// A probe tells for so long; the next one has ended by then.
const TELLS_MS: u64 = 4000;

impl Shell {
    /// Probes where it is due. Called now and then.
    pub(super) fn look_for_silence(&self) {
        let Some(mut state) = self.shared.state() else { return };
        let (map, owing) = (state.map.clone(), state.under_way.owing(SUSPECT_MS, monotonic_ms()));
        for target in state.silence.begin_probes(owing, |target| map.node_of(target).is_some()) {
            let addresses = map.node_of(target).map(|node| node.addresses.clone()).unwrap_or_default();
            let shell = self.clone();
            tokio::task::spawn_local(async move {
                let answers = shell.is_reachable(Endpoint { addresses }).await;
                shell.probed(target, answers);
            });
        }
    }

    /// Whether a host answers, directly or by the way that any thread's connections to it have found.
    async fn is_reachable(&self, endpoint: Endpoint) -> bool {
        let pools = self.shared.setup.common.pools.lock().clone();
        let mut probes = tokio::task::JoinSet::new();
        for pool in pools {
            let endpoint = endpoint.clone();
            probes.spawn_local(async move { pool.is_reachable(&endpoint).await });
        }
        while let Some(answers) = probes.join_next().await {
            if answers.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    fn probed(&self, target: TargetId, answers: bool) {
        let Some(news) = self.shared.state().map(|mut state| state.silence.probed(target, answers)) else { return };
        let group = self.shared.setup.group;
        match (news, answers) {
            (true, true) => tracing::info!(%group, %target, "a member's host can be reached again"),
            (true, false) => {
                tracing::warn!(%group, %target, "a member's host cannot be reached from here; the group goes on without it");
            }
            (false, _) => {}
        }
        if !answers {
            self.input(Input::Silent { target, until_ms: monotonic_ms() + TELLS_MS });
        }
    }
}
