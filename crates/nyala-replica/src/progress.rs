// SPDX-License-Identifier: Apache-2.0

//! How far a resync is. Pure.

/// How far a resync is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes copied in this run.
    pub copied_bytes: u64,
    /// Bytes left, as far as is known: regions count in full.
    pub left_bytes: u64,
    /// Mean rate of this run, bytes per second.
    pub bytes_per_s: u64,
    /// Estimated time left, milliseconds; `None` while nothing was copied.
    pub estimate_ms: Option<u64>,
    /// Stopped by an operator.
    pub stopped: bool,
}

impl Progress {
    /// From what was copied since `began_ms`.
    pub fn of(copied_bytes: u64, left_bytes: u64, began_ms: u64, now_ms: u64, stopped: bool) -> Progress {
        let gone_ms = now_ms.saturating_sub(began_ms).max(1);
        let bytes_per_s = copied_bytes.saturating_mul(1000) / gone_ms;
        let estimate_ms = left_bytes.saturating_mul(1000).checked_div(bytes_per_s);
        Progress { copied_bytes, left_bytes, bytes_per_s, estimate_ms, stopped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_estimates() {
        let progress = Progress::of(5000, 10_000, 1000, 3000, false);
        assert_eq!((progress.bytes_per_s, progress.estimate_ms), (2500, Some(4000)));
        assert_eq!(Progress::of(0, 10, 5, 5, true).estimate_ms, None);
    }
}
