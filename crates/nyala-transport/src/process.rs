// SPDX-License-Identifier: Apache-2.0

//! What a process says about itself in the reply to a STATS message.

mod memory;

use nyala_wire::mgmt::ServiceStats;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::Instant;

/// Figures of this process, with the service's own counters and those of the memory that is left (`memory.WHAT`). The uptime counts from the first call.
pub fn stats(mut counters: Vec<(String, u64)>) -> ServiceStats {
    static START: OnceLock<Instant> = OnceLock::new();
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    counters.extend(memory::counters());
    ServiceStats {
        cpu_us: cpu.tv_sec.unsigned_abs() * 1_000_000 + cpu.tv_nsec.unsigned_abs() / 1000,
        resident_bytes: pages * rustix::param::page_size() as u64,
        uptime_s: START.get_or_init(Instant::now).elapsed().as_secs(),
        counters,
    }
}

/// Lets this process open as many files and connections as the system allows it: the usual limit of 1,024 is for programs
/// that use `select`. Returns how many that are, `None` for no limit.
pub fn raise_descriptor_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    // A system that refuses leaves the limit that there was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current
}
