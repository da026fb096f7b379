// SPDX-License-Identifier: Apache-2.0

//! Slots that went from one metadata server to another: there, what this client has open and locked in them is known by its session
//! with the server that they came from. This takes it over under the session with the one that they came to.
//!
//! **Failure model.** Until it is done, a close or an unlock of such a file is none of the new session's. So it comes before these; but not
//! for long, as one of those may be what it waits for. If it is not done within a session timeout, the server gives up
//! what the old session had there, like that of a client that is gone. What a session had that has ended since is lost as well.

use crate::rpc::cluster::Cluster;
use crate::rpc::exchange::SendOutcome;
use crate::rpc::retry::Retry;
use nyala_wire::meta::{MetaOp, Owner};
use nyala_wire::{SessionId, TargetId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Other requests wait so long for it.
const ADOPT_TIMEOUT: Duration = Duration::from_secs(3);
const WHAT: &str = "take over what was open at another metadata server";

/// Takes note of slots that have moved, by the maps that came since the last time, and takes over what is open in them. Called at
/// every tick of the client's own thread, and before the first request to a server that they came to.
pub(crate) fn note_slots(cluster: &Arc<Cluster>) {
    let moves = cluster.maps.take_moves();
    if moves.is_empty() {
        return;
    }
    let mut servers = BTreeSet::new();
    for (from, to) in moves {
        let session = cluster.all_sessions().into_iter().find(|session| session.target == from);
        if let Some(session) = session.filter(|session| session.generation() > 0) {
            cluster.slots_came.lock().came(to, session.id());
            servers.insert(to);
        }
    }
    for server in servers {
        let cluster = cluster.clone();
        tokio::spawn(async move { adopt_all(&cluster, server).await });
    }
}

/// Waits until that is done for a server, or for as long as it makes sense.
pub(super) async fn adopt(cluster: &Arc<Cluster>, server: TargetId) {
    if tokio::time::timeout(ADOPT_TIMEOUT, adopt_all(cluster, server)).await.is_err() {
        tracing::debug!(%server, "what was open at another metadata server is not taken over yet");
    }
}

async fn adopt_all(cluster: &Arc<Cluster>, server: TargetId) {
    let _one = cluster.adopting.lock().await;
    let guests = cluster.slots_came.lock().of(server);
    for guest in guests {
        if let Err(error) = adopt_one(cluster, server, guest).await {
            tracing::warn!(%server, %guest, %error, "what was open at another metadata server cannot be taken over");
        }
        cluster.slots_came.lock().done(server, guest);
    }
}

async fn adopt_one(cluster: &Arc<Cluster>, server: TargetId, guest: SessionId) -> crate::error::Result<()> {
    let mut retry = Retry::new(WHAT);
    let session = cluster.session(server);
    let mut seen = 0;
    loop {
        let generation = cluster.open_session(&session, seen).await?;
        let ticket = session.begin().await;
        let mut request = cluster.request(MetaOp::SessionAdopt(guest), Owner::default());
        request.sequence = ticket.sequence;
        loop {
            match cluster.send_meta(&session, WHAT, &mut request).await? {
                SendOutcome::Reply(_) => return Ok(()),
                SendOutcome::Stale(why) => {
                    seen = generation;
                    retry.pause(cluster, why).await?;
                    break;
                }
                SendOutcome::Again(why) | SendOutcome::Elsewhere(why) | SendOutcome::NotHere(why) => {
                    retry.pause(cluster, why).await?;
                }
            }
        }
    }
}
