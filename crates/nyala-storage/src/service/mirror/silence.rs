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
use std::rc::Rc;

/// An answer that is owed for so long is a reason to probe its host.
const SUSPECT_MS: u64 = 800;
/// A probe tells for so long; the next one has ended by then.
const TELLS_MS: u64 = 4000;

impl Shell {
    /// Probes where it is due. Called now and then.
    pub(super) fn look_for_silence(self: &Rc<Self>) {
        let now_ms = monotonic_ms();
        let mut state = self.state.borrow_mut();
        let (map, owing) = (state.map.clone(), state.under_way.owing(SUSPECT_MS, now_ms));
        for target in state.silence.begin_probes(owing, |target| map.node_of(target).is_some()) {
            let addresses = map.node_of(target).map(|node| node.addresses.clone()).unwrap_or_default();
            let shell = self.clone();
            tokio::task::spawn_local(async move {
                let answers = shell.pool.is_reachable(&Endpoint { addresses }).await;
                shell.probed(target, answers);
            });
        }
    }

    fn probed(self: &Rc<Self>, target: TargetId, answers: bool) {
        let news = self.state.borrow_mut().silence.probed(target, answers);
        let group = self.setup.group;
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
