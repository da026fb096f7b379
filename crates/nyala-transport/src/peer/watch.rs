// SPDX-License-Identifier: Apache-2.0

//! Looks after a peer's connections: replaces those that are stuck, and goes back to better ways.
//!
//! **Failure model.** As of [`crate::path`]. It ends with the last connection or with the peer, and is begun again with the next one.

use super::connections::Connections;
use super::connector::{Connector, Live};
use crate::path::route::Way;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;

/// Longest wait for a connection beside the one in use.
const SPARE_CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// What is looked after.
pub(super) struct Watched {
    pub connector: Connector,
    pub connections: Connections,
    /// One attempt at a time.
    pub turn: tokio::sync::Mutex<()>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Whoever looks after it waits for this.
        self.connector.news.notify_one();
    }
}

/// Looks, until there is nothing to look after.
pub(super) async fn watch(watched: Weak<Watched>) {
    let Some(news) = watched.upgrade().map(|watched| watched.connector.news.clone()) else { return };
    loop {
        let next_at = watched.upgrade().map(|watched| watched.connections.route.lock().next_at());
        let Some(next_at) = next_at else { return };
        let due = async {
            match next_at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = news.notified() => {}
            () = due => {}
        }
        let Some(watched) = watched.upgrade() else { return };
        if !watched.look().await {
            return;
        }
    }
}

impl Watched {
    /// A connection is used from now on, and looked after.
    pub(super) fn take(self: &Arc<Self>, new: Live) {
        if self.connections.take(new) {
            tokio::spawn(watch(Arc::downgrade(self)));
        } else {
            // It may be asleep until a time that has changed.
            self.connector.news.notify_one();
        }
    }

    /// What is due; false: there is nothing to look after.
    async fn look(self: &Arc<Self>) -> bool {
        let now = Instant::now();
        let Some(stuck) = self.connections.any_stuck() else { return false };
        let (due, relayed, may) = {
            let mut route = self.connections.route.lock();
            if !stuck {
                route.calm();
            }
            (route.next_at().is_some_and(|at| now >= at), route.is_relayed(), route.may_look_around(now))
        };
        match (stuck && may, due && relayed, due && !stuck) {
            (true, ..) => self.replace_stuck().await,
            (_, true, _) => self.try_direct().await,
            (.., true) => self.try_large().await,
            _ => {}
        }
        true
    }

    /// Makes another connection, and closes those that are stuck once there is one.
    async fn replace_stuck(self: &Arc<Self>) {
        let _turn = self.turn.lock().await;
        let (connector, connections) = (&self.connector, &self.connections);
        connections.route.lock().suspect(Instant::now());
        let made =
            tokio::time::timeout(SPARE_CONNECT_TIMEOUT, connector.any_way(Duration::ZERO, connections.trial())).await;
        let Ok(Ok(new)) = made else {
            connections.route.lock().found_none(Instant::now());
            return;
        };
        if connections.any_stuck() != Some(true) {
            // It was only late, or is dead, which its callers know.
            connections.route.lock().calm();
            return;
        }
        let addresses = &connector.endpoint.addresses;
        tracing::warn!(?addresses, way = ?new.way, "what is sent to a peer does not arrive; going on over a new connection");
        self.take(new);
        connections.close_stuck();
    }

    /// Beside a connection through another server: the direct way, which is taken if it has worked for long enough.
    async fn try_direct(self: &Arc<Self>) {
        let made = tokio::time::timeout(SPARE_CONNECT_TIMEOUT, self.connector.direct(self.connections.trial())).await;
        let works = matches!(made, Ok(Ok(_)));
        let proven = self.connections.route.lock().tried_direct(works, Instant::now());
        if let Ok(Ok(new)) = made
            && proven
        {
            tracing::info!(addresses = ?self.connector.endpoint.addresses, "a peer can be reached directly again");
            self.take(new);
            self.connections.keep_only(|way| way != Way::Relayed);
        }
    }

    /// Beside connections with small segments: large ones, which are taken if they get through.
    async fn try_large(self: &Arc<Self>) {
        let index = self.connector.preferred.load(Ordering::Relaxed);
        let Some(address) = self.connector.endpoint.addresses.get(index).copied() else { return };
        let made = tokio::time::timeout(SPARE_CONNECT_TIMEOUT, async {
            let (connection, took) = self.connector.connect_to(address, None).await.ok()?;
            connection.carries_large(took.max(SPARE_CONNECT_TIMEOUT / 3)).await.then_some(connection)
        });
        let connection = made.await.ok().flatten();
        let works = self.connections.route.lock().tried_large(connection.is_some(), Instant::now());
        if let Some(connection) = connection.filter(|_| works) {
            self.take(Live { connection, way: Way::Direct(None) });
            self.connections.keep_only(|way| way == Way::Direct(None));
        }
    }
}
