// SPDX-License-Identifier: Apache-2.0

//! What a management service counts, and its page of metrics.

use crate::cluster_metrics;
use crate::core::Core;
use nyala_metrics::catalog::{Source, mgmt as metrics};
use nyala_metrics::{Page, Requests};
use nyala_store::Store;
use nyala_transport::trace::SlowOperations;
use nyala_wire::{message_type, mgmt::MgmtRequest};
use openraft::ServerState;
use std::sync::atomic::Ordering;

macro_rules! ops {
    ($($op:ident = $name:literal,)*) => {
        /// What may be asked for.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Op {
            $($op,)*
            Raft,
            Ping,
            Stats,
            Metrics,
            Unknown,
        }

        impl Op {
            /// What services, clients and operators ask.
            pub fn request(request: &MgmtRequest) -> Op {
                match request {
                    $(MgmtRequest::$op { .. } => Op::$op,)*
                }
            }
        }

        /// Names of operations, by their numbers.
        pub(crate) const NAMES: &[&str] = &[$($name,)* "raft", "ping", "stats", "metrics", "unknown"];
    };
}

ops! {
    WatchMap = "watch_map",
    Register = "register",
    Heartbeat = "heartbeat",
    Goodbye = "goodbye",
    Capacities = "capacities",
    Member = "member",
    Refused = "refused",
    Groups = "groups",
    TakeRange = "take_range",
    SlotStep = "slot_step",
    Slots = "slots",
    JoinMgmt = "join_mgmt",
    MgmtNodes = "mgmt_nodes",
    RemoveMgmt = "remove_mgmt",
    AdoptMgmt = "adopt_mgmt",
    AnnounceMount = "announce_mount",
    Mounts = "mounts",
    SetKeyRule = "set_key_rule",
    SetAccessRule = "set_access_rule",
    RemoveAccessRule = "remove_access_rule",
    Audit = "audit",
    Changes = "changes",
    Fsck = "fsck",
}

impl Op {
    /// What a message of this type is, as far as that says it.
    pub fn of(message_type: u16) -> Op {
        match message_type {
            message_type::MGMT_RAFT => Op::Raft,
            message_type::PING => Op::Ping,
            message_type::STATS => Op::Stats,
            message_type::METRICS => Op::Metrics,
            _ => Op::Unknown,
        }
    }
}

/// Counts for requests of all kinds.
pub(crate) fn requests() -> Requests {
    Requests::new(NAMES.to_vec())
}

/// The page of a node that belongs to no cluster yet.
pub(crate) fn write_waiting(page: &mut Page) {
    nyala_scrape::process(page, Source::Mgmtd);
}

/// The whole page.
pub(crate) fn write(page: &mut Page, core: &Core, (requests, slow): (&Requests, &SlowOperations), store: &Store) {
    nyala_scrape::process(page, Source::Mgmtd);
    nyala_scrape::slow(page, slow);
    nyala_scrape::links(page, core.links.lock().as_ref());
    nyala_store::metrics::write(page, &[(&"raft", store)]);
    requests.write(page, &metrics::REQUESTS, &metrics::ERRORS);
    let counters = &core.counters;
    for (metric, counter) in [
        (&metrics::REST, &counters.rest_requests),
        (&metrics::CHANGES, &counters.changes),
        (&metrics::REFUSED, &counters.refused),
    ] {
        page.family(metric).value(&[], counter.load(Ordering::Relaxed));
    }
    write_raft(page, core);
    page.family(&metrics::MAP).value(&[], core.view.map().version.0);
    cluster_metrics::write(page, &core.view.state(), &core.view.map());
}

fn write_raft(page: &mut Page, core: &Core) {
    let raft = core.raft.metrics();
    let raft = raft.borrow();
    let index = |log: Option<openraft::LogId<u64>>| log.map_or(0, |log| log.index);
    for (metric, value) in [
        (&metrics::LEADER, u64::from(raft.state == ServerState::Leader)),
        (&metrics::TERM, raft.current_term),
        (&metrics::LAST, raft.last_log_index.unwrap_or(0)),
        (&metrics::APPLIED, index(raft.last_applied)),
        (&metrics::SNAPSHOT, index(raft.snapshot)),
        (&metrics::VOTERS, raft.membership_config.voter_ids().count() as u64),
    ] {
        page.family(metric).value(&[&core.me], value);
    }
}
