// SPDX-License-Identifier: Apache-2.0

//! What STATS answers.

use super::host::{Host, Serving};
use super::metrics::Metrics;
use super::reported;
use nyala_namespace::recall_report::recall_report;
use nyala_namespace::server::op_names::OP_NAMES;
use nyala_wire::mgmt::ServiceStats;

/// The answer to STATS, with these counters.
pub fn stats(host: &Host, counters: Vec<(String, u64)>) -> ServiceStats {
    let recalls = host.serving().map(|Serving { driver, .. }| recall_report(driver.server().state()));
    let links = host.member.links().map(|links| links.report());
    ServiceStats { recalls, links, ..nyala_transport::process::stats(counters) }
}

/// What this service counts, by name.
pub fn counters(host: &Host, metrics: &Metrics) -> Vec<(String, u64)> {
    let store = host.tables.store.stats();
    let mut counters = metrics.counters();
    if let Some(Serving { driver, .. }) = host.serving() {
        let server = driver.server();
        let known = server.state();
        let ops = OP_NAMES.iter().zip(known.ops).filter(|(_, count)| *count > 0);
        counters.extend(ops.map(|(name, count)| (format!("op.{name}"), count)));
        counters.extend(known.counters.iter().map(|(name, count)| ((*name).to_owned(), *count)));
        counters.push(("sessions".into(), known.sessions.len() as u64));
        let (held, revocations) = known.delegations.figures();
        counters.push(("delegation.held".into(), held as u64));
        counters.push(("delegation.revocations".into(), revocations));
    }
    if let Some(group) = host.group() {
        counters.push(("mirror.records".into(), group.last()));
        for (target, progress) in group.progress() {
            let mut put = |what, value| counters.push((format!("mirror.{}.{target}.{what}", group.group()), value));
            put("copied_bytes", progress.copied_bytes);
            put("left_bytes", progress.left_bytes);
            put("bytes_per_s", progress.bytes_per_s);
            // As storage says it: the largest number where it is not known.
            put("left_s", progress.estimate_ms.map_or(u64::MAX, |ms| ms / 1000));
        }
    }
    counters.push(("inodes".into(), reported::inodes(&host.tables).unwrap_or_default()));
    counters.push(("log.syncs".into(), store.syncs));
    counters.push(("log.checkpoints".into(), store.checkpoints));
    counters.push(("log.records".into(), store.applied.0));
    counters.extend(nyala_store::metrics::counters(&host.me, &host.tables.store));
    counters
}
