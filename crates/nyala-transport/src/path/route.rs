// SPDX-License-Identifier: Apache-2.0

//! Which way to a peer is taken, and when a better one is tried. Pure: times are arguments.
//!
//! **Failure model.** As of [`super`]. A way that fails again and again must not be taken again and again: what it has to
//! prove grows each time, up to [`MOST_TRUST`].

use std::time::Duration;
use tokio::time::Instant;

/// Segments that are tried when large ones get lost, bytes.
const SEGMENTS: [u16; 2] = [1200, 536];
/// Small segments are used for so long before large ones are tried again.
const SMALL_FOR: Duration = Duration::from_secs(300);
/// After a connection was stuck or lost, new ones are tested for so long.
const SUSPECT_FOR: Duration = Duration::from_secs(300);
/// For so long the direct way has to work before it is taken again.
const LEAST_TRUST: Duration = Duration::from_secs(2);
const MOST_TRUST: Duration = Duration::from_secs(64);
/// A direct way that works for so long is as good as new.
const TRUSTED: Duration = Duration::from_secs(60);
/// Between two attempts to reach a peer directly while another way is used.
const TRY_DIRECT: Duration = Duration::from_secs(1);
/// Between two attempts to find another way while a connection is stuck: doubles up to the second one.
const TRY_AROUND: Duration = Duration::from_millis(400);
const TRY_AROUND_MOST: Duration = Duration::from_secs(4);

/// How a connection gets to its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Directly, with segments of at most so many bytes if there is a limit.
    Direct(Option<u16>),
    /// Through another server.
    Relayed,
}

/// How a direct connection is made.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    /// It has to prove that large packets get through.
    pub tested: bool,
    /// Limits of segments, bytes, to try one after the other.
    pub segments: Vec<Option<u16>>,
}

/// What is known of the ways to one peer.
#[derive(Debug, Default)]
pub(crate) struct Route {
    suspect_until: Option<Instant>,
    small: Option<(u16, Instant)>,
    trust: Duration,
    /// The direct way has worked since.
    works_since: Option<Instant>,
    /// It was taken again then.
    taken_at: Option<Instant>,
    relayed: bool,
    next_at: Option<Instant>,
    pause: Duration,
}

impl Route {
    /// A connection was stuck, or was lost while requests waited.
    pub(crate) fn suspect(&mut self, now: Instant) {
        self.suspect_until = Some(now + SUSPECT_FOR);
    }

    /// How a new direct connection is made.
    pub(crate) fn trial(&self, now: Instant) -> Trial {
        let small = self.small.filter(|(_, until)| now < *until).map(|(bytes, _)| bytes);
        let smaller = SEGMENTS.into_iter().filter(|bytes| small.is_none_or(|small| *bytes < small));
        let segments = std::iter::once(small).chain(smaller.map(Some)).collect();
        Trial { tested: self.suspect_until.is_some_and(|until| now < until) || self.small.is_some(), segments }
    }

    /// A connection was made directly and is used.
    pub(crate) fn direct(&mut self, segment: Option<u16>, now: Instant) {
        if self.relayed {
            self.taken_at = Some(now);
        }
        self.relayed = false;
        self.works_since = None;
        self.calm();
        self.small = segment.map(|bytes| match self.small {
            Some((known, until)) if known == bytes && now < until => (known, until),
            _ => (bytes, now + SMALL_FOR),
        });
        self.next_at = self.small.map(|(_, until)| until);
    }

    /// A connection was made through another server and is used.
    pub(crate) fn relayed(&mut self, now: Instant) {
        if !self.relayed {
            let soon = self.taken_at.is_some_and(|at| now < at + TRUSTED);
            self.trust = if soon { (self.trust * 2).min(MOST_TRUST) } else { LEAST_TRUST };
        }
        self.relayed = true;
        self.works_since = None;
        self.calm();
        self.next_at = Some(now + TRY_DIRECT);
    }

    /// Whether the way in use goes through another server.
    pub(crate) fn is_relayed(&self) -> bool {
        self.relayed
    }

    /// The direct way was tried, beside the one in use; true: it has worked for long enough to be taken.
    pub(crate) fn tried_direct(&mut self, works: bool, now: Instant) -> bool {
        self.next_at = Some(now + TRY_DIRECT);
        if !works {
            self.works_since = None;
            return false;
        }
        let since = *self.works_since.get_or_insert(now);
        now >= since + self.trust
    }

    /// Large segments were tried, beside small ones; true: they get through.
    pub(crate) fn tried_large(&mut self, works: bool, now: Instant) -> bool {
        self.small = self.small.filter(|_| !works).map(|(bytes, _)| (bytes, now + SMALL_FOR));
        self.next_at = self.small.map(|(_, until)| until);
        works
    }

    /// No way was found for a connection that is stuck.
    pub(crate) fn found_none(&mut self, now: Instant) {
        self.pause = (self.pause * 2).clamp(TRY_AROUND, TRY_AROUND_MOST);
        self.next_at = Some(now + self.pause);
    }

    /// Nothing is stuck.
    pub(crate) fn calm(&mut self) {
        if !self.pause.is_zero() && !self.relayed {
            self.next_at = self.small.map(|(_, until)| until);
        }
        self.pause = Duration::ZERO;
    }

    /// When something is to be tried; `None`: not before there is news.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.next_at
    }

    /// Whether a stuck connection may be replaced now.
    pub(crate) fn may_look_around(&self, now: Instant) -> bool {
        self.pause.is_zero() || self.next_at.is_none_or(|at| now >= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn segments_get_smaller_and_large_ones_are_tried_again_later() {
        let (mut route, now) = (Route::default(), Instant::now());
        assert!(!route.trial(now).tested);
        assert_eq!(route.trial(now).segments, [None, Some(1200), Some(536)]);
        route.suspect(now);
        assert!(route.trial(now).tested && !route.trial(now + SUSPECT_FOR).tested);
        route.direct(Some(1200), now);
        assert!(route.trial(now + SUSPECT_FOR).tested, "as long as segments are small");
        assert_eq!(route.trial(now).segments, [Some(1200), Some(536)]);
        assert_eq!(route.next_at(), Some(now + SMALL_FOR));
        route.direct(Some(1200), now + 10 * SECOND);
        assert_eq!(route.next_at(), Some(now + SMALL_FOR), "another connection changes nothing");
        let later = now + SMALL_FOR;
        assert_eq!(route.trial(later).segments, [None, Some(1200), Some(536)]);
        assert!(!route.tried_large(false, later));
        assert_eq!(
            (route.trial(later).segments, route.next_at()),
            (vec![Some(1200), Some(536)], Some(later + SMALL_FOR))
        );
        assert!(route.tried_large(true, later + SMALL_FOR));
        assert_eq!(route.next_at(), None);
    }

    #[test]
    fn the_direct_way_has_to_prove_more_each_time_it_fails_soon() {
        let (mut route, mut now) = (Route::default(), Instant::now());
        for seconds in [2, 4, 8, 16, 32, 64, 64] {
            route.relayed(now);
            assert!(!route.tried_direct(true, now));
            assert!(!route.tried_direct(false, now + SECOND), "a break");
            assert!(!route.tried_direct(true, now + SECOND));
            let done = now + SECOND + seconds * SECOND;
            assert!(!route.tried_direct(true, done - SECOND / 10) && route.tried_direct(true, done));
            route.direct(None, done);
            now = done + 5 * SECOND;
        }
        route.relayed(now + TRUSTED);
        assert!(!route.tried_direct(true, now));
        assert!(route.tried_direct(true, now + LEAST_TRUST), "it was good for long");
    }

    #[test]
    fn looking_for_another_way_gets_rarer() {
        let (mut route, mut now) = (Route::default(), Instant::now());
        assert!(route.may_look_around(now));
        for pause_ms in [400, 800, 1600, 3200, 4000, 4000] {
            route.found_none(now);
            let pause = Duration::from_millis(pause_ms);
            assert!(!route.may_look_around(now + pause - SECOND / 10) && route.may_look_around(now + pause));
            now += pause;
        }
        route.direct(None, now);
        assert!(route.may_look_around(now));
    }
}
