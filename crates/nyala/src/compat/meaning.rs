// SPDX-License-Identifier: Apache-2.0

//! Old keys that ask for nothing here, and why. Pure.

/// Keys that ask for nothing here, and why.
const WITHOUT_MEANING: [(&str, &str); 23] = [
    ("connMaxInternodeNum", "a connection carries many requests at once"),
    ("connRDMABufSize", "there is no RDMA yet"),
    ("connRDMABufNum", "there is no RDMA yet"),
    ("connRDMAInterfacesFile", "there is no RDMA yet"),
    ("connUseRDMA", "there is no RDMA yet"),
    ("connBufSize", "buffers follow the requests"),
    ("connHelperdPortTCP", "there is no helper service"),
    ("connClientPortUDP", "clients listen on no port"),
    ("connDisableAuthentication", "every connection proves the cluster's secret"),
    ("sysTargetOfflineTimeoutSecs", "management has `lease`, 3s, at the cluster's first start"),
    ("storeFsUUID", "a target remembers its file system by itself"),
    ("storeAllowFirstRunInit", "an empty directory is never taken for a target that was there"),
    ("storeUseExtendedAttribs", "metadata is in tables of its own"),
    ("tuneUsePerTargetWorkers", "each target has its own workers"),
    ("tuneUsePerUserMsgQueues", "requests are served as they come"),
    ("tuneBindToNumaZone", "let the unit say it: NUMAPolicy= of systemd"),
    ("tuneFileReadAheadSize", "clients read ahead: `read-ahead` of the client"),
    ("tuneFileCacheType", "clients cache what the servers grant them"),
    ("logStdFile", "services log to the journal; --log-file writes a file"),
    ("logLevel", "--log-level"),
    ("runDaemonized", "services run in the foreground"),
    ("buildArgs", "there is no kernel module to build"),
    ("connNetFilterFile", "name interfaces in order of preference"),
];

/// A sentence about a key that is not translated; none about those that set-up reads itself, and ports of others.
pub fn without_meaning(key: &str) -> Option<String> {
    const QUIET: [&str; 2] = ["storeStorageDirectory", "connInterfacesFile"];
    if QUIET.contains(&key) || (key.starts_with("conn") && key.contains("Port")) {
        return None;
    }
    Some(match WITHOUT_MEANING.iter().find(|(known, _)| *known == key) {
        Some((_, why)) => format!("{key} means nothing here: {why}"),
        None => format!("{key} is not known here and was left out"),
    })
}
