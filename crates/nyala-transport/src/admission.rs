// SPDX-License-Identifier: Apache-2.0

//! Who may stay connected without having proven anything yet.
//!
//! **Failure model.** Anybody may open connections and say nothing, or half of something, from one address or from many.
//! There is a fixed number of places. Once all are taken, the oldest stranger of the address that holds the most goes, after
//! a short time in which an honest peer finishes: so one address cannot keep others out, and on an address that many share
//! (loopback, a gateway) newcomers still get their turn. An address that has proven the secret before counts less, up to
//! a share of the places: peers that come back do not compete with strangers. The process may run out of descriptors: the
//! oldest strangers go at once.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};

/// Nobody goes before this time: an honest peer on a slow network needs two round trips.
const GRACE: Duration = Duration::from_millis(100);
/// Pause after a failure to accept.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);
/// Addresses that have proven the secret and are remembered.
const MAX_KNOWN: usize = 4096;
/// So many lines about refused strangers are logged in [`LOG_WINDOW`].
const LOG_LINES: u32 = 10;
const LOG_WINDOW: Duration = Duration::from_secs(10);

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
pub struct Place {
    shared: Arc<Shared>,
    number: u64,
    shed: oneshot::Receiver<()>,
}

impl Admission {
    /// With room for so many strangers, at least one.
    pub fn new(most: usize) -> Admission {
        let strangers = Mutex::new(Strangers { most: most.max(1), ..Strangers::default() });
        let log = Mutex::new(LogBudget { since: Instant::now(), lines: 0, more: 0 });
        Admission { shared: Arc::new(Shared { strangers, freed: Notify::new(), log }) }
    }

    /// Waits until another connection may be accepted; a stranger that has been here for a while goes for it.
    pub async fn room(&self) {
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
    pub fn admit(&self, from: IpAddr) -> Place {
        let (go, shed) = oneshot::channel();
        let number = self.shared.strangers.lock().admit(from.to_canonical(), Instant::now(), go);
        Place { shared: self.shared.clone(), number, shed }
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

impl Place {
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

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.strangers.lock().leave(self.number);
        self.shared.freed.notify_one();
    }
}

#[derive(Debug)]
struct Stranger {
    from: IpAddr,
    since: Instant,
    go: Option<oneshot::Sender<()>>,
}

/// The strangers, oldest first.
#[derive(Debug, Default)]
struct Strangers {
    most: usize,
    next: u64,
    here: BTreeMap<u64, Stranger>,
    known: HashSet<IpAddr>,
    known_order: VecDeque<IpAddr>,
}

impl Strangers {
    fn admit(&mut self, from: IpAddr, now: Instant, go: oneshot::Sender<()>) -> u64 {
        self.next += 1;
        self.here.insert(self.next, Stranger { from, since: now, go: Some(go) });
        self.next
    }

    fn leave(&mut self, number: u64) {
        self.here.remove(&number);
    }

    fn prove(&mut self, number: u64) {
        let Some(stranger) = self.here.remove(&number) else { return };
        if self.known.insert(stranger.from) {
            self.known_order.push_back(stranger.from);
            if self.known_order.len() > MAX_KNOWN
                && let Some(first) = self.known_order.pop_front()
            {
                self.known.remove(&first);
            }
        }
    }

    /// The oldest stranger of the address that holds the most places.
    fn next_to_go(&self) -> Option<u64> {
        let mut places: HashMap<IpAddr, (usize, u64)> = HashMap::new();
        for (number, stranger) in self.here.iter().filter(|(_, stranger)| stranger.go.is_some()) {
            places.entry(stranger.from).or_insert((0, *number)).0 += 1;
        }
        let share = self.most / 4;
        let weight =
            |from: &IpAddr, held: usize| if self.known.contains(from) { held.saturating_sub(share) } else { held };
        let heaviest =
            places.iter().max_by_key(|(from, (held, first))| (weight(from, *held), std::cmp::Reverse(*first)));
        heaviest.map(|(_, (_, first))| *first)
    }

    fn send_away(&mut self, number: u64) {
        if let Some(go) = self.here.get_mut(&number).and_then(|stranger| stranger.go.take()) {
            // Who does not listen any more is leaving already.
            let _ = go.send(());
        }
    }

    /// Whether there is a place; otherwise, for how long to wait before looking again.
    fn make_room(&mut self, now: Instant) -> Result<(), Duration> {
        if self.here.len() < self.most {
            return Ok(());
        }
        let Some(number) = self.next_to_go() else { return Err(GRACE) };
        let age = self.here.get(&number).map_or(GRACE, |stranger| now.saturating_duration_since(stranger.since));
        if age < GRACE {
            return Err(GRACE - age);
        }
        self.send_away(number);
        // Its task gives the place back as soon as it runs.
        Err(GRACE)
    }

    /// Sends a quarter of the strangers away; false if there is none.
    fn shed_some(&mut self) -> bool {
        let count = self.here.len().div_ceil(4);
        for _ in 0..count {
            if let Some(number) = self.next_to_go() {
                self.send_away(number);
            }
        }
        count > 0
    }
}

#[derive(Debug)]
struct LogBudget {
    since: Instant,
    lines: u32,
    more: u32,
}

impl LogBudget {
    fn take(&mut self, now: Instant) -> Option<u32> {
        if now.saturating_duration_since(self.since) >= LOG_WINDOW {
            (self.since, self.lines) = (now, 0);
        }
        if self.lines >= LOG_LINES {
            self.more = self.more.saturating_add(1);
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    /// Fills places by the addresses given, all at once; the receivers say who was sent away.
    fn fill(most: usize, from: &[u8], now: Instant) -> (Strangers, Vec<oneshot::Receiver<()>>) {
        let mut strangers = Strangers { most, ..Strangers::default() };
        let receivers = from.iter().map(|last| {
            let (go, shed) = oneshot::channel();
            strangers.admit(ip(*last), now, go);
            shed
        });
        let receivers = receivers.collect();
        (strangers, receivers)
    }

    #[test]
    fn the_oldest_of_the_heaviest_address_goes_and_not_at_once() {
        let now = Instant::now();
        let (mut strangers, mut sheds) = fill(5, &[1, 2, 2, 2, 3], now);
        assert_eq!(strangers.make_room(now), Err(GRACE), "it has time to finish");
        assert!(strangers.make_room(now + GRACE).is_err());
        let gone: Vec<bool> = sheds.iter_mut().map(|shed| shed.try_recv().is_ok()).collect();
        assert_eq!(gone, [false, true, false, false, false]);
        strangers.leave(2);
        assert_eq!(strangers.make_room(now + GRACE), Ok(()));
    }

    #[test]
    fn addresses_that_proved_the_secret_before_go_last_within_their_share() {
        let now = Instant::now();
        let (mut strangers, _sheds) = fill(8, &[9, 1, 1, 2], now);
        strangers.prove(1);
        assert!(strangers.known.contains(&ip(9)));
        for _ in 0..2 {
            strangers.admit(ip(9), now, oneshot::channel().0);
        }
        assert_eq!(strangers.next_to_go(), Some(2), "the stranger with two");
        strangers.leave(2);
        assert_eq!(strangers.next_to_go(), Some(3), "one each of strangers, two of a known address");
        for _ in 0..4 {
            strangers.admit(ip(9), now, oneshot::channel().0);
        }
        assert_eq!(strangers.next_to_go(), Some(5), "beyond its share a known address counts as any");
    }

    #[test]
    fn what_is_remembered_and_logged_is_bounded() {
        let now = Instant::now();
        let mut strangers = Strangers { most: 8, ..Strangers::default() };
        for number in 0..=MAX_KNOWN as u32 {
            let from = IpAddr::V4(std::net::Ipv4Addr::from(number));
            let number = strangers.admit(from, now, oneshot::channel().0);
            strangers.prove(number);
        }
        assert_eq!(
            (strangers.known.len(), strangers.known_order.len(), strangers.here.len()),
            (MAX_KNOWN, MAX_KNOWN, 0)
        );
        let mut log = LogBudget { since: now, lines: 0, more: 0 };
        assert_eq!((0..100).filter(|_| log.take(now).is_some()).count(), LOG_LINES as usize);
        assert_eq!(log.take(now + LOG_WINDOW), Some(100 - LOG_LINES));
    }
}
