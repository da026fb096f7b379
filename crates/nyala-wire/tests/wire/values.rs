// SPDX-License-Identifier: Apache-2.0

//! What messages consist of: identifiers, attributes, layouts, the cluster map.

use crate::shapes::{Shape, enums, structures};
use crate::tape::{Sample, Tape};
use nyala_wire::access_rules::{AccessRule, Admit, Network, Subtree};
use nyala_wire::drive::DriveObject;
use nyala_wire::key_rules::{IdRange, KeyRule, Squash};
use nyala_wire::link_test::{LinkTestReply, LinkTestRequest};
use nyala_wire::map::{
    CapacityPool, ClusterMap, Consistency, FailingTarget, Group, MemberState, Node, Placement, PlannedMoves, Pool,
    Reachability, Rebalance, Role, Settings, SlotMove, SlotRange, Target, TargetKind,
};
use nyala_wire::meta::Want;
use nyala_wire::meta_tx::TxId;
use nyala_wire::mgmt::{
    Capacity, DiskErrors, LinkReport, LinkState, RecallReport, ServiceStats, TargetCapacity, UnansweredRecall,
};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::storage_grants::{StorageGrant, StorageRights};
use nyala_wire::subtree_proofs::{InodeProof, Proven};
use nyala_wire::trace::{TraceReply, TraceRequest, TracedPart, TracedRequest};
use nyala_wire::{
    Attr, ClusterId, ErasureCode, ErrorCode, FileKind, GroupId, InodeId, Layout, MapVersion, NodeId, Pattern, PoolId,
    SessionId, Slot, StripePattern, TargetId, Time, WireError,
};

macro_rules! newtypes {
    ($($type:ident),*) => {
        $(impl Sample for $type {
            fn sample(tape: &mut Tape) -> Self {
                $type(tape.take())
            }
        })*
    };
}

newtypes!(
    ClusterId,
    DriveObject,
    ErrorCode,
    GroupId,
    InodeId,
    MapVersion,
    NodeId,
    PoolId,
    SessionId,
    Slot,
    TargetId,
    Want
);

impl Shape for Layout {
    const NAME: &'static str = "Layout";
    const ROWS: &'static [(u8, &'static str, &'static [&'static str])] =
        &[(0, "Layout", &["pattern", "chunk_bytes", "targets"])];
}

impl Sample for Network {
    fn sample(tape: &mut Tape) -> Self {
        let text = format!("10.{}.0.0/16", tape.byte());
        text.parse().unwrap()
    }
}

impl Sample for Layout {
    /// One without chunks or targets would be refused.
    fn sample(tape: &mut Tape) -> Self {
        let (pattern, chunk_bytes, first): (_, u32, _) = (tape.take(), tape.take(), tape.take());
        let mut targets: Vec<TargetId> = tape.take();
        targets.insert(0, first);
        let code = (pattern == Pattern::Ec).then_some(ErasureCode { data: 2, parity: 1 });
        code.into_iter().for_each(|code| targets.resize(usize::from(code.width()), first));
        Layout { pattern, chunk_bytes: chunk_bytes.max(1), targets, moves: 0, code }
    }
}

structures! {
    Attr { inode, kind, perm, nlink, uid, gid, rdev, size, atime, mtime, ctime, btime, allocated, no_xattrs, split }
    Capacity { total_bytes, free_bytes, total_inodes, free_inodes }
    ChunkFileId { inode, index }
    ErasureCode { data, parity }
    ClusterMap { version, cluster, nodes, targets, groups, pools, slots, settings, moves, emptied, planned, key_rules, access_rules, failing }
    FailingTarget { target, errors, replacement }
    AccessRule { rule, network, subtree, admit }
    Subtree { inode, path }
    InodeProof { inode, proof }
    Proven { root, proofs }
    StorageGrant { inode, rights, code }
    IdRange { client, server, count }
    KeyRule { key, read_only, squash, anonymous_uid, anonymous_gid, users, groups }
    Group { id, kind, epoch, members, states, term, since, fencing, resync_stopped, full, losses, serves }
    Node { id, alias, role, addresses, reachability }
    Pool { id, alias }
    TraceRequest { trace }
    TraceReply { requests }
    TracedRequest { request, message_type, total_ns, parts, from_node }
    TracedPart { name, ns }
    LinkTestRequest { to, bytes, within_ms }
    LinkTestReply { local, round_trip_us, mtu, segment, large, sent_bytes, sent_us }
    ServiceStats { cpu_us, resident_bytes, uptime_s, counters, recalls, links }
    RecallReport { oldest, more, outstanding }
    UnansweredRecall { session, client, age_ms, inodes }
    LinkReport { worst, more, watched }
    LinkState { node, address, silent_ms, breaks, last_break_ms }
    PlannedMoves { to, slots }
    Rebalance { automatic, settle_ms, at_once, pause_ms }
    Settings { default_pattern, placement, heartbeat_ms, lease_ms, session_timeout_ms, rebalance }
    SlotMove { slot, from, to, attempt, run }
    SlotRange { first, count, target }
    StripePattern { pattern, chunk_bytes, num_targets, pool, inline_bytes, code }
    Target { id, alias, kind, node, pool, reachability, consistency, capacity_pool }
    TargetCapacity { target, capacity, inodes, data_bytes, errors }
    DiskErrors { total, recent, limit }
    Time { seconds, nanos }
    TxId { coordinator, number }
    WireError { code, message }
}

enums! {
    Admit { 0 Held {} 1 Free {} 2 Refused {} }
    Squash { 0 None {} 1 Root {} 2 All {} }
    StorageRights { 0 Read {} 1 Write {} }
    CapacityPool { 0 Normal {} 1 Low {} 2 Emergency {} }
    Consistency { 0 Good {} 1 NeedsResync {} 2 Bad {} }
    FileKind { 0 File {} 1 Directory {} 2 Symlink {} 3 Fifo {} 4 Socket {} 5 CharDevice {} 6 BlockDevice {} }
    MemberState { 0 Good {} 1 NeedsResync {} 2 Resyncing {} 3 Bad {} }
    Pattern { 0 Raid0 {} 1 Mirror {} 2 Ec {} }
    Placement { 0 Random {} 1 RoundRobin {} 2 RandomInternode {} }
    Reachability { 0 Online {} 1 ProbablyOffline {} 2 Offline {} }
    Role { 0 Mgmt {} 1 Meta {} 2 Storage {} 3 Client {} }
    TargetKind { 0 Meta {} 1 Storage {} }
}
