// SPDX-License-Identifier: Apache-2.0

//! What a storage service exports.

use crate::metric::metrics;

metrics! {
    REQUESTS = Histogram "nyala_storage_request_duration_seconds" ["op"] "Requests by operation, and the time from taking one up to its reply; those to mirror groups begin with mirror_";
    ERRORS = Counter "nyala_storage_request_errors" ["op"] "Replies that are errors";
    CLIENTS = Counter "nyala_storage_client_requests" ["client"] "Requests by the client's address";
    CLIENT_READ = Counter "nyala_storage_client_read_bytes" ["client"] "Bytes read, by the client's address";
    CLIENT_WRITTEN = Counter "nyala_storage_client_written_bytes" ["client"] "Bytes written, by the client's address";
    OPS = Counter "nyala_storage_target_ops" ["target", "op"] "Operations done on chunk files, those for other members of mirror groups among them";
    READ = Counter "nyala_storage_target_read_bytes" ["target"] "Bytes read from chunk files";
    WRITTEN = Counter "nyala_storage_target_written_bytes" ["target"] "Bytes written to chunk files";
    INLINE = Counter "nyala_storage_target_inline_ops" ["target"] "Reads and writes done on the thread of their connection";
    ZERO_COPY = Counter "nyala_storage_target_zero_copy_reads" ["target"] "Reads whose data went to the network from the page cache without a copy";
    FAILED = Counter "nyala_storage_target_failed_ops" ["target"] "Operations that failed for any reason";
    CHECKSUM_ERRORS = Counter "nyala_storage_target_checksum_errors" ["target"] "Blocks found not to match their checksum";
    DAMAGED = Counter "nyala_storage_target_damaged_writes" ["target"] "Writes that arrived damaged";
    IO_ERRORS = Counter "nyala_storage_target_io_errors" ["target"] "Failures of the file system other than a full disk, failed syncs among them";
    TORN = Counter "nyala_storage_target_torn_blocks" ["target"] "Blocks that recovery found torn in an unacknowledged write";
    RECHECKED = Counter "nyala_storage_target_rechecked_blocks" ["target"] "Blocks of unsynced files that got a new checksum after a crash of the machine";
    SCRUBBED = Counter "nyala_storage_target_scrubbed_bytes" ["target"] "Bytes read and compared by scrubs";
    SCRUB_FOUND = Counter "nyala_storage_scrub_found_bytes" ["target"] "Bytes that the service's own scrubs found damaged";
    SCRUB_REPAIRED = Counter "nyala_storage_scrub_repaired_bytes" ["target"] "Of those, bytes that were replaced by another member's copy";
    SCRUB_DAMAGED = Gauge "nyala_storage_scrub_damaged_bytes" ["target"] "Bytes that are known to be damaged now and could not be repaired";
    SCRUB_POSITION = Gauge "nyala_storage_scrub_position_bytes" ["target"] "Bytes that the scrub under way has compared; 0 while none is";
    SCRUB_ENDED = Gauge "nyala_storage_scrub_end_time_seconds" ["target"] "When the last whole scrub ended, seconds since 1970; 0: none has";
    SCRUB_LATE = Gauge "nyala_storage_scrub_late" ["target"] "1 if no whole scrub has ended in three intervals";
    REMOVED = Counter "nyala_storage_target_removed_files" ["target"] "Chunk files removed";
    DISK_SYNC = Histogram "nyala_storage_disk_sync_duration_seconds" ["target"] "Time of a sync of a chunk file";
    QUEUE = Gauge "nyala_storage_queue_jobs" ["target"] "Jobs that wait for the target's worker threads or are in their hands";
    QUEUE_WAIT = Histogram "nyala_storage_queue_wait_duration_seconds" ["target"] "Time that a job waited for a worker thread";
    DISK = Histogram "nyala_storage_job_duration_seconds" ["target"] "Time that a worker thread took for the jobs that it took at once: the disk's latency, mostly";
    TAKEN = Gauge "nyala_storage_mirror_taken_bytes" ["group", "target"] "What copies have brought to this member since its service was started";
    SET_MEMBERS = Gauge "nyala_storage_set_members" ["target", "state"] "Drives of the target's drive set by their state: good, missing, catching-up (it gets what it missed), rebuilding (it is new)";
    SET_STOPPED = Gauge "nyala_storage_set_stopped" ["target"] "1 if the drive set has lost more drives than it can do without and has stopped";
    SET_SPARES = Gauge "nyala_storage_set_spares" ["target"] "Spares that the drive set may take and nobody has; those that several targets share count for each";
    SET_ERRORS = Counter "nyala_storage_set_drive_errors" ["target", "member"] "What a drive of the set returned that was wrong";
    SET_MISSED = Gauge "nyala_storage_set_missed_stripes" ["target", "member"] "Stripes of which a drive of the set has missed writes and has yet to get them; what a new drive has yet to get is not counted";
    SET_HEALED = Counter "nyala_storage_set_healed" ["target"] "Strips, checksums and parities of the drive set that were wrong and were made good";
    SET_LOST = Gauge "nyala_storage_set_lost_stripes" ["target"] "Stripes that the last or current check of the drive set could not read";
    SET_REBUILT = Counter "nyala_storage_set_rebuilt_bytes" ["target"] "Bytes given to drives of the set that had missed them, or are new";
    SET_LATE = Counter "nyala_storage_set_late_reads" ["target"] "Reads that went around a drive of the set that was late";
    MEMORY = Gauge "nyala_storage_request_memory_bytes" ["purpose"] "Memory that requests occupy: of clients, of servers, for data of reads";
}
