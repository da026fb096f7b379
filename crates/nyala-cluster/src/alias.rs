// SPDX-License-Identifier: Apache-2.0

//! Aliases: names for people, unique among things of one sort, never mistaken for a number.

use crate::ClusterError;

/// Longest alias, bytes.
pub const MAX_ALIAS_BYTES: usize = 64;

/// Refuses what is no alias.
pub fn check(alias: &str) -> Result<(), ClusterError> {
    let good = (1..=MAX_ALIAS_BYTES).contains(&alias.len())
        && alias.starts_with(|c: char| c.is_ascii_alphabetic())
        && alias.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if good { Ok(()) } else { Err(ClusterError::BadAlias { alias: alias.chars().take(MAX_ALIAS_BYTES + 1).collect() }) }
}

/// `stem` with the lowest number from 1 up that nobody has.
pub fn free<'a>(stem: &str, taken: impl Iterator<Item = &'a str> + Clone) -> String {
    let used: std::collections::BTreeSet<u32> =
        taken.filter_map(|alias| alias.strip_prefix(stem)?.parse().ok()).collect();
    let number = (1..).find(|n| !used.contains(n)).unwrap_or(u32::MAX);
    format!("{stem}{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_checked() {
        for good in ["a", "meta1", "rack-3.node_7", &"x".repeat(64)] {
            assert_eq!(check(good), Ok(()));
        }
        for bad in ["", "1", "7up", "-a", "ä", "a b", "a/b", "a\n", &"x".repeat(65)] {
            assert!(matches!(check(bad), Err(ClusterError::BadAlias { .. })), "{bad:?}");
        }
    }

    #[test]
    fn the_lowest_free_number_is_given() {
        let free = |taken: &[&str]| free("meta", taken.iter().copied());
        assert_eq!(free(&[]), "meta1");
        assert_eq!(free(&["meta1", "meta3", "metal", "x"]), "meta2");
        assert_eq!(free(&["meta2"]), "meta1");
    }
}
