// SPDX-License-Identifier: Apache-2.0

//! What a scrub found damaged on a target and could not repair: a bounded list of pieces, remembered over restarts
//! (`docs/format-storage.md`), and when each is looked at again.
//!
//! **Failure model.** What is remembered may be old: the file was restored or removed since. So each piece is looked at again after a while, and after
//! each start. More damage than the list has room for is only counted.

use super::reason::Reason;
use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::walk::WalkAt;
use std::collections::BTreeMap;
use std::time::Duration;

/// Pieces that are listed.
pub const LISTED: usize = 1024;
/// A piece is looked at again after this time, or a thirtieth of the interval, if that is less;
const AGAIN: Duration = Duration::from_secs(3600);
/// if what it lacks may be there any time, after this.
const SOON: Duration = Duration::from_secs(600);

/// A damaged piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// A bit for each block: it is damaged.
    pub bad: u64,
    /// When that was found, milliseconds since 1970.
    pub found_ms: u64,
    /// Why it was not repaired.
    pub reason: Reason,
}

impl Damage {
    /// As it lies in the target's store.
    pub fn encode(&self) -> [u8; 17] {
        let mut out = [0; 17];
        out[..8].copy_from_slice(&self.bad.to_le_bytes());
        out[8..16].copy_from_slice(&self.found_ms.to_le_bytes());
        out[16] = self.reason.number();
        out
    }

    /// From there.
    pub fn decode(bytes: &[u8]) -> Option<Damage> {
        let (bad, rest) = bytes.split_first_chunk::<8>()?;
        let (found, [reason]) = rest.split_first_chunk::<8>()? else { return None };
        let reason = Reason::of(*reason)?;
        Some(Damage { bad: u64::from_le_bytes(*bad), found_ms: u64::from_le_bytes(*found), reason })
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        u64::from(self.bad.count_ones()) * BLOCK_BYTES
    }
}

/// Damaged pieces of a target, and when each was looked at last, on a clock that never goes back; absent: not since the start.
#[derive(Clone, Debug, Default)]
pub struct DamageList(BTreeMap<WalkAt, (Damage, Option<Duration>)>);

/// What a look at a piece changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Bytes that were not known to be damaged.
    pub found_bytes: u64,
    /// Damaged bytes that are right again.
    pub repaired_bytes: u64,
    /// Damaged bytes for which the list has no room.
    pub unlisted_bytes: u64,
    /// What is to be remembered of the piece; the inner one absent: nothing; the outer one: as before.
    pub store: Option<Option<Damage>>,
}

impl DamageList {
    /// With what was remembered.
    pub fn new(found: impl IntoIterator<Item = (WalkAt, Damage)>) -> DamageList {
        DamageList(found.into_iter().take(LISTED).map(|(at, damage)| (at, (damage, None))).collect())
    }

    /// All of it, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&WalkAt, &Damage)> {
        self.0.iter().map(|(at, (damage, _))| (at, damage))
    }

    /// Whether a piece is in it.
    pub fn has(&self, at: WalkAt) -> bool {
        self.0.contains_key(&at)
    }

    /// Damaged bytes.
    pub fn bytes(&self) -> u64 {
        self.iter().map(|(_, damage)| damage.bytes()).sum()
    }

    /// A piece that is to be looked at again.
    pub fn due(&self, now: Duration, interval: Duration) -> Option<WalkAt> {
        let after = |reason: Reason| {
            let longest = if reason.may_pass() { SOON } else { AGAIN };
            longest.min(interval / 30)
        };
        let is_due = |(damage, looked): &(Damage, Option<Duration>)| {
            looked.is_none_or(|looked| now.saturating_sub(looked) >= after(damage.reason))
        };
        self.0.iter().find(|(_, entry)| is_due(entry)).map(|(at, _)| *at)
    }

    /// A piece was looked at: these blocks were `bad`, and of those, these are `left`.
    pub fn looked(&mut self, at: WalkAt, (bad, left): (u64, u64), reason: Reason, when: (Duration, u64)) -> Change {
        let ((now, now_ms), bytes) = (when, |bits: u64| u64::from(bits.count_ones()) * BLOCK_BYTES);
        let before = self.0.get(&at).map(|(damage, _)| *damage);
        let known = before.map_or(0, |damage| damage.bad);
        let mut change =
            Change { found_bytes: bytes(bad & !known), repaired_bytes: bytes(bad & !left), ..Change::default() };
        if left == 0 {
            change.store = self.0.remove(&at).map(|_| None);
        } else if before.is_some() || self.0.len() < LISTED {
            let damage = Damage { bad: left, found_ms: before.map_or(now_ms, |damage| damage.found_ms), reason };
            self.0.insert(at, (damage, Some(now)));
            change.store = (before != Some(damage)).then_some(Some(damage));
        } else {
            change.unlisted_bytes = bytes(left);
        }
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;
    use nyala_wire::storage::ChunkFileId;

    const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

    fn at(inode: u64) -> WalkAt {
        WalkAt { file: ChunkFileId { inode: InodeId(inode), index: 0 }, offset: 0 }
    }

    #[test]
    fn bytes_are_as_documented() {
        for number in 0..4 {
            let reason = Reason::of(number).unwrap();
            let damage = Damage { bad: 5, found_ms: 258, reason };
            let right = [5, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, number];
            assert_eq!((damage.encode(), Damage::decode(&right)), (right, Some(damage)));
            assert_eq!(Damage::decode(&right[..16]), None);
        }
        assert_eq!(Damage::decode(&[9; 17]), None, "no such reason");
        assert_eq!(Damage::decode(&[0; 18]), None);
    }

    #[test]
    fn damage_is_counted_once_and_stays_until_it_is_gone() {
        let (mut list, when) = (DamageList::default(), (Duration::from_secs(1), 77));
        let found = list.looked(at(1), (0b111, 0b011), Reason::NotMirrored, when);
        let damage = Damage { bad: 0b011, found_ms: 77, reason: Reason::NotMirrored };
        assert_eq!((found.found_bytes, found.repaired_bytes, found.store), (12288, 4096, Some(Some(damage))));
        let again = list.looked(at(1), (0b011, 0b011), Reason::NotMirrored, (Duration::from_secs(2), 99));
        assert_eq!(again, Change::default(), "nothing new");
        assert_eq!(list.bytes(), 8192);
        let more = list.looked(at(1), (0b1011, 0b1011), Reason::NotMirrored, when);
        assert_eq!((more.found_bytes, more.store), (4096, Some(Some(Damage { bad: 0b1011, ..damage }))));
        let gone = list.looked(at(1), (0, 0), Reason::NotMirrored, when);
        assert_eq!(gone, Change { store: Some(None), ..Change::default() });
        assert_eq!((list.bytes(), list.iter().count()), (0, 0));
    }

    #[test]
    fn it_is_bounded() {
        let (mut list, when) = (DamageList::default(), (Duration::ZERO, 0));
        for inode in 0..LISTED as u64 {
            list.looked(at(inode), (1, 1), Reason::NotMirrored, when);
        }
        let more = list.looked(at(u64::MAX), (3, 3), Reason::NotMirrored, when);
        assert_eq!((more.unlisted_bytes, more.store, list.iter().count()), (8192, None, LISTED));
        assert!(list.looked(at(5), (1, 0), Reason::NotMirrored, when).store.is_some());
        assert!(list.looked(at(u64::MAX), (3, 3), Reason::NotMirrored, when).store.is_some(), "there is room again");
        let damage = Damage { bad: 1, found_ms: 0, reason: Reason::NoPlace };
        assert_eq!(DamageList::new((0..2000).map(|inode| (at(inode), damage))).iter().count(), LISTED);
    }

    #[test]
    fn it_is_looked_at_again_after_a_start_and_after_a_while() {
        let (kept, passes) = (Reason::NotMirrored, Reason::NoGoodCopy);
        let old = Damage { bad: 1, found_ms: 0, reason: kept };
        let mut list = DamageList::new([(at(1), old), (at(2), old)]);
        let mut clock = Duration::from_secs(5);
        assert_eq!(list.due(clock, MONTH), Some(at(1)), "after a start");
        list.looked(at(1), (1, 1), kept, (clock, 9));
        assert_eq!(list.due(clock, MONTH), Some(at(2)));
        list.looked(at(2), (1, 1), passes, (clock, 9));
        assert_eq!(list.due(clock, MONTH), None);
        clock += SOON;
        assert_eq!(list.due(clock, MONTH), Some(at(2)), "another member may be there now");
        list.looked(at(2), (0, 0), passes, (clock, 9));
        clock += AGAIN;
        assert_eq!(list.due(clock, MONTH), Some(at(1)), "it may have been restored");
        list.looked(at(1), (1, 1), kept, (clock, 9));
        assert_eq!(list.due(clock + Duration::from_secs(1), Duration::from_secs(30)), Some(at(1)), "of the interval");
    }
}
