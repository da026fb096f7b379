// SPDX-License-Identifier: Apache-2.0

//! What requests took, and whether they take longer than others did. Pure.
//!
//! Before and after are compared within seconds, and with the same members: what requests took before the resync, when one member
//! less had to be written, says nothing. Times are microseconds: most requests take less than a millisecond.

/// Where classes of size begin, bytes: a mean over small and large requests would follow their mix.
const CLASSES: [u64; 3] = [64 << 10, 256 << 10, 1 << 20];
const KINDS: usize = 2 * (CLASSES.len() + 1);
/// Requests of a kind that say something. With fewer on either side three times as much is allowed: their means are inexact, and a few
/// requests a second must not hold a resync at its lowest rate by chance.
const ENOUGH: u64 = 8;

/// Requests of one kind: how many, their times and the squares of these.
#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    count: u64,
    us: u64,
    squares: u128,
}

/// Number and time of requests of each kind: reads and writes, by size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    kinds: [Kind; KINDS],
}

/// What requests of an interval say, compared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A kind takes so many percent longer, which is more than allowed and not chance.
    Slower(u64),
    /// None of them takes notably longer.
    Fine,
    /// Between both, or it may be chance.
    Near,
    /// Too few to tell.
    Unsure,
}

impl Kind {
    fn mean(&self) -> u64 {
        self.us.checked_div(self.count).unwrap_or(0)
    }

    /// Square of the error that the mean may have.
    fn error(&self) -> u128 {
        let (count, mean) = (u128::from(self.count.max(1)), u128::from(self.mean()));
        (self.squares / count).saturating_sub(mean * mean) / count
    }

    /// Whether these took longer than `calm`, of which `allowed` percent more are allowed.
    fn against(&self, calm: &Kind, allowed: u64) -> Verdict {
        if calm.count < 2 || calm.us == 0 || self.count < 2 {
            return Verdict::Unsure;
        }
        let few = self.count.min(calm.count) < ENOUGH;
        let allowed = if few { allowed * 3 } else { allowed };
        // In hundredths of a microsecond.
        let took = u128::from(self.mean()) * 100;
        let bound = |percent: u64| u128::from(calm.mean()) * u128::from(100 + percent);
        // Twice the error of the difference: one time in forty it is chance.
        let error = 4 * 10_000 * (self.error() + calm.error());
        let enough = self.count >= ENOUGH;
        match took.checked_sub(bound(allowed)) {
            Some(over) if over * over > error => {
                let percent = took / u128::from(calm.mean().max(1));
                Verdict::Slower(u64::try_from(percent).unwrap_or(u64::MAX).saturating_sub(100))
            }
            _ if !enough => Verdict::Unsure,
            None if took <= bound(allowed / 2) => Verdict::Fine,
            _ => Verdict::Near,
        }
    }
}

impl Times {
    /// One was done.
    pub fn add(&mut self, write: bool, bytes: u64, us: u64) {
        let class = CLASSES.iter().filter(|from| bytes >= **from).count();
        let kind = &mut self.kinds[2 * class + usize::from(write)];
        kind.count += 1;
        kind.us = kind.us.saturating_add(us);
        kind.squares = kind.squares.saturating_add(u128::from(us) * u128::from(us));
    }

    /// How many.
    pub fn requests(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.count).sum()
    }

    /// Older times count for less.
    pub fn fade(&mut self) {
        for kind in &mut self.kinds {
            *kind = Kind { count: kind.count / 2, us: kind.us / 2, squares: kind.squares / 2 };
        }
    }

    /// Each kind by itself: reads that wait do not get quicker by writes that do not. The one that suffers most counts.
    pub fn against(&self, calm: &Times, allowed: u64) -> Verdict {
        let pairs = self.kinds.iter().zip(&calm.kinds).filter(|(kind, _)| kind.count > 0);
        let verdicts = pairs.map(|(kind, calm)| kind.against(calm, allowed));
        verdicts
            .reduce(|a, b| match (a, b) {
                (Verdict::Slower(a), Verdict::Slower(b)) => Verdict::Slower(a.max(b)),
                (Verdict::Slower(a), _) | (_, Verdict::Slower(a)) => Verdict::Slower(a),
                (Verdict::Near, _) | (_, Verdict::Near) => Verdict::Near,
                (Verdict::Fine, Verdict::Fine) => Verdict::Fine,
                _ => Verdict::Unsure,
            })
            .unwrap_or(Verdict::Unsure)
    }
}
