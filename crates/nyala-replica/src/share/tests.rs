// SPDX-License-Identifier: Apache-2.0

//! The controller against a model of requests that suffer from copies.

use super::*;

const LIMITS: ShareLimits =
    ShareLimits { min_bytes_per_s: 1000, max_bytes_per_s: 100_000, slower_percent: 25, interval_ms: 100 };

/// Runs for `intervals` under a load of one request each 10 ms that takes 4 ms, and `slow` more for each 1000 bytes/s copied;
/// `None`: nobody there. Copied bytes, and the mean time of a request, microseconds.
fn run(share: &mut Share, from: u64, intervals: u64, slow: Option<u64>) -> (u64, u64) {
    let (mut copied, mut requests, mut us) = (0, 0, 0);
    for now in from * 100..(from + intervals) * 100 {
        let rests = share.tokens == 0 && share.resting;
        share.tick(now, true, 0);
        while share.take(50, now) {
            copied += 50;
        }
        if let (Some(slow), 0) = (slow, now % 10) {
            let took = 4 + if rests { 0 } else { slow * share.rate() / 1000 };
            share.request(true, 4096, now, now + took);
            (requests, us) = (requests + 1, us + took * 1000);
        }
    }
    (copied, us.checked_div(requests).unwrap_or(0))
}

#[test]
fn idle_goes_fast_and_load_slows_it_down_but_not_to_nothing() {
    let mut share = Share::new(LIMITS);
    (1..20).for_each(|n| share.tick(n * 100, false, 0));
    assert!(!share.take(1, 2000), "there is nothing to copy");
    run(&mut share, 20, 20, None);
    assert_eq!(share.rate(), LIMITS.max_bytes_per_s);
    run(&mut share, 40, 60, Some(100));
    assert_eq!(share.rate(), LIMITS.min_bytes_per_s, "any copy at all is too much");
    assert!(run(&mut share, 100, 10, Some(100)).0 >= 600, "the minimum is kept");
    run(&mut share, 110, 60, Some(0));
    assert_eq!(share.rate(), LIMITS.max_bytes_per_s, "copies do no harm any more");
}

#[test]
fn a_rate_is_found_that_requests_hardly_notice() {
    let mut share = Share::new(LIMITS);
    share.tick(100, false, 0);
    run(&mut share, 2, 50, Some(1));
    let (copied, mean_us) = run(&mut share, 52, 200, Some(1));
    assert!(mean_us <= 4000 * 135 / 100, "{mean_us}");
    assert!(copied >= 20_000, "one millisecond more is allowed, and that is 1000 bytes/s: {copied}");
}
