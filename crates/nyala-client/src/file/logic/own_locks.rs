// SPDX-License-Identifier: Apache-2.0

//! The locks that one owner has on one file, as the server has them: what has to be put back when a lock was taken that
//! nobody wants any more.

use nyala_wire::meta::LockKind;

/// A range of bytes, the last included, and how it is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locked {
    /// How.
    pub kind: LockKind,
    /// First byte.
    pub start: u64,
    /// Last byte.
    pub end: u64,
}

/// See the module. In order, without overlaps; what is not locked is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnLocks(Vec<Locked>);

impl OwnLocks {
    /// Whether nothing is locked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A range is now locked so.
    pub fn set(&mut self, new: Locked) {
        let mut all = Vec::with_capacity(self.0.len() + 2);
        for old in self.0.drain(..) {
            if old.end < new.start || new.end < old.start {
                all.push(old);
                continue;
            }
            if old.start < new.start {
                all.push(Locked { end: new.start - 1, ..old });
            }
            if new.end < old.end {
                all.push(Locked { start: new.end + 1, ..old });
            }
        }
        if new.kind != LockKind::Unlock {
            all.push(new);
        }
        all.sort_by_key(|locked| locked.start);
        self.0 = all;
    }

    /// What to set, in this order, so that a range that is now all `taken.kind` is again as it is here. Weaker locks first: the
    /// gaps come last, so that nothing that was held is free in between.
    pub fn put_back(&self, taken: Locked) -> Vec<Locked> {
        let mut gaps = OwnLocks(vec![taken]);
        let mut back = Vec::new();
        for old in self.0.iter().filter(|old| old.start <= taken.end && taken.start <= old.end) {
            let part = Locked { start: old.start.max(taken.start), end: old.end.min(taken.end), ..*old };
            gaps.set(Locked { kind: LockKind::Unlock, ..part });
            if part.kind != taken.kind {
                back.push(part);
            }
        }
        back.extend(gaps.0.into_iter().map(|gap| Locked { kind: LockKind::Unlock, ..gap }));
        back
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockKind::{Read, Unlock, Write};
    use proptest::prelude::*;

    fn any_lock() -> impl Strategy<Value = Locked> {
        let kind = prop_oneof![Just(Read), Just(Write), Just(Unlock)];
        (kind, 0_u64..20, 0_u64..20).prop_map(|(kind, a, b)| Locked { kind, start: a.min(b), end: a.max(b) })
    }

    fn bytes(locks: &OwnLocks) -> Vec<LockKind> {
        let at = |byte: u64| locks.0.iter().find(|locked| (locked.start..=locked.end).contains(&byte));
        (0..20).map(|byte| at(byte).map_or(Unlock, |locked| locked.kind)).collect()
    }

    proptest! {
        #[test]
        fn like_bytes_and_back_again(locks in proptest::collection::vec(any_lock(), 0..12), taken in any_lock()) {
            let (mut own, mut model) = (OwnLocks::default(), vec![Unlock; 20]);
            for lock in locks {
                own.set(lock);
                model[lock.start as usize..=lock.end as usize].fill(lock.kind);
                prop_assert_eq!(&bytes(&own), &model);
                prop_assert!(own.0.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
            prop_assume!(taken.kind != Unlock);
            let before = own.clone();
            own.set(taken);
            let back = before.put_back(taken);
            for lock in &back {
                prop_assert!(taken.start <= lock.start && lock.end <= taken.end && lock.kind != taken.kind);
                own.set(*lock);
            }
            prop_assert_eq!(bytes(&own), bytes(&before));
        }
    }

    #[test]
    fn an_upgrade_becomes_the_read_lock_that_it_was() {
        let mut own = OwnLocks::default();
        own.set(Locked { kind: Read, start: 10, end: u64::MAX });
        let taken = Locked { kind: Write, start: 0, end: u64::MAX };
        let back = own.put_back(taken);
        assert_eq!(back, [Locked { kind: Read, start: 10, end: u64::MAX }, Locked { kind: Unlock, start: 0, end: 9 }]);
    }
}
