// SPDX-License-Identifier: Apache-2.0

//! Opening sessions with metadata servers, keeping them alive, and closing them.
//!
//! **Failure model.** The server may forget the session (timeout, lost log): it says STALE_SESSION to whatever comes first, the
//! sign of life included. Then what was held under it is dropped before another one is opened, under a new id, and the files
//! that are open there as well. The answer to an opening may be lost, and the client stand still before it asks again: by then
//! the session was opened, has timed out and is fenced at storage. So an id that was sent before and that the server does
//! not know is not used. Or the server loses power before it answers: its next run knows the session, and does nothing for it before it
//! has heard what its client was told, so it hears that this was nothing.

use crate::error::Result;
use crate::rpc::cluster::Cluster;
use crate::rpc::failure::{Again, unexpected_reply};
use crate::rpc::meta::{MetaAnswer, SendOutcome};
use crate::rpc::replay::was_told_nothing;
use crate::rpc::retry::Retry;
use crate::rpc::session::Session;
use crate::rpc::session_close::close_session_as;
use nyala_wire::SessionId;
use nyala_wire::meta::{MetaOp, MetaReply, MetaRequest, Owner, SessionReply};
use std::sync::Arc;

impl Cluster {
    /// Opens the session unless somebody has done so since generation `seen`; returns the generation now.
    pub(crate) async fn open_session(self: &Arc<Cluster>, session: &Arc<Session>, seen: u64) -> Result<u64> {
        let now = session.generation();
        if now > seen {
            return Ok(now);
        }
        let _one = session.opening.lock().await;
        let now = session.generation();
        if now > seen {
            return Ok(now);
        }
        if now > 0 {
            // Storage may refuse what the old session writes.
            self.name_anew(session);
        }
        // One that was there before has files that programs write to.
        let mut retry = if now > 0 { Retry::keeping("open a session") } else { Retry::new("open a session") };
        let mut sent_before = false;
        let boot = loop {
            match self.greet(session).await? {
                Ok(reply) if sent_before && !reply.known => {
                    self.name_anew(session);
                    sent_before = false;
                }
                Ok(reply) => break reply.boot,
                Err(why) => {
                    sent_before = true;
                    retry.pause(self, why).await?;
                }
            }
        };
        if let Some(observer) = self.observer() {
            observer.run_began(session, boot);
            observer.renewed(session);
            if now > 0 {
                observer.reopen(session).await;
            }
        }
        session.opened(now + 1);
        self.ctx.poke();
        Ok(now + 1)
    }

    /// The session goes on under another id; what was held under the old one is lost.
    fn name_anew(&self, session: &Arc<Session>) {
        let goes_on_as = self.next_id();
        match self.observer() {
            Some(observer) => observer.ended(session, goes_on_as),
            None => session.go_on_as(goes_on_as),
        }
    }

    /// Sends SessionOpen once.
    async fn greet(&self, session: &Session) -> Result<Result<SessionReply, Again>> {
        let op = MetaOp::SessionOpen { client: self.ctx.config.name.clone() };
        // So that a server that restarts waits for what this client keeps.
        let mut request = MetaRequest { want: self.want(), ..self.request(op, Owner::default()) };
        let mut outcome = self.send_meta(session, "open a session", &mut request).await?;
        if let SendOutcome::Reply(MetaAnswer { reply: MetaReply::Session(reply), mark, .. }) = &outcome
            && reply.known
        {
            outcome = was_told_nothing(self, session, mark.run).await?.unwrap_or(outcome);
        }
        Ok(match outcome {
            SendOutcome::Reply(MetaAnswer { reply: MetaReply::Session(reply), .. }) => {
                session.take_timeout(reply.timeout_ms);
                session.sent_sign_of_life(self.ctx.now_ms());
                if reply.known
                    && let Some(observer) = self.observer()
                {
                    observer.renewed(session);
                }
                Ok(reply)
            }
            SendOutcome::Reply(_) => return Err(unexpected_reply("open a session")),
            SendOutcome::Again(why) | SendOutcome::Stale(why) => Err(why),
            SendOutcome::Elsewhere(why) | SendOutcome::NotHere(why) => Err(why),
        })
    }

    /// Says that we are still here; opens the session and files again if the server does not know us any more. What is said is
    /// that nothing is returned: to open a session that is gone would make it anew under the id whose delegations are others'
    /// by now, and what other threads of this client send before they know would be taken for good.
    pub(crate) async fn keep_session_alive(self: Arc<Cluster>, session: Arc<Session>) {
        session.sent_sign_of_life(self.ctx.now_ms());
        let seen = session.generation();
        let mut request = self.request(MetaOp::DelegationReturn { delegations: Vec::new() }, Owner::default());
        match self.send_meta(&session, "keep the session alive", &mut request).await {
            Ok(SendOutcome::Reply(_)) => session.take_timeout(self.maps.view().map.settings.session_timeout_ms),
            Ok(SendOutcome::Stale(_)) => {
                if let Err(error) = self.open_session(&session, seen).await {
                    tracing::warn!(target = %session.target, %error, "cannot open the session again");
                }
            }
            Ok(SendOutcome::Again(why) | SendOutcome::Elsewhere(why) | SendOutcome::NotHere(why)) => {
                tracing::debug!(target = %session.target, ?why, "session not kept alive yet");
            }
            Err(error) => tracing::warn!(target = %session.target, %error, "session not kept alive"),
        }
    }

    /// Storage refuses what was written under `refused`: if that is what this session is called now, it goes on as another.
    pub(crate) async fn renew_session(self: Arc<Cluster>, session: Arc<Session>, refused: SessionId) {
        let seen = session.generation();
        if session.id() != refused {
            return;
        }
        // why ignored: a server that did not end the session will, when its timeout is over.
        let _ = close_session_as(&self, &session, refused).await;
        if let Err(error) = self.open_session(&session, seen).await {
            tracing::warn!(target = %session.target, %error, "cannot open the session again");
        }
    }
}
