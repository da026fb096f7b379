// SPDX-License-Identifier: Apache-2.0

//! The live connections to one peer, and what is known of the ways that they take.

use super::connector::Live;
use crate::connection::Connection;
use crate::path::route::{Route, Trial, Way};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::Instant;

/// Locks are taken in the order of the fields.
#[derive(Default)]
pub(super) struct Connections {
    live: Mutex<Vec<Live>>,
    pub route: Mutex<Route>,
    /// A task looks after them; changed under the lock of `live`.
    watched: AtomicBool,
}

impl Connections {
    /// The least loaded one, of those that are not stuck if there are any, and how many there are.
    pub(super) fn least_loaded(&self) -> Option<(Connection, usize)> {
        let mut live = self.live.lock();
        self.forget_dead(&mut live);
        let best = live.iter().min_by_key(|live| (live.connection.is_stuck(), live.connection.in_flight()));
        best.map(|best| (best.connection.clone(), live.len()))
    }

    /// One that was lost while requests waited makes the peer suspect.
    fn forget_dead(&self, live: &mut Vec<Live>) {
        live.retain(|live| {
            let dead = live.connection.dead().is_some();
            if dead && live.connection.lost_requests() {
                self.route.lock().suspect(Instant::now());
            }
            !dead
        });
    }

    /// One is used from now on. True: nobody looks after them yet, and the caller sees to it.
    pub(super) fn take(&self, new: Live) -> bool {
        let mut live = self.live.lock();
        let mut route = self.route.lock();
        match new.way {
            Way::Direct(segment) => route.direct(segment, Instant::now()),
            Way::Relayed => route.relayed(Instant::now()),
        }
        live.push(new);
        !self.watched.swap(true, Ordering::AcqRel)
    }

    /// Whether one is stuck; `None`: there are none, and nobody looks after them any more.
    pub(super) fn any_stuck(&self) -> Option<bool> {
        let mut live = self.live.lock();
        self.forget_dead(&mut live);
        if live.is_empty() {
            self.watched.store(false, Ordering::Release);
            return None;
        }
        Some(live.iter().any(|live| live.connection.is_stuck()))
    }

    /// Those that are stuck are closed, so that their callers send again.
    pub(super) fn close_stuck(&self) {
        let stuck: Vec<Live> = self.live.lock().extract_if(.., |live| live.connection.is_stuck()).collect();
        stuck.iter().for_each(|live| live.connection.close_because("what is sent over it does not arrive"));
    }

    /// Only those that go this way are used any more; what waits on others ends there.
    pub(super) fn keep_only(&self, way: impl Fn(Way) -> bool) {
        self.live.lock().retain(|live| way(live.way));
    }

    pub(super) fn close_all(&self) {
        let live = std::mem::take(&mut *self.live.lock());
        live.iter().for_each(|live| live.connection.close());
    }

    pub(super) fn any_alive(&self) -> bool {
        self.live.lock().iter().any(|live| live.connection.dead().is_none())
    }

    /// Whether one through another server works.
    pub(super) fn has_other_way(&self) -> bool {
        let works =
            |live: &Live| live.way == Way::Relayed && live.connection.dead().is_none() && !live.connection.is_stuck();
        self.live.lock().iter().any(works)
    }

    pub(super) fn trial(&self) -> Trial {
        self.route.lock().trial(Instant::now())
    }
}
