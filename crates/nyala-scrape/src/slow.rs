// SPDX-License-Identifier: Apache-2.0

//! What services say of requests that took too long.

use nyala_metrics::Page;
use nyala_metrics::catalog::slow as metrics;
use nyala_transport::trace::SlowOperations;

/// How many there were, by the part that took longest.
pub fn slow(page: &mut Page, slow: &SlowOperations) {
    let mut family = page.family(&metrics::OPERATIONS);
    slow.counts().iter().for_each(|(part, count)| family.value(&[part], *count));
}
