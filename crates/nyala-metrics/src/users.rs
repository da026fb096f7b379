// SPDX-License-Identifier: Apache-2.0

//! Counts by the user on whose behalf something is asked for.

use crate::by_key::{ByKey, OTHERS, OTHERS_WORD};
use std::collections::BTreeMap;

/// What stands for requests that are no user's in particular.
pub const NOBODY_WORD: &str = "-";

/// The key of those: beyond all numbers of users.
const NOBODY: u64 = 1 << 32;

/// `N` counters for each user. See [`ByKey`] for how many.
#[derive(Debug, Default)]
pub struct ByUser<const N: usize>(ByKey<N>);

impl<const N: usize> ByUser<N> {
    /// So many more of each, for a user by number, or for nobody.
    #[inline(always)]
    pub fn add(&self, user: Option<u32>, more: [u64; N]) {
        self.0.add(user.map_or(NOBODY, u64::from), more);
    }

    /// The counts of every user, under the label's value.
    pub fn get(&self) -> BTreeMap<String, [u64; N]> {
        let name = |key| match key {
            NOBODY => NOBODY_WORD.to_owned(),
            OTHERS => OTHERS_WORD.to_owned(),
            uid => uid.to_string(),
        };
        self.0.get().into_iter().map(|(key, counts)| (name(key), counts)).collect()
    }

    /// The same as counters by name: `user.UID.WHAT`.
    pub fn counters(&self, names: [&str; N]) -> Vec<(String, u64)> {
        let all = self.get();
        let named = |(user, counts): (&String, &[u64; N])| {
            let name = |(name, count)| (format!("user.{user}.{name}"), count);
            names.into_iter().zip(*counts).map(name).collect::<Vec<_>>()
        };
        all.iter().flat_map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_nobody_and_others_are_told_apart() {
        let counts = ByUser::<2>::default();
        counts.add(Some(0), [1, 0]);
        counts.add(Some(u32::MAX), [1, 1]);
        counts.add(None, [3, 1]);
        counts.add(Some(0), [1, 1]);
        let named = |name: &str, counts| (name.to_owned(), counts);
        let all: Vec<(String, [u64; 2])> = counts.get().into_iter().collect();
        assert_eq!(all, [named("-", [3, 1]), named("0", [2, 1]), named("4294967295", [1, 1])]);
        assert_eq!(counts.counters(["requests", "changes"])[2], ("user.0.requests".to_owned(), 2));
        (1..100_000).for_each(|uid| counts.add(Some(uid), [1, 0]));
        let all = counts.get();
        assert!(all.len() < 1100 && all["others"][0] > 90_000 && all["0"] == [2, 1], "{} users", all.len());
        assert_eq!(all.values().map(|[requests, _]| requests).sum::<u64>(), 99_999 + 6);
    }
}
