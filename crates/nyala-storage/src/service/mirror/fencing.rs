// SPDX-License-Identifier: Apache-2.0

//! Metadata fences a session: when it is told that this is done, no member of the group lets one of its changes in any more,
//! whoever leads by then, and none that was let in is under way.
//!
//! **Failure model.** This target refuses the session already when we are asked. The member that leads orders the fence like a
//! change, so that those that metadata takes for offline learn it too, if they are not; one that does not lead has nobody to tell,
//! and tells all when it comes to lead (`nyala_replica::session_fences`). One that is about to lead may have told them already: metadata
//! asks again. A change is over when its buffer is, not when its client has gone; who waits for it in vain is told
//! by a timeout, and metadata asks again.

use super::action::{Answered, Fenced, Incoming};
use super::parse::{Asked, ChangeOp, ChangeRequest};
use super::shell::Shell;
use super::waits::tell_quiet;
use crate::service::queue::stopping;
use bytes::Bytes;
use nyala_replica::{Change, FENCES, MemberRole, Span};
use nyala_transport::member::monotonic_us;
use nyala_wire::storage::{StorageOp, StorageRequest};
use nyala_wire::{ErrorCode, SessionId, TargetId, WireError, codec, message_type};
use tokio::sync::oneshot;

impl Shell {
    /// The session is fenced on this target; `done` is told when it is in the group.
    pub(super) fn fence(&self, session: SessionId, done: Fenced) {
        let Some(role) = self.shared.state().map(|state| state.replica.role()) else { return };
        if role == MemberRole::Recovering {
            // An error means that nobody waits any more.
            let _ = done.send(Err(ErrorCode::NOT_READY.with("the mirror group gets a new primary")));
            return;
        }
        if role != MemberRole::Primary {
            return self.when_quiet(session, done);
        }
        let told = self.order_fence(session);
        let shell = self.clone();
        tokio::task::spawn_local(async move {
            match told.await.unwrap_or_else(|_| Err(stopping())) {
                Ok(_) => shell.when_quiet(session, done),
                // An error means that nobody waits any more.
                Err(error) => drop(done.send(Err(error))),
            }
        });
    }

    fn order_fence(&self, session: SessionId) -> oneshot::Receiver<Result<Answered, WireError>> {
        let op = StorageOp::Fence { session };
        let body: Bytes = codec::encode(&StorageRequest::new(TargetId(0), FENCES, op.clone())).into();
        let op = ChangeOp::Other(FENCES, op);
        let session = SessionId(0);
        let request = ChangeRequest { kind: message_type::STORAGE, body, data: Bytes::new(), session, op };
        let asked = Asked::Change(Change { file: FENCES, span: Span { start: 0, end: 1 } }, request);
        let (answer, told) = oneshot::channel();
        let seen = self.shared.state().map(|mut state| (state.number(), state.replica.epoch()));
        let Some((number, epoch)) = seen else { return told };
        let (client, epoch) = (self.shared.client, epoch.map_or(0, |(epoch, _)| epoch));
        // Nothing is sent again under its number, so nothing needs to be remembered of earlier ones.
        let incoming = Incoming { client, number, lowest: number, epoch, asked, came_us: monotonic_us(), answer };
        self.carry_out(self.asked(incoming));
        told
    }

    fn when_quiet(&self, session: SessionId, done: Fenced) {
        if let Some(mut state) = self.shared.state() {
            state.quiet.push((session, done));
            tell_quiet(&mut state);
        }
    }
}
