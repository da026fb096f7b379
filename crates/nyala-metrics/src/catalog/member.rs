// SPDX-License-Identifier: Apache-2.0

//! What members of a cluster export: metadata and storage services.

use crate::metric::metrics;

metrics! {
    LEASE = Gauge "nyala_lease_valid" ["node"] "1 while the lease from management holds, 0 while the service may not serve";
    MAP = Gauge "nyala_map_version" ["node"] "Version of the cluster map that the service has";
    TOTAL = Gauge "nyala_target_size_bytes" ["target"] "Size of the target";
    FREE = Gauge "nyala_target_free_bytes" ["target"] "What is free of it";
    TOTAL_INODES = Gauge "nyala_target_inodes" ["target"] "Inodes of the target's file system";
    FREE_INODES = Gauge "nyala_target_free_inodes" ["target"] "Inodes of it that are free";
}
