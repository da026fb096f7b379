// SPDX-License-Identifier: Apache-2.0

//! Who may stay connected without having proven anything yet.
//!
//! **Failure model.** Anybody may open connections and say nothing, or half of something, from one address or from many.
//! There is a fixed number of places. Once all are taken, the oldest stranger of the address that holds the most goes, after
//! a short time in which an honest peer finishes: so one address cannot keep others out, and on an address that many share
//! (loopback, a gateway) newcomers still get their turn. An address that has proven the secret before counts less, up to
//! a share of the places: peers that come back do not compete with strangers. The process may run out of descriptors: the
//! oldest strangers go at once.

use crate::strangers::{LogBudget, Strangers};
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};

/// Pause after a failure to accept.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// The places, shared by everything that accepts on a port.
#[derive(Clone, Debug)]
pub struct Admission {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    strangers: Mutex<Strangers>,
    /// A place is free again.
    freed: Notify,
    log: Mutex<LogBudget>,
}

/// A place; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    shared: Arc<Shared>,
    number: u64,
    shed: oneshot::Receiver<()>,
}

impl Admission {
    /// With room for so many strangers, at least one.
    pub fn new(most: usize) -> Admission {
        let strangers = Mutex::new(Strangers::new(most.max(1)));
        let log = Mutex::new(LogBudget::new(Instant::now()));
        Admission { shared: Arc::new(Shared { strangers, freed: Notify::new(), log }) }
    }

    /// Waits until another connection may be accepted; a stranger that has been here for a while goes for it.
    pub async fn wait_room(&self) {
        loop {
            let wait = match self.shared.strangers.lock().make_room(Instant::now()) {
                Ok(()) => return,
                Err(wait) => wait,
            };
            // Either way it is looked at again.
            let _ = tokio::time::timeout(wait, self.shared.freed.notified()).await;
        }
    }

    /// Takes a place for a connection from this address.
    pub fn admit(&self, from: IpAddr) -> Permit {
        let (go, shed) = oneshot::channel();
        let number = self.shared.strangers.lock().admit(from.to_canonical(), Instant::now(), go);
        Permit { shared: self.shared.clone(), number, shed }
    }

    /// Accepting failed: how long to pause. If it was for want of descriptors or memory, some of the strangers go, whatever
    /// their age.
    pub fn accept_failed(&self, error: &std::io::Error) -> Duration {
        if let Some(more) = self.may_log() {
            tracing::warn!(%error, more, "cannot accept a connection");
        }
        let scarce = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
        let scarce = error.raw_os_error().is_some_and(|code| scarce.contains(&code));
        // Descriptors come back when the tasks of those that go run. Without a stranger there is nothing to gain by haste.
        let hasty = !scarce || self.shared.strangers.lock().shed_some();
        if hasty { ACCEPT_AGAIN } else { ACCEPT_AGAIN * 10 }
    }

    /// Whether one more line about a stranger may be logged, and how many were left out before it.
    pub fn may_log(&self) -> Option<u32> {
        self.shared.log.lock().take(Instant::now())
    }
}

impl Permit {
    /// Returns when this connection has to go.
    pub async fn shed(&mut self) {
        // The sender goes away unused only with the place itself.
        let _ = (&mut self.shed).await;
    }

    /// The peer has proven the secret: its place is free, and its address is remembered.
    pub fn proven(self) {
        self.shared.strangers.lock().prove(self.number);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.shared.strangers.lock().leave(self.number);
        self.shared.freed.notify_one();
    }
}
