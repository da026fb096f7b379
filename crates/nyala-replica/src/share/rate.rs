// SPDX-License-Identifier: Apache-2.0

//! The next rate. Pure.
//!
//! Slower than allowed: down by as much as it is too much (a linear effect of copies is assumed), to a quarter at most. Hardly
//! slower: up by a quarter, and until it was too high for the first time, it doubles. In between it stays. Nobody there: it doubles.
//! Never below the minimum, so that a resync ends, and never above twice what is really copied: a limit that does not limit would
//! need seconds to come down to where it does.

use super::limits::ShareLimits;
use super::times::Verdict;

/// What an interval has shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub verdict: Verdict,
    /// No requests, and none under way.
    pub nobody: bool,
    /// It was the last one of its cycle.
    pub ends: bool,
    /// The rate has been too high once.
    pub found: bool,
}

/// The rate after this one, at which `used` was really copied, bytes per second.
pub(super) fn next(limits: &ShareLimits, rate: u64, used: u64, seen: Seen) -> u64 {
    let (min, allowed) = (limits.min_bytes_per_s, limits.slower_percent);
    let step = if seen.nobody || !seen.found { rate } else { rate / 4 };
    let up = rate.saturating_add(step).min(rate.max(used.saturating_mul(2)));
    let next = match seen.verdict {
        Verdict::Slower(percent) => {
            let rate = rate.min(used.max(min));
            let fitting = u128::from(rate) * u128::from(allowed) / u128::from(percent.max(1));
            u64::try_from(fitting).unwrap_or(u64::MAX).clamp(rate / 4, rate - rate / 4)
        }
        Verdict::Near => rate,
        // Few requests say little for long; meanwhile it goes up once in each cycle.
        Verdict::Unsure if !seen.nobody && !seen.ends => rate,
        Verdict::Unsure | Verdict::Fine => up,
    };
    next.clamp(min, limits.max_bytes_per_s)
}
