// SPDX-License-Identifier: Apache-2.0

//! Counters of services, added up by service or by client, and what two looks at them say of each second between. Pure.

use nyala_wire::map::Role;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a service did, or what services did for a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    pub requests: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Requests by operation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ops: BTreeMap<String, u64>,
}

pub(super) type All = BTreeMap<String, Counts>;

/// Counters of a storage service that count an operation once more, in another way.
const TWICE: [&str; 3] = ["without_worker", "zero_copy", "failed"];

/// Adds a service's counters to what is known of it.
pub(super) fn add_service(counts: &mut Counts, counters: &[(String, u64)]) {
    for (name, value) in counters {
        match name.as_str() {
            "read.bytes" => counts.read_bytes += value,
            "write.bytes" => counts.written_bytes += value,
            name => {
                let op = name.strip_prefix("op.").filter(|op| !TWICE.contains(op));
                if let Some(op) = op.or_else(|| name.strip_prefix("mgmt.")) {
                    counts.requests += value;
                    *counts.ops.entry(op.to_owned()).or_default() += value;
                }
            }
        }
    }
}

/// Adds what a service counts of its clients: `client.ADDRESS.WHAT`.
pub(super) fn add_clients(all: &mut All, counters: &[(String, u64)]) {
    for (name, value) in counters {
        let Some((address, what)) = name.strip_prefix("client.").and_then(|name| name.rsplit_once('.')) else {
            continue;
        };
        let counts = all.entry(address.to_owned()).or_default();
        match what {
            "requests" => counts.requests += value,
            "read_bytes" => counts.read_bytes += value,
            "written_bytes" => counts.written_bytes += value,
            _ => {}
        }
    }
}

/// What a counter grew by in each second of a time. One that was started again counts from nothing.
pub(super) fn per_second(time: Duration) -> impl Fn(u64, u64) -> u64 {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    move |now: u64, then: u64| now.checked_sub(then).unwrap_or(now).saturating_mul(1000) / ms
}

/// What was done in each second between two looks.
pub(super) fn rates(before: &All, after: &All, time: Duration) -> All {
    let none = Counts::default();
    let rate = per_second(time);
    let one = |(name, now): (&String, &Counts)| {
        let then = before.get(name).unwrap_or(&none);
        let op = |(op, count): (&String, &u64)| (op.clone(), rate(*count, then.ops.get(op).copied().unwrap_or(0)));
        let counts = Counts {
            role: now.role,
            requests: rate(now.requests, then.requests),
            read_bytes: rate(now.read_bytes, then.read_bytes),
            written_bytes: rate(now.written_bytes, then.written_bytes),
            ops: now.ops.iter().map(op).filter(|(_, rate)| *rate > 0).collect(),
        };
        (name.clone(), counts)
    };
    after.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(all: &[(&str, u64)]) -> Vec<(String, u64)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn services_and_clients_are_read_from_counters() {
        let said = counters(&[
            ("op.write", 7),
            ("op.zero_copy", 5),
            ("read.bytes", 4096),
            ("log.syncs", 9),
            ("client.10.0.0.1.requests", 6),
            ("client.10.0.0.1.written_bytes", 8192),
            ("client.fd00::7.requests", 1),
        ]);
        let mut counts = Counts::default();
        add_service(&mut counts, &said);
        assert_eq!((counts.requests, counts.read_bytes, counts.ops.len()), (7, 4096, 1));
        let mut all = All::new();
        add_clients(&mut all, &said);
        add_clients(&mut all, &said);
        assert_eq!((all.len(), all["10.0.0.1"].requests, all["10.0.0.1"].written_bytes), (2, 12, 16_384));
    }

    #[test]
    fn rates_are_of_the_time_between_and_survive_a_restart() {
        let at = |requests: u64, create: u64| {
            let ops = BTreeMap::from([("create".to_owned(), create)]);
            All::from([("meta1".to_owned(), Counts { requests, ops, ..Counts::default() })])
        };
        let rate = |before, after, ms| rates(&before, &after, Duration::from_millis(ms))["meta1"].clone();
        assert_eq!(rate(at(100, 10), at(300, 30), 2000).requests, 100);
        assert_eq!(rate(at(100, 10), at(300, 30), 2000).ops["create"], 10);
        assert_eq!(rate(at(100, 10), at(50, 5), 500).requests, 100, "it was started again");
        assert_eq!(rate(at(1, 1), at(1, 1), 0).requests, 0);
    }
}
