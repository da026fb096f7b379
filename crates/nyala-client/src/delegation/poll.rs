// SPDX-License-Identifier: Apache-2.0

//! The standing question at every metadata server: which delegations do you want back?
//!
//! **Failure model.** A poll may be lost or unanswered: it is sent again, and the server says again what was not returned.
//! The server may have been restarted (another boot): everything is let go before the next poll confirms that; what was
//! written to targets that are away cannot be, and is named instead with moves of inline content that are under way,
//! since all other clients wait for the poll. It may have forgotten the session: that is opened anew, and what was held
//! under delegations is lost.

use crate::delegation::revocation::Revocations;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::meta::{MetaAnswer, SendOutcome};
use crate::rpc::session::{CarriedOver, Session};
use nyala_wire::meta::{MetaOp, MetaReply, Owner};
use std::sync::{Arc, Weak};
use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_millis(500);

/// Polls as long as the client is there.
pub(crate) async fn poll(revocations: Weak<Revocations>, session: Arc<Session>) {
    let mut pause = FIRST_PAUSE;
    while let Some(revocations) = revocations.upgrade().filter(|revocations| !revocations.ctx.is_stopped()) {
        match revocations.poll_once(&session).await {
            Ok(true) => pause = FIRST_PAUSE,
            Ok(false) => {
                drop(revocations);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            Err(error) => {
                tracing::warn!(target = %session.target, %error, "cannot ask for revocations");
                drop(revocations);
                tokio::time::sleep(MAX_PAUSE).await;
            }
        }
    }
}

impl Revocations {
    /// `false`: better luck later.
    async fn poll_once(self: &Arc<Revocations>, session: &Arc<Session>) -> crate::Result<bool> {
        let (generation, id) = (session.generation(), session.id());
        let CarriedOver { kept, moving } = session.carried_over();
        let op = MetaOp::DelegationPoll { boot: session.boot(), kept, moving };
        let mut request = self.cluster.request(op, Owner::default());
        match self.cluster.send_meta_as(session, id, "ask for revocations", &mut request).await? {
            SendOutcome::Reply(MetaAnswer { reply: MetaReply::Revocations { boot, list, checks }, .. }) => {
                self.locks.check_locks(session, checks);
                if boot == session.boot() {
                    session.carry_over(id, CarriedOver::default());
                    self.revoked(session, id, &list);
                } else if generation == session.generation() {
                    let carried = self.let_all_go(session).await;
                    session.carry_over(id, carried);
                    self.delegations.set_boot(session, boot);
                }
                Ok(true)
            }
            SendOutcome::Reply(_) => Err(unexpected_reply("ask for revocations")),
            SendOutcome::Stale(_) => self.cluster.open_session(session, generation).await.map(|_| true),
            SendOutcome::Elsewhere(_) | SendOutcome::NotHere(_) => {
                let have = self.cluster.maps.view().map.version;
                // why ignored: the next poll finds out again.
                let _ = self.cluster.maps.refresh(have).await;
                Ok(false)
            }
            SendOutcome::Again(_) => Ok(false),
        }
    }
}
