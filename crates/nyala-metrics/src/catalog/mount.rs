// SPDX-License-Identifier: Apache-2.0

//! What a mount exports.

use crate::metric::metrics;

metrics! {
    REQUESTS = Histogram "nyala_fuse_request_duration_seconds" ["op"] "Requests of the kernel by operation, and the time to their reply; what the kernel answers from its caches does not come here";
    ERRORS = Counter "nyala_fuse_request_errors" ["op"] "Replies that are errors, a name that does not exist among them";
    USERS = Counter "nyala_fuse_user_requests" ["uid"] "Requests by the user whose program made them; forgetting and write-back by the kernel come as user 0";
    READ = Counter "nyala_client_read_bytes" [] "Bytes given to programs";
    WRITTEN = Counter "nyala_client_written_bytes" [] "Bytes taken from programs";
    META_REQUESTS = Counter "nyala_client_meta_requests" [] "Requests sent to metadata services, repetitions included";
    STORAGE_READS = Counter "nyala_client_storage_reads" [] "Reads sent to storage services, repetitions included";
    STORAGE_WRITES = Counter "nyala_client_storage_writes" [] "Writes sent to storage services, repetitions included";
    RETRIES = Counter "nyala_client_retries" [] "Requests sent again after a failure";
    REVOCATIONS = Counter "nyala_client_revocations" [] "Delegations that were held and wanted back by a metadata service";
    CHECKSUM_ERRORS = Counter "nyala_client_checksum_errors" [] "Blocks that arrived with a wrong checksum";
    READ_AHEAD_HITS = Counter "nyala_client_read_ahead_hits" [] "Segments read ahead that were asked for in time";
    REBUILT_READS = Counter "nyala_client_rebuilt_reads" [] "Reads of erasure coded data that was computed from other parts";
    REPAIRED_FILES = Counter "nyala_client_repaired_files" [] "Erasure coded files with lost parts that the mount encoded again by itself";
    DIRTY = Gauge "nyala_client_dirty_bytes" [] "Bytes written by programs and not yet on a server";
    READ_AHEAD = Gauge "nyala_client_read_ahead_bytes" [] "Bytes read ahead and not yet asked for";
    MAP = Gauge "nyala_client_map_version" [] "Version of the cluster map that the mount has";
}
