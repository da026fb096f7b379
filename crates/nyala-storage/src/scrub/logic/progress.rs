// SPDX-License-Identifier: Apache-2.0

//! Where a target's scrub is, and when the next one is due; as it is remembered over restarts (`docs/format-storage.md`).
//!
//! **Failure model.** What is remembered may be missing, older than what was done, made under another clock, or no progress at all. Something
//! older means that some is read twice. What does not decode, or is of a time to come, means that the target counts as never
//! scrubbed: it is scrubbed within one interval.

use nyala_wire::InodeId;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::walk::WalkAt;
use std::time::Duration;

/// Version of the encoding.
const FORMAT: u8 = 1;
/// A target that was not scrubbed in so many intervals is late.
const LATE_INTERVALS: u64 = 3;
/// Clocks that differ by less are the same, milliseconds.
const CLOCKS_DIFFER_MS: u64 = 60_000;

/// A target's scrub. Times are milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Since when the target is scrubbed by itself.
    pub since_ms: u64,
    /// When the one began that is under way, or was last; 0: none has.
    pub began_ms: u64,
    /// When the last whole one ended; 0: none has.
    pub ended_ms: u64,
    /// Where the one goes on that is under way.
    pub at: Option<WalkAt>,
    /// Bytes that it has compared with their checksums.
    pub bytes: u64,
    /// Bytes that it found damaged,
    pub found_bytes: u64,
    /// and of those, bytes that are right again.
    pub repaired_bytes: u64,
    /// Damaged bytes that found no room in the list of damage.
    pub unlisted_bytes: u64,
}

/// An interval in milliseconds, at least one.
fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

impl Progress {
    /// Of a target of which nothing is known.
    pub fn new(now_ms: u64) -> Progress {
        Progress { since_ms: now_ms, ..Progress::default() }
    }

    /// What was remembered, if that can be.
    pub fn recall(found: Option<&[u8]>, now_ms: u64) -> Progress {
        let latest = |found: &Progress| found.since_ms.max(found.began_ms).max(found.ended_ms);
        let possible = |found: &Progress| latest(found) <= now_ms.saturating_add(CLOCKS_DIFFER_MS);
        found.and_then(Progress::decode).filter(possible).unwrap_or_else(|| Progress::new(now_ms))
    }

    /// When the next one is due. `phase`: the target's place in the interval, a part of `u32::MAX`; targets differ in it, so
    /// that they are not all scrubbed at once.
    pub fn due_ms(&self, interval: Duration, phase: u32) -> u64 {
        let interval_ms = ms(interval);
        let phase_ms = u128::from(interval_ms) * u128::from(phase) / u128::from(u32::MAX);
        // Not more than the interval.
        let first_ms = self.since_ms.saturating_add(phase_ms as u64);
        if self.ended_ms == 0 || self.ended_ms < first_ms {
            return first_ms;
        }
        let intervals = (self.ended_ms - first_ms) / interval_ms + 1;
        first_ms.saturating_add(intervals.saturating_mul(interval_ms))
    }

    /// Begins one, if it is time and none is under way; whether it began.
    pub fn begin_if_due(&mut self, now_ms: u64, interval: Duration, phase: u32) -> bool {
        if self.at.is_some() || now_ms < self.due_ms(interval, phase) {
            return false;
        }
        let (since_ms, ended_ms, at) = (self.since_ms, self.ended_ms, Some(WalkAt::default()));
        *self = Progress { since_ms, ended_ms, began_ms: now_ms, at, ..Progress::default() };
        true
    }

    /// A step was read: so many bytes, up to `next`; absent: that was all.
    pub fn step(&mut self, bytes: u64, next: Option<WalkAt>, now_ms: u64) {
        self.bytes += bytes;
        self.at = next;
        if next.is_none() {
            self.ended_ms = now_ms.max(self.began_ms);
        }
    }

    /// What is left of the time for the one under way: it is to end within three quarters of the interval.
    pub fn time_left(&self, now_ms: u64, interval: Duration) -> Duration {
        let end_ms = self.began_ms.saturating_add(ms(interval) / 4 * 3);
        Duration::from_millis(end_ms.saturating_sub(now_ms))
    }

    /// Whether no whole one has ended for too long.
    pub fn is_late(&self, now_ms: u64, interval: Duration) -> bool {
        now_ms.saturating_sub(self.since_ms.max(self.ended_ms)) >= ms(interval).saturating_mul(LATE_INTERVALS)
    }

    /// As it lies in the target's store.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        let times = [self.since_ms, self.began_ms, self.ended_ms];
        let bytes = [self.bytes, self.found_bytes, self.repaired_bytes, self.unlisted_bytes];
        times.iter().chain(&bytes).for_each(|number| out.extend(number.to_le_bytes()));
        if let Some(WalkAt { file, offset }) = self.at {
            out.extend(file.inode.0.to_le_bytes());
            out.extend(file.index.to_le_bytes());
            out.extend(offset.to_le_bytes());
        }
        out
    }

    /// From there.
    pub fn decode(bytes: &[u8]) -> Option<Progress> {
        let (format, rest) = bytes.split_first()?;
        let (numbers, place) = rest.split_at_checked(7 * 8)?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let number = |n: usize| u64::from_le_bytes(numbers[n]);
        let at = if place.is_empty() { None } else { Some(decode_place(place)?) };
        (*format == FORMAT).then(|| Progress {
            since_ms: number(0),
            began_ms: number(1),
            ended_ms: number(2),
            at,
            bytes: number(3),
            found_bytes: number(4),
            repaired_bytes: number(5),
            unlisted_bytes: number(6),
        })
    }
}

fn decode_place(bytes: &[u8]) -> Option<WalkAt> {
    let (inode, rest) = bytes.split_first_chunk::<8>()?;
    let (index, offset) = rest.split_first_chunk::<2>()?;
    let file = ChunkFileId { inode: InodeId(u64::from_le_bytes(*inode)), index: u16::from_le_bytes(*index) };
    Some(WalkAt { file, offset: u64::from_le_bytes(offset.try_into().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3600 * 1000;
    const MONTH: Duration = Duration::from_millis(30 * DAY);
    const HALF: u32 = u32::MAX / 2 + 1;

    fn walk_at() -> WalkAt {
        WalkAt { file: ChunkFileId { inode: InodeId(9), index: 10 }, offset: 11 }
    }

    #[test]
    fn bytes_are_as_documented() {
        let progress = Progress {
            since_ms: 1,
            began_ms: 2,
            ended_ms: 3,
            at: Some(walk_at()),
            bytes: 4,
            found_bytes: 5,
            repaired_bytes: 6,
            unlisted_bytes: 7,
        };
        let mut right = vec![1];
        (1..8).for_each(|number| right.extend([number, 0, 0, 0, 0, 0, 0, 0]));
        right.extend([9, 0, 0, 0, 0, 0, 0, 0, 10, 0, 11, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((progress.encode(), Progress::decode(&right)), (right.clone(), Some(progress)));
        let idle = Progress { at: None, ..progress };
        assert_eq!(Progress::decode(&idle.encode()), Some(idle));
        (0..right.len()).filter(|len| *len != 57).for_each(|len| assert_eq!(Progress::decode(&right[..len]), None));
        right[0] = 2;
        assert_eq!(Progress::decode(&right), None, "another version");
    }

    #[test]
    fn it_goes_on_where_it_was_unless_that_cannot_be() {
        let mut progress = Progress::new(5 * DAY);
        assert!(progress.begin_if_due(5 * DAY, MONTH, 0));
        progress.step(100, Some(walk_at()), 5 * DAY);
        let kept = progress.encode();
        assert_eq!(Progress::recall(Some(&kept), 6 * DAY), progress);
        assert_eq!(Progress::recall(None, 6 * DAY), Progress::new(6 * DAY), "lost");
        assert_eq!(Progress::recall(Some(&kept[..20]), 6 * DAY), Progress::new(6 * DAY), "torn");
        assert_eq!(Progress::recall(Some(&kept), 4 * DAY), Progress::new(4 * DAY), "of a time to come");
        assert_eq!(Progress::recall(Some(&kept), 5 * DAY - 10), progress, "clocks differ a little");
    }

    #[test]
    fn targets_begin_at_different_times_and_once_in_an_interval() {
        let fresh = Progress::new(DAY);
        assert_eq!(fresh.due_ms(MONTH, 0), DAY);
        assert_eq!(fresh.due_ms(MONTH, HALF), 16 * DAY);
        let mut progress = fresh;
        assert!(!progress.begin_if_due(16 * DAY - 1, MONTH, HALF));
        assert!(progress.begin_if_due(16 * DAY, MONTH, HALF));
        assert!(!progress.begin_if_due(90 * DAY, MONTH, HALF), "one is under way");
        progress.step(10, Some(walk_at()), 17 * DAY);
        progress.step(10, None, 18 * DAY);
        assert_eq!((progress.bytes, progress.at, progress.ended_ms), (20, None, 18 * DAY));
        // In the same place of the next interval, however long it took.
        assert_eq!(progress.due_ms(MONTH, HALF), 46 * DAY);
        assert!(progress.begin_if_due(46 * DAY, MONTH, HALF));
        assert_eq!(progress.bytes, 0);
        progress.step(10, None, 80 * DAY);
        assert_eq!(progress.due_ms(MONTH, HALF), 106 * DAY);
    }

    #[test]
    fn an_interval_that_changes_takes_effect_and_extremes_do_no_harm() {
        let progress = Progress { ended_ms: 18 * DAY, ..Progress::new(DAY) };
        assert_eq!(progress.due_ms(Duration::from_millis(DAY), 0), 19 * DAY);
        let odd = Progress { since_ms: u64::MAX, ended_ms: u64::MAX, ..Progress::default() };
        for interval in [Duration::ZERO, Duration::MAX] {
            assert!(odd.due_ms(interval, u32::MAX) >= u64::MAX - 1);
            assert!(!odd.is_late(u64::MAX, Duration::MAX));
        }
    }

    #[test]
    fn it_is_late_after_three_intervals() {
        let progress = Progress::new(DAY);
        assert!(!progress.is_late(91 * DAY - 1, MONTH) && progress.is_late(91 * DAY, MONTH));
        let progress = Progress { ended_ms: 50 * DAY, ..progress };
        assert!(!progress.is_late(140 * DAY - 1, MONTH) && progress.is_late(140 * DAY, MONTH));
        assert!(!progress.is_late(0, MONTH), "a clock that was set back");
    }

    #[test]
    fn it_is_to_end_within_three_quarters_of_the_interval() {
        let progress = Progress { began_ms: DAY, at: Some(walk_at()), ..Progress::new(0) };
        let four_days = Duration::from_millis(4 * DAY);
        assert_eq!(progress.time_left(2 * DAY, four_days), Duration::from_millis(2 * DAY));
        assert_eq!(progress.time_left(9 * DAY, four_days), Duration::ZERO);
    }
}
