// SPDX-License-Identifier: Apache-2.0

//! Which connection goes when all places for strangers are taken. Pure: times are arguments; a channel tells who has to go.
//!
//! **Failure model.** As of [`crate::admission`].

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Nobody goes before this time: an honest peer on a slow network needs two round trips.
const GRACE: Duration = Duration::from_millis(100);
/// Addresses that have proven the secret and are remembered.
const MAX_KNOWN: usize = 4096;
/// So many lines about refused strangers are logged in [`LOG_WINDOW`].
const LOG_LINES: u32 = 10;
const LOG_WINDOW: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Stranger {
    from: IpAddr,
    since: Instant,
    go: Option<oneshot::Sender<()>>,
}

/// The strangers, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    most: usize,
    next: u64,
    here: BTreeMap<u64, Stranger>,
    known: HashSet<IpAddr>,
    known_order: VecDeque<IpAddr>,
}

impl Strangers {
    pub(crate) fn new(most: usize) -> Strangers {
        Strangers { most, ..Strangers::default() }
    }

    pub(crate) fn admit(&mut self, from: IpAddr, now: Instant, go: oneshot::Sender<()>) -> u64 {
        self.next += 1;
        self.here.insert(self.next, Stranger { from, since: now, go: Some(go) });
        self.next
    }

    pub(crate) fn leave(&mut self, number: u64) {
        self.here.remove(&number);
    }

    pub(crate) fn prove(&mut self, number: u64) {
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
    pub(crate) fn make_room(&mut self, now: Instant) -> Result<(), Duration> {
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
    pub(crate) fn shed_some(&mut self) -> bool {
        let count = self.here.len().div_ceil(4);
        for _ in 0..count {
            if let Some(number) = self.next_to_go() {
                self.send_away(number);
            }
        }
        count > 0
    }
}

/// How many lines about strangers were logged in this window, and left out.
#[derive(Debug)]
pub(crate) struct LogBudget {
    since: Instant,
    lines: u32,
    more: u32,
}

impl LogBudget {
    pub(crate) fn new(since: Instant) -> LogBudget {
        LogBudget { since, lines: 0, more: 0 }
    }

    pub(crate) fn take(&mut self, now: Instant) -> Option<u32> {
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
        let mut strangers = Strangers::new(most);
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
        let mut strangers = Strangers::new(8);
        for number in 0..=MAX_KNOWN as u32 {
            let from = IpAddr::V4(std::net::Ipv4Addr::from(number));
            let number = strangers.admit(from, now, oneshot::channel().0);
            strangers.prove(number);
        }
        assert_eq!(
            (strangers.known.len(), strangers.known_order.len(), strangers.here.len()),
            (MAX_KNOWN, MAX_KNOWN, 0)
        );
        let mut log = LogBudget::new(now);
        assert_eq!((0..100).filter(|_| log.take(now).is_some()).count(), LOG_LINES as usize);
        assert_eq!(log.take(now + LOG_WINDOW), Some(100 - LOG_LINES));
    }
}
