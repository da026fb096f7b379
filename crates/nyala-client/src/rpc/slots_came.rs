// SPDX-License-Identifier: Apache-2.0

//! Slots that went from one metadata server to another: there, what this client has open and locked in them is known by its session
//! with the server that they came from. This takes it over under the session with the one that they came to.
//!
//! **Failure model.** Until it is done, a close or an unlock of such a file is none of the new session's. So it comes before these; but not
//! for long, as one of those may be what it waits for. If it is not done within a session timeout, the server gives up
//! what the old session had there, like that of a client that is gone. What a session had that has ended since is lost as well.

use crate::rpc::cluster::Cluster;
use crate::rpc::meta::SendOutcome;
use crate::rpc::retry::Retry;
use nyala_wire::meta::{MetaOp, Owner};
use nyala_wire::{SessionId, TargetId};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Other requests wait so long for it.
const PATIENCE: Duration = Duration::from_secs(3);
const WHAT: &str = "take over what was open at another metadata server";

/// What is to be taken over.
#[derive(Default)]
pub(crate) struct SlotsCame {
    /// Sessions with the servers that slots came from, by the server that they came to.
    guests: Mutex<BTreeMap<TargetId, BTreeSet<SessionId>>>,
    any: AtomicBool,
    /// One at a time.
    adopting: tokio::sync::Mutex<()>,
}

impl SlotsCame {
    /// Whether anything came to this server.
    pub(crate) fn any_for(&self, server: TargetId) -> bool {
        self.any.load(Ordering::Acquire) && self.guests.lock().contains_key(&server)
    }

    fn of(&self, server: TargetId) -> Vec<SessionId> {
        self.guests.lock().get(&server).into_iter().flatten().copied().collect()
    }

    fn done(&self, server: TargetId, guest: SessionId) {
        let mut guests = self.guests.lock();
        if let Some(of) = guests.get_mut(&server) {
            of.remove(&guest);
            if of.is_empty() {
                guests.remove(&server);
            }
        }
        self.any.store(!guests.is_empty(), Ordering::Release);
    }
}

impl Cluster {
    /// Takes note of slots that have moved, by the maps that came since the last time, and takes over what is open in them. Called at
    /// every tick of the client's own thread, and before the first request to a server that they came to.
    pub(crate) fn note_slots(self: &Arc<Cluster>) {
        let moves = self.maps.take_moves();
        if moves.is_empty() {
            return;
        }
        let mut servers = BTreeSet::new();
        for (from, to) in moves {
            if let Some(guest) = self.opened_session(from) {
                self.slots_came.guests.lock().entry(to).or_default().insert(guest);
                self.slots_came.any.store(true, Ordering::Release);
                servers.insert(to);
            }
        }
        for server in servers {
            let cluster = self.clone();
            tokio::spawn(async move { cluster.adopt_all(server).await });
        }
    }

    /// Waits until that is done for a server, or for as long as it makes sense.
    pub(super) async fn adopt(self: &Arc<Cluster>, server: TargetId) {
        if tokio::time::timeout(PATIENCE, self.adopt_all(server)).await.is_err() {
            tracing::debug!(%server, "what was open at another metadata server is not taken over yet");
        }
    }

    async fn adopt_all(self: &Arc<Cluster>, server: TargetId) {
        let _one = self.slots_came.adopting.lock().await;
        for guest in self.slots_came.of(server) {
            match self.adopt_one(server, guest).await {
                Ok(()) => self.slots_came.done(server, guest),
                Err(error) => {
                    tracing::warn!(%server, %guest, %error, "what was open at another metadata server cannot be taken over");
                    self.slots_came.done(server, guest);
                }
            }
        }
    }

    async fn adopt_one(self: &Arc<Cluster>, server: TargetId, guest: SessionId) -> crate::error::Result<()> {
        let mut retry = Retry::new(WHAT);
        let session = self.session(server);
        let mut seen = 0;
        loop {
            let generation = self.open_session(&session, seen).await?;
            let ticket = session.begin().await;
            let mut request = self.request(MetaOp::SessionAdopt { session: guest }, Owner::default());
            request.sequence = ticket.sequence;
            loop {
                match self.send_meta(&session, WHAT, &mut request).await? {
                    SendOutcome::Reply(_) => return Ok(()),
                    SendOutcome::Stale(why) => {
                        seen = generation;
                        retry.pause(self, why).await?;
                        break;
                    }
                    SendOutcome::Again(why) | SendOutcome::Elsewhere(why) | SendOutcome::NotHere(why) => {
                        retry.pause(self, why).await?;
                    }
                }
            }
        }
    }
}
