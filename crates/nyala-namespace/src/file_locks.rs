// SPDX-License-Identifier: Apache-2.0

//! The locks that applications hold on one file: byte ranges, as POSIX and open file descriptions have them, and `flock`.
//! Pure: locks in, locks or a refusal out. Who waits for whom is `crate::deadlock`'s business.
//!
//! An owner never stands in its own way: what it locks replaces what it had there, at once and as a whole, so neither an
//! upgrade nor a downgrade is ever without a lock. Its ranges do not overlap; touching ones of the same kind are one.

use minicbor::{Decode, Encode};
use nyala_wire::meta::{FileLock, LockKind};
use nyala_wire::meta_tx::LockOwner;
use nyala_wire::{ErrorCode, SessionId, WireError};

/// Most ranges on one file; beyond, ENOLCK.
pub const MAX_RANGES: usize = 4096;

/// A lock and the session that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Held {
    /// The session.
    #[n(0)]
    pub session: SessionId,
    /// What it holds.
    #[n(1)]
    pub lock: FileLock,
}

/// All locks on one file, as they are stored: ranges before `flock`, in the order of their first bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct FileLocks {
    #[n(0)]
    held: Vec<Held>,
}

/// Why a lock cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This one stands in the way.
    Blocked(Held),
    /// The file has too many.
    TooMany,
}

impl Held {
    /// Whose it is.
    pub fn owner(&self) -> LockOwner {
        LockOwner { session: self.session, owner: self.lock.owner }
    }

    fn is_of(&self, session: SessionId, lock: &FileLock) -> bool {
        self.session == session && self.lock.owner == lock.owner && self.lock.flock == lock.flock
    }

    fn stops(&self, session: SessionId, lock: &FileLock) -> bool {
        self.lock.flock == lock.flock
            && !self.is_of(session, lock)
            && overlap(&self.lock, lock)
            && (self.lock.kind == LockKind::Write || lock.kind == LockKind::Write)
    }
}

fn overlap(a: &FileLock, b: &FileLock) -> bool {
    a.start <= b.end && b.start <= a.end
}

fn touch(a: &FileLock, b: &FileLock) -> bool {
    overlap(a, b) || a.end.checked_add(1) == Some(b.start) || b.end.checked_add(1) == Some(a.start)
}

/// A lock as it is dealt with: `flock` is of the whole file. EINVAL if a range ends before it starts.
pub fn check(lock: FileLock) -> Result<FileLock, WireError> {
    if lock.flock {
        return Ok(FileLock { start: 0, end: u64::MAX, ..lock });
    }
    if lock.start > lock.end { Err(ErrorCode::INVALID.with("a lock's range ends before it starts")) } else { Ok(lock) }
}

impl FileLocks {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// All of them.
    pub fn all(&self) -> &[Held] {
        &self.held
    }

    /// Whether a session holds some.
    pub fn has(&self, session: SessionId) -> bool {
        self.held.iter().any(|held| held.session == session)
    }

    /// The locks in the way of one, in the order of their first bytes. Nothing is in the way of giving up.
    pub fn in_the_way<'a>(&'a self, session: SessionId, lock: &'a FileLock) -> impl Iterator<Item = &'a Held> {
        let takes = lock.kind != LockKind::Unlock;
        self.held.iter().filter(move |held| takes && held.stops(session, lock))
    }

    /// Takes a lock or gives some up; `lock` is one that [`check`] let pass. Whether anything changed.
    pub fn set(&mut self, session: SessionId, lock: &FileLock) -> Result<bool, Refusal> {
        if let Some(held) = self.in_the_way(session, lock).next() {
            return Err(Refusal::Blocked(*held));
        }
        let mut taken = *lock;
        let mut left = Vec::with_capacity(self.held.len() + 2);
        for held in &self.held {
            if !held.is_of(session, lock) {
                left.push(*held);
            } else if held.lock.kind == lock.kind && touch(&held.lock, lock) {
                (taken.start, taken.end) = (taken.start.min(held.lock.start), taken.end.max(held.lock.end));
            } else {
                left.extend(outside(held, lock));
            }
        }
        if lock.kind != LockKind::Unlock {
            left.push(Held { session, lock: taken });
        }
        if left.len() > MAX_RANGES && left.len() > self.held.len() {
            return Err(Refusal::TooMany);
        }
        left.sort_unstable_by_key(|held| (held.lock.flock, held.lock.start, held.session, held.lock.owner));
        let changed = left != self.held;
        self.held = left;
        Ok(changed)
    }

    /// Releases everything that a session holds; whether that was something.
    pub fn release(&mut self, session: SessionId) -> bool {
        let before = self.held.len();
        self.held.retain(|held| held.session != session);
        self.held.len() != before
    }
}

/// What is left of a lock outside of a range: all of it, one or both ends, or nothing.
fn outside(held: &Held, cut: &FileLock) -> impl Iterator<Item = Held> + use<> {
    let lock = held.lock;
    let before = (lock.start < cut.start).then(|| FileLock { end: lock.end.min(cut.start - 1), ..lock });
    let after = (lock.end > cut.end).then(|| FileLock { start: lock.start.max(cut.end + 1), ..lock });
    let session = held.session;
    before.into_iter().chain(after).map(move |lock| Held { session, lock })
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockKind::{Read, Unlock, Write};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Bytes where ranges begin and end: 0 to 15, and the last three that can be locked.
    const EDGES: [u64; 19] =
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, u64::MAX - 2, u64::MAX - 1, u64::MAX];

    /// One of the bytes between the two groups of edges. No range begins or ends there, so it stands for all of them:
    /// what is left of a lock can lie there alone.
    const BETWEEN: u64 = 16;

    type Owner = (u64, u64, bool);

    /// What each owner has on each byte.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Model(BTreeMap<(Owner, u64), LockKind>);

    fn owner(session: SessionId, lock: &FileLock) -> Owner {
        (session.0, lock.owner, lock.flock)
    }

    fn within(lock: &FileLock) -> impl Iterator<Item = u64> {
        EDGES.into_iter().chain([BETWEEN]).filter(|byte| (lock.start..=lock.end).contains(byte))
    }

    impl Model {
        fn free(&self, session: SessionId, lock: &FileLock) -> bool {
            let me = owner(session, lock);
            lock.kind == Unlock
                || !self.0.iter().any(|((other, byte), kind)| {
                    *other != me
                        && other.2 == me.2
                        && (lock.start..=lock.end).contains(byte)
                        && (*kind == Write || lock.kind == Write)
                })
        }

        fn set(&mut self, session: SessionId, lock: &FileLock) -> bool {
            if !self.free(session, lock) {
                return false;
            }
            for byte in within(lock) {
                match lock.kind {
                    Unlock => drop(self.0.remove(&(owner(session, lock), byte))),
                    kind => drop(self.0.insert((owner(session, lock), byte), kind)),
                }
            }
            true
        }
    }

    fn model_of(locks: &FileLocks) -> Model {
        let mut model = Model::default();
        for held in locks.all() {
            for byte in within(&held.lock) {
                let twice = model.0.insert((owner(held.session, &held.lock), byte), held.lock.kind);
                assert_eq!(twice, None, "an owner's ranges overlap");
            }
        }
        model
    }

    /// Touching ranges of one owner and kind are one range, and all are in order.
    fn is_tidy(locks: &FileLocks) {
        let all = locks.all();
        for (n, a) in all.iter().enumerate() {
            assert!(a.lock.start <= a.lock.end && a.lock.kind != Unlock);
            for b in &all[n + 1..] {
                assert!((a.lock.flock, a.lock.start) <= (b.lock.flock, b.lock.start));
                assert!(!a.is_of(b.session, &b.lock) || a.lock.kind != b.lock.kind || !touch(&a.lock, &b.lock));
            }
        }
    }

    fn any_lock() -> impl Strategy<Value = (SessionId, FileLock)> {
        let kind = prop_oneof![2 => Just(Read), 2 => Just(Write), 2 => Just(Unlock)];
        let range = prop_oneof![6 => (0..16_usize, 0..16_usize), 1 => (0..19_usize, 0..19_usize)];
        (1..3_u64, 1..3_u64, kind, prop_oneof![5 => Just(false), 1 => Just(true)], range).prop_map(
            |(session, owner, kind, flock, (a, b))| {
                let (start, end) = (EDGES[a.min(b)], EDGES[a.max(b)]);
                let lock = FileLock { owner, pid: owner as u32, kind, flock, start, end };
                (SessionId(session), check(lock).unwrap())
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn same_as_byte_by_byte(ops in proptest::collection::vec((any_lock(), 0..20_u8), 1..60)) {
            let (mut locks, mut model) = (FileLocks::default(), Model::default());
            for ((session, lock), what) in ops {
                if what == 0 {
                    let had = model.0.keys().any(|(owner, _)| owner.0 == session.0);
                    model.0.retain(|(owner, _), _| owner.0 != session.0);
                    prop_assert_eq!(locks.release(session), had);
                } else {
                    prop_assert_eq!(locks.in_the_way(session, &lock).next().is_none(), model.free(session, &lock));
                    let before = model.clone();
                    let took = locks.set(session, &lock);
                    prop_assert_eq!(took.is_ok(), model.set(session, &lock));
                    prop_assert_eq!(took.unwrap_or(false), before != model);
                }
                is_tidy(&locks);
                prop_assert_eq!(&model_of(&locks), &model);
                prop_assert!((1..3).all(|n| locks.has(SessionId(n)) == model.0.keys().any(|(owner, _)| owner.0 == n)));
            }
        }
    }

    fn range(owner: u64, kind: LockKind, start: u64, end: u64) -> FileLock {
        FileLock { owner, pid: 1, kind, flock: false, start, end }
    }

    #[test]
    fn ranges_are_bounded_and_can_always_be_given_up() {
        let mut locks = FileLocks::default();
        let session = SessionId(1);
        for n in 0..MAX_RANGES as u64 {
            locks.set(session, &range(1, Read, n * 3, n * 3 + 1)).unwrap();
        }
        assert_eq!(locks.set(session, &range(2, Read, 0, 0)), Err(Refusal::TooMany));
        assert_eq!(locks.set(session, &range(1, Write, 0, 0)), Err(Refusal::TooMany), "it would cut one in two");
        assert_eq!(locks.all().len(), MAX_RANGES, "nothing was changed");
        assert_eq!(locks.set(session, &range(1, Unlock, 0, 1)), Ok(true));
        assert_eq!(locks.set(session, &range(2, Read, 0, 0)), Ok(true));
        assert_eq!(locks.set(session, &range(1, Unlock, 0, u64::MAX)), Ok(true));
        assert_eq!(locks.all().len(), 1);
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_refused_and_flock_has_none() {
        assert_eq!(check(range(1, Read, 5, 4)).unwrap_err().code, ErrorCode::INVALID);
        let whole = check(FileLock { flock: true, ..range(1, Read, 5, 4) }).unwrap();
        assert_eq!((whole.start, whole.end), (0, u64::MAX));
    }

    #[test]
    fn flock_and_ranges_do_not_know_each_other() {
        let mut locks = FileLocks::default();
        let whole = FileLock { flock: true, ..range(1, Write, 0, u64::MAX) };
        locks.set(SessionId(1), &whole).unwrap();
        locks.set(SessionId(2), &range(1, Write, 0, u64::MAX)).unwrap();
        let blocked = locks.set(SessionId(2), &whole);
        assert_eq!(blocked, Err(Refusal::Blocked(Held { session: SessionId(1), lock: whole })));
    }
}
