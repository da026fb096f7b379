// SPDX-License-Identifier: Apache-2.0

//! What durable tables export: of a metadata target, a storage target or a management node.

use crate::metric::metrics;

metrics! {
    RECORDS = Counter "nyala_store_records" ["store"] "Changes (log records) applied since the tables were made";
    UNSYNCED = Gauge "nyala_store_unsynced_records" ["store"] "Records that are applied and not yet on disk";
    SYNC = Histogram "nyala_store_sync_duration_seconds" ["store"] "Time of a sync of the log";
    CHECKPOINT = Histogram "nyala_store_checkpoint_duration_seconds" ["store"] "Time of a checkpoint of the tables";
    CHECKPOINT_FAILURES = Counter "nyala_store_checkpoint_failures" ["store"] "Checkpoints that found no space and are tried again";
    SCRUBBED = Counter "nyala_store_scrubbed_bytes" ["store"] "Bytes of the tables that were compared with their checksums though nobody asked for them";
    DAMAGED = Gauge "nyala_store_damaged_places" ["store"] "Places of the tables that are not what was written, as far as the last comparison of all of them knows";
    SEGMENTS = Gauge "nyala_store_log_segments" ["store"] "Segments of the log on disk";
    MEMORY = Gauge "nyala_store_memory_bytes" ["store"] "Memory of the changes that are in no checkpoint yet, estimated";
    CACHE = Gauge "nyala_store_cache_bytes" ["store"] "Memory of pages of the checkpointed tables that were read and checked";
    LOG_BUFFER = Gauge "nyala_store_log_buffer_bytes" ["store"] "Memory for records on their way to the log";
    TABLES = Gauge "nyala_store_table_size_bytes" ["store"] "What the checkpointed tables take on disk";
}
