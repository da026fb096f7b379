// SPDX-License-Identifier: Apache-2.0

//! The answer to STATS. Failure model: none of its own; what is not known yet is left out.

use super::host::{Host, Serving};
use nyala_namespace::recall_report::recall_report;
use nyala_wire::mgmt::ServiceStats;

/// The answer, with these counters.
pub fn stats(host: &Host, counters: Vec<(String, u64)>) -> ServiceStats {
    let recalls = host.serving().map(|Serving { driver, .. }| recall_report(driver.server().state()));
    let links = host.member.links().map(|links| links.report());
    ServiceStats { recalls, links, ..nyala_transport::process::stats(counters) }
}
