// SPDX-License-Identifier: Apache-2.0

//! Memory is bounded: what a service has allocated once all is quiet does not follow from how much it has done, nor from how many clients have
//! come and gone. Pure.

/// The most that a service holds when nobody uses it, bytes: several times what seeds show.
pub const MOST: i64 = 16 << 20;

/// What is wrong with what a service holds.
pub fn judge(name: &str, live: i64) -> Option<String> {
    (live > MOST).then(|| format!("{name} holds {live} bytes though nobody uses it, and at most {MOST} are expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_expected_is_told() {
        assert_eq!(judge("meta0", MOST), None);
        assert!(judge("meta0", MOST + 1).is_some_and(|what| what.starts_with("meta0")));
    }
}
