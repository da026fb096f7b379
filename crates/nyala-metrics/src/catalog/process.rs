// SPDX-License-Identifier: Apache-2.0

//! What every process exports.

use crate::metric::metrics;

metrics! {
    BUILD = Info "nyala_build" ["version", "service"] "Version of the software, and what the process is";
    CPU = Counter "process_cpu_seconds" [] "Processor time of the process, in user space and in the kernel";
    RESIDENT = Gauge "process_resident_memory_bytes" [] "Memory of the process that is not swapped out";
    START = Gauge "process_start_time_seconds" [] "When the process was started, seconds since 1970";
    OPEN_FDS = Gauge "process_open_fds" [] "Open file descriptors, connections among them";
    MAX_FDS = Gauge "process_max_fds" [] "Most file descriptors that the process may have";
}
