// SPDX-License-Identifier: Apache-2.0

//! What every process says of itself.

use nyala_metrics::Page;
use nyala_metrics::catalog::{Source, process as metrics};
use rustix::process::{Resource, getrlimit};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Version, processor time, memory, descriptors.
pub fn process(page: &mut Page, source: Source) {
    let stats = nyala_transport::process::stats(Vec::new());
    page.family(&metrics::BUILD).value(&[&env!("CARGO_PKG_VERSION"), &source.word()], 1);
    page.family(&metrics::CPU).micros(&[], stats.cpu_us);
    page.family(&metrics::RESIDENT).value(&[], stats.resident_bytes);
    page.family(&metrics::START).micros(&[], started_us());
    // Reading the directory takes a descriptor itself.
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |fds| fds.count().saturating_sub(1));
    page.family(&metrics::OPEN_FDS).value(&[], open as u64);
    page.family(&metrics::MAX_FDS).value(&[], getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX));
}

/// The moment of the process's start, by the clock of the first call: a clock that is set later must not look like a restart.
fn started_us() -> u64 {
    static STARTED: OnceLock<u64> = OnceLock::new();
    *STARTED.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let lived = lived_us().unwrap_or(0);
        u64::try_from(now.as_micros()).unwrap_or(u64::MAX).saturating_sub(lived)
    })
}

/// How long the process has lived: field 22 of its `stat` is when it began, in ticks since the machine's start.
fn lived_us() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let began_us = ticks * 1_000_000 / rustix::param::clock_ticks_per_second();
    Some(((uptime * 1e6) as u64).saturating_sub(began_us))
}
