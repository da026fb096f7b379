// SPDX-License-Identifier: Apache-2.0

//! What the monitoring service exports of itself.

use crate::metric::metrics;

metrics! {
    ROUNDS = Counter "nyala_mon_rounds" [] "Rounds of samples taken";
    ROUND = Histogram "nyala_mon_round_duration_seconds" [] "Time of a round, from the first question to the last answer";
    SOURCES = Gauge "nyala_mon_sources" ["service", "answers"] "Services and mounts that are known, by whether they answered in the last round (yes, no)";
    FAILURES = Counter "nyala_mon_sample_failures" [] "Services and mounts that did not answer in a round";
    MGMT = Gauge "nyala_mon_management_answers" [] "1 if management answered in the last round";
    SERIES = Gauge "nyala_mon_series" [] "Series in the history";
    DROPPED = Counter "nyala_mon_dropped_samples" [] "Samples that were not kept, since there are as many series as may be";
    SKIPPED = Counter "nyala_mon_skipped_rounds" [] "Rounds that were not kept, since the clock stood still or went back a little";
    MEMORY = Gauge "nyala_mon_history_memory_bytes" [] "Memory of the history, estimated";
    DISK = Gauge "nyala_mon_history_disk_bytes" [] "Space of the history on disk";
    DISK_ERRORS = Counter "nyala_mon_disk_errors" [] "Failures to write the history to disk";
    WRITTEN = Counter "nyala_mon_influx_written_values" [] "Values that the database took";
    REFUSED = Counter "nyala_mon_influx_refused_batches" [] "Batches that the database refused as malformed, which are not written again";
    WRITE_FAILURES = Counter "nyala_mon_influx_failures" [] "Writes to the database that failed and are tried again";
    LAG = Gauge "nyala_mon_influx_lag_seconds" [] "Time between the last round and the last one that the database has";
    QUERIES = Counter "nyala_mon_queries" [] "Requests to the query interface";
}
