// SPDX-License-Identifier: Apache-2.0

//! How much a scrub reads now, or how long it waits: at its full rate while its target has nothing else to do, and no
//! faster than it needs to be in time while others use the target.
//!
//! What others do is seen from the target's own counters. How fast its disk is, is not known: a target counts as busy from what
//! keeps a single hard disk busy, so that a scrub of a faster one gives way earlier than it has to.

use nyala_wire::walk::PIECE_BYTES;
use std::time::Duration;

/// Operations in a second of others that leave a target no time for a scrub: about what a hard disk does.
const BUSY_OPS: f64 = 100.0;
/// The same, bytes.
const BUSY_BYTES: f64 = 64e6;
/// Use is measured over at least so long.
const WINDOW: Duration = Duration::from_millis(100);
/// When nobody uses the target any more, half of the use is forgotten in this time.
const HALF_LIFE: Duration = Duration::from_secs(1);
/// Longest sleep before the use is looked at again.
const NAP: Duration = Duration::from_millis(100);
/// While jobs of others wait for the target's threads, the next read is put off by this,
const GIVE_WAY: Duration = Duration::from_millis(10);
/// but not for longer than that in all.
const AT_MOST: Duration = Duration::from_millis(250);
/// Bytes a second that are read whatever others do.
const LEAST_RATE: f64 = 65_536.0;
/// Most bytes of a step.
const STEP_BYTES: f64 = 1_048_576.0;
/// Parts of a second that a step at full rate takes.
const STEPS_IN_A_SECOND: f64 = 16.0;
/// A look at a piece counts for so many bytes at least: what a disk would have read instead of moving its heads.
const LOOK_BYTES: u64 = 64 << 10;
/// A rate that is no limit.
const UNLIMITED: f64 = 1e15;

/// What others have done on a target since its service was started, and what they wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Reads, writes, syncs and other operations.
    pub ops: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Jobs in the queues of the target's threads now.
    pub waiting: u64,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Read about so many bytes.
    Read(u32),
    /// Ask again after this time.
    Sleep(Duration),
}

/// The pace of one scrub.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Most bytes a second.
    cap: f64,
    /// The last decision, on a clock that never goes back.
    last: Duration,
    /// When use was measured last, and what it was.
    measured: Option<(Duration, Use)>,
    /// How busy others keep the target: 0, not at all, to 1.
    busy: f64,
    /// Bytes that were read and are not paid for with time yet.
    debt: f64,
    /// Since when reads are put off for jobs that wait.
    put_off: Option<Duration>,
}

/// Bytes a second that are needed to read what is left in this time.
pub fn needed(left_bytes: u64, time: Duration) -> u64 {
    let rate = left_bytes as f64 / time.as_secs_f64().max(0.001);
    // A float becomes the nearest number that there is.
    rate as u64
}

/// For how many bytes a step counts that looked at pieces with so many bytes each.
pub fn cost(pieces: impl IntoIterator<Item = u64>) -> u64 {
    pieces.into_iter().map(|bytes| bytes.max(LOOK_BYTES)).sum()
}

impl Pace {
    /// With at most `rate` bytes a second; 0: no limit.
    pub fn new(rate: u64) -> Pace {
        let cap = if rate == 0 { UNLIMITED } else { rate as f64 };
        Pace { cap, last: Duration::ZERO, measured: None, busy: 0.0, debt: 0.0, put_off: None }
    }

    /// Bytes a second at present, if so many are needed to be in time.
    pub fn rate(&self, needed: u64) -> u64 {
        self.allowed(needed) as u64
    }

    fn allowed(&self, needed: u64) -> f64 {
        (self.cap * (1.0 - self.busy)).max(needed as f64).max(LEAST_RATE).min(self.cap)
    }

    /// What to do at `now`. `needed`: bytes a second without which the scrub is late.
    pub fn next(&mut self, now: Duration, seen: Use, needed: u64) -> Decision {
        self.measure(now, seen);
        let rate = self.allowed(needed);
        self.debt = (self.debt - rate * now.saturating_sub(self.last).as_secs_f64()).max(0.0);
        self.last = now;
        if self.debt > 0.0 {
            return Decision::Sleep(Duration::from_secs_f64(self.debt / rate).clamp(Duration::from_millis(1), NAP));
        }
        if seen.waiting == 0 {
            self.put_off = None;
        } else if now.saturating_sub(*self.put_off.get_or_insert(now)) < AT_MOST {
            return Decision::Sleep(GIVE_WAY);
        }
        Decision::Read((rate / STEPS_IN_A_SECOND).clamp(PIECE_BYTES as f64, STEP_BYTES) as u32)
    }

    /// So much was read ([`cost`]).
    pub fn read(&mut self, bytes: u64) {
        self.debt += bytes as f64;
    }

    fn measure(&mut self, now: Duration, seen: Use) {
        let (since, before) = *self.measured.get_or_insert((now, seen));
        let time = now.saturating_sub(since);
        if time < WINDOW {
            return;
        }
        self.measured = Some((now, seen));
        let seconds = time.as_secs_f64();
        let ops = seen.ops.saturating_sub(before.ops) as f64 / seconds;
        let bytes = seen.bytes.saturating_sub(before.bytes) as f64 / seconds;
        let faded = self.busy * 0.5_f64.powf(seconds / HALF_LIFE.as_secs_f64());
        self.busy = (ops / BUSY_OPS + bytes / BUSY_BYTES).min(1.0).max(faded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: u64 = 64 << 20;

    /// Runs for so long with this load (operations and bytes in a second of others); bytes read.
    fn run(pace: &mut Pace, clock: &mut Duration, seconds: u64, (ops, bytes): (u64, u64), needed: u64) -> u64 {
        let (end, mut read) = (*clock + Duration::from_secs(seconds), 0);
        while *clock < end {
            let ms = u64::try_from(clock.as_millis()).unwrap();
            let seen = Use { ops: ops * ms / 1000, bytes: bytes * ms / 1000, waiting: 0 };
            match pace.next(*clock, seen, needed) {
                // A disk of 500 MB/s.
                Decision::Read(step) => {
                    *clock += Duration::from_secs_f64(f64::from(step) / 5e8);
                    pace.read(step.into());
                    read += u64::from(step);
                }
                Decision::Sleep(time) => {
                    assert!(time > Duration::ZERO && time <= NAP, "{time:?}");
                    *clock += time;
                }
            }
        }
        read
    }

    fn near(found: u64, wanted: u64) -> bool {
        found.abs_diff(wanted) <= wanted / 20 + STEP_BYTES as u64
    }

    #[test]
    fn an_idle_target_is_read_at_the_rate_and_never_faster() {
        let (mut pace, mut clock) = (Pace::new(CAP), Duration::ZERO);
        let read = run(&mut pace, &mut clock, 20, (0, 0), 0);
        assert!(near(read, 20 * CAP), "{read}");
        // A pause saves nothing up.
        clock += Duration::from_secs(3600);
        let read = run(&mut pace, &mut clock, 1, (0, 0), 0);
        assert!(near(read, CAP), "{read}");
    }

    #[test]
    fn a_busy_target_is_read_as_slowly_as_is_in_time() {
        let needed = 3_000_000;
        for load in [(1000, 0), (0, 500_000_000), (60, 40_000_000)] {
            let (mut pace, mut clock) = (Pace::new(CAP), Duration::ZERO);
            run(&mut pace, &mut clock, 1, load, needed);
            let read = run(&mut pace, &mut clock, 60, load, needed);
            assert!(near(read, 60 * needed), "{load:?}: {read}");
        }
        // Nothing is needed: a little is read all the same, so that it ends some day.
        let (mut pace, mut clock) = (Pace::new(CAP), Duration::ZERO);
        run(&mut pace, &mut clock, 1, (1000, 0), 0);
        let read = run(&mut pace, &mut clock, 60, (1000, 0), 0);
        assert!((2_000_000..5_000_000).contains(&read), "{read}");
    }

    #[test]
    fn a_target_with_a_little_to_do_gives_what_is_left() {
        let (mut pace, mut clock) = (Pace::new(CAP), Duration::ZERO);
        run(&mut pace, &mut clock, 1, (25, 0), 0);
        let read = run(&mut pace, &mut clock, 20, (25, 0), 0);
        assert!(read > 20 * CAP / 2 && read < 20 * CAP * 9 / 10, "{read}");
    }

    #[test]
    fn work_is_given_way_to_at_once_and_forgotten_slowly() {
        let (mut pace, mut clock) = (Pace::new(CAP), Duration::ZERO);
        run(&mut pace, &mut clock, 5, (0, 0), 0);
        run(&mut pace, &mut clock, 1, (1_000_000, 0), 0);
        assert_eq!(pace.rate(0), LEAST_RATE as u64);
        let soon = run(&mut pace, &mut clock, 1, (0, 0), 0);
        assert!(soon < CAP / 2 + CAP / 10, "{soon}");
        run(&mut pace, &mut clock, 8, (0, 0), 0);
        assert!(near(run(&mut pace, &mut clock, 5, (0, 0), 0), 5 * CAP));
    }

    #[test]
    fn the_rate_holds_also_for_a_scrub_that_is_late() {
        let (mut pace, mut clock) = (Pace::new(CAP), Duration::ZERO);
        let read = run(&mut pace, &mut clock, 20, (1000, 0), u64::MAX);
        assert!(near(read, 20 * CAP), "{read}");
        // Without a limit, steps are bounded all the same.
        let mut pace = Pace::new(0);
        assert_eq!(pace.next(Duration::ZERO, Use::default(), 0), Decision::Read(STEP_BYTES as u32));
    }

    #[test]
    fn jobs_that_wait_go_first_but_not_for_ever() {
        let mut pace = Pace::new(CAP);
        let busy = Use { waiting: 1, ..Use::default() };
        let mut clock = Duration::ZERO;
        while let Decision::Sleep(time) = pace.next(clock, busy, 0) {
            clock += time;
        }
        assert_eq!(clock, AT_MOST);
        pace.next(clock, Use::default(), 0);
        assert_eq!(pace.next(clock, busy, 0), Decision::Sleep(GIVE_WAY), "the next one waits anew");
    }

    #[test]
    fn what_is_needed_and_what_a_look_costs() {
        assert_eq!(needed(1000, Duration::from_secs(10)), 100);
        assert_eq!(needed(1, Duration::ZERO), 1000);
        assert_eq!(needed(0, Duration::from_secs(9)), 0);
        assert_eq!(cost([4096, PIECE_BYTES]), LOOK_BYTES + PIECE_BYTES);
    }
}
