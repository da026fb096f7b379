// SPDX-License-Identifier: Apache-2.0

//! What a management service exports.

use crate::metric::metrics;

metrics! {
    REQUESTS = Histogram "nyala_mgmt_request_duration_seconds" ["op"] "Requests of services, clients and operators by kind, and their time; watch_map waits for news on purpose";
    ERRORS = Counter "nyala_mgmt_request_errors" ["op"] "Replies that are errors";
    REST = Counter "nyala_mgmt_rest_requests" [] "Requests to the REST API";
    CHANGES = Counter "nyala_mgmt_changes" [] "Changes of the cluster state made";
    REFUSED = Counter "nyala_mgmt_refused_changes" [] "Changes refused";
    LEADER = Gauge "nyala_mgmt_raft_leader" ["node"] "1 on the node that leads";
    TERM = Gauge "nyala_mgmt_raft_term" ["node"] "Raft's term";
    LAST = Gauge "nyala_mgmt_raft_last_index" ["node"] "Last entry of Raft's log";
    APPLIED = Gauge "nyala_mgmt_raft_applied_index" ["node"] "Last entry that is applied";
    SNAPSHOT = Gauge "nyala_mgmt_raft_snapshot_index" ["node"] "Last entry that is in a snapshot";
    VOTERS = Gauge "nyala_mgmt_raft_voters" ["node"] "Management nodes that vote";
    MAP = Gauge "nyala_mgmt_map_version" [] "Version of the cluster map";
    NODES = Gauge "nyala_mgmt_nodes" ["role", "reachability"] "Nodes of the cluster as this node knows them";
    TARGETS = Gauge "nyala_mgmt_targets" ["kind", "reachability", "consistency"] "Targets of the cluster as this node knows them";
    FAILING = Gauge "nyala_mgmt_failing_target_errors" ["target"] "Errors that a target had made when its disk was called failing, as long as it is called so";
    GROUPS = Gauge "nyala_mgmt_mirror_groups" ["members"] "Mirror groups by whether all of their members are good (good) or not (degraded)";
}
