// SPDX-License-Identifier: Apache-2.0

//! Sessions at metadata servers for repairs: each repair is done once, also when its answer is lost.
//!
//! **Failure model.** A session may end at any time, with its server or because nothing was heard of it; then a new one is opened, and
//! the repair is sent again: it is done only where what was found is still so.

use super::ask::Ask;
use crate::exit::Failure;
use nyala_wire::meta::{MetaOp, MetaRequest, Owner, Repair, Want};
use nyala_wire::{ErrorCode, SessionId, TargetId, WireError, codec, message_type};
use std::collections::HashMap;

/// An operator's sessions.
#[derive(Default)]
pub struct Operator {
    /// Each with the number of its next request.
    sessions: HashMap<TargetId, (SessionId, u64)>,
}

impl Operator {
    /// Has a target do one repair.
    pub async fn repair(&mut self, ask: &Ask, target: TargetId, repair: &Repair) -> Result<(), Failure> {
        let mut again = true;
        loop {
            let (session, sequence) = self.session(ask, target).await?;
            match send(ask, target, session, sequence, MetaOp::Repair(repair.clone())).await? {
                Ok(()) => return Ok(()),
                Err(error) if error.code == ErrorCode::STALE_SESSION && again => {
                    again = false;
                    self.sessions.remove(&target);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn session(&mut self, ask: &Ask, target: TargetId) -> Result<(SessionId, u64), Failure> {
        if let Some((session, next)) = self.sessions.get_mut(&target) {
            *next += 1;
            return Ok((*session, *next - 1));
        }
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| Failure::failed(format!("no random numbers: {error}")))?;
        let session = SessionId(u64::from_le_bytes(bytes).max(1));
        send(ask, target, session, 0, MetaOp::SessionOpen { client: "nyala fsck".to_owned() }).await??;
        self.sessions.insert(target, (session, 2));
        Ok((session, 1))
    }

    /// Ends all sessions; one that cannot be ended ends by itself.
    pub async fn end(self, ask: &Ask) {
        for (target, (session, _)) in self.sessions {
            if let Err(failure) = send(ask, target, session, 0, MetaOp::SessionClose).await {
                tracing::debug!(target_id = %target, %failure, "a session ends by itself");
            }
        }
    }
}

async fn send(
    ask: &Ask,
    target: TargetId,
    session: SessionId,
    sequence: u64,
    op: MetaOp,
) -> Result<Result<(), WireError>, Failure> {
    let now = nyala_transport::wall_clock();
    let (owner, want) = (Owner::default(), Want::NOTHING);
    let request =
        MetaRequest { session, sequence, acked_below: sequence, owner, now, op, want, caller: None, user: None };
    Ok(ask.call(target, message_type::META, codec::encode(&request)).await?.map(drop))
}
