// SPDX-License-Identifier: Apache-2.0

//! Waits until processes do little more than wait, so that what they put off counts for what caused it.

use std::time::{Duration, Instant};

/// Longest wait for processes to come to rest, how often they are looked at, and the CPU time in between that counts as rest.
const REST: Duration = Duration::from_secs(3);
const IDLE_GLANCE: Duration = Duration::from_millis(200);
const IDLE_US: u64 = 8_000;

/// CPU time, as it is told, once little is used any more.
pub async fn cpu_at_rest(cpu_us: impl Fn() -> u64) -> u64 {
    let began = Instant::now();
    let mut last = cpu_us();
    loop {
        tokio::time::sleep(IDLE_GLANCE).await;
        let now = cpu_us();
        if now.saturating_sub(last) < IDLE_US || began.elapsed() > REST {
            return now;
        }
        last = now;
    }
}
