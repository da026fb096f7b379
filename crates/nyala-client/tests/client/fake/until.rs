// SPDX-License-Identifier: Apache-2.0

//! Waiting for what happens behind the back of who asked for it.

use std::time::{Duration, Instant};

/// Longest wait: far longer than anything takes, also where others keep the machine busy.
const LONGEST: Duration = Duration::from_secs(20);

/// Waits for something.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LONGEST, "waited in vain for {what}");
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
