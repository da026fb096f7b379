// SPDX-License-Identifier: Apache-2.0

//! All requests and replies, bulk data apart.

use crate::shapes::{enums, structures};
use nyala_wire::audit::AuditRecord;
use nyala_wire::busiest::{BusiestReply, BusiestRequest, BusyInode, BusyInodes, InodeName, NamesReply, NamesRequest};
use nyala_wire::check::{Fact, InodeFact, MemberCompared, ScanReply, ScanRequest, ServerFact};
use nyala_wire::drive::{DriveEffect, DriveHold, DriveLook, DriveOrder, DriveReply, DriveRequest};
use nyala_wire::fences::{FencesReply, FencesRequest};
use nyala_wire::fragments::{CookieRange, Fragment, FragmentEntry};
use nyala_wire::host_report::{HostReportReply, HostReportRequest};
use nyala_wire::locate::{LocateReply, LocateRequest};
use nyala_wire::meta::{
    Acknowledged, Caller, Commit, DelegationMode, EncodedData, EntryInfo, EntryReply, FileLock, FileReply,
    FragmentRepair, InlineContent, ListedEntry, Listing, LockCheck, LockKind, MetaOp, MetaReply, MetaRequest, NewEntry,
    Owner, PutInline, PutOutcome, Rename, Repair, Replay, Returned, Revocation, ServerRepair, SessionReply, SetAttr,
    SetTime,
};
use nyala_wire::meta_tx::{
    LockEdge, LockOwner, MoveRows, MovedRow, Outcome, PartResult, TxAction, TxPart, TxReply, TxRequest,
};
use nyala_wire::mgmt::{
    FsckNews, GroupOrder, Heartbeat, JoinMgmt, MemberNews, MgmtNode, MgmtReply, MgmtRequest, MgmtRole, MountAt,
    Register, RegisterTarget, Registered, SlotOrder, SlotStep, StateChange,
};
use nyala_wire::pool_orders::PoolOrder;
use nyala_wire::raid::{RaidMember, RaidOptions, RaidOrder, RaidRequest, RaidScrub, RaidState};
use nyala_wire::scrub::{ScrubDamage, ScrubRequest, ScrubState};
use nyala_wire::storage::{ListedFile, Stamp, StorageOp, StorageReply, StorageRequest, WriteVerifier};
use nyala_wire::trace::{MountRequest, MountTrace};
use nyala_wire::walk::{WalkAt, WalkPiece};

structures! {
    Acknowledged { position, request, reply }
    BusiestReply { covered_ms, sampled, requests, bytes, directories }
    BusiestRequest { most }
    BusyInode { inode, count, error, part }
    BusyInodes { inodes, missed }
    HostReportReply { host, report, bytes }
    InodeName { inode, dir, name }
    MountRequest { address, request, message_type, at_ns, ns }
    MountTrace { trace, operation, inode, queue_ns, total_ns, requests, ended_unix_ns }
    NamesReply { names, next }
    NamesRequest { dir, inodes, after }
    Commit { inode, end, mtime, spilled, sync, close, allocated, encoded }
    EncodedData { layout, end }
    EntryInfo { attr, meta_target, layout, inline, pattern, parent, fragments }
    EntryReply { inode, kind, attr }
    FileReply { attr, layout, inline, inline_limit, leftovers }
    DriveHold { epoch, holder, turn }
    DriveLook { missing, epoch, instance, total_bytes, free_bytes, empty, superblock, target, claim, deleted }
    DriveRequest { drive, order }
    FsckNews { run, repairs, progress, outcome }
    FencesReply { sessions }
    FencesRequest { target, above }
    FileLock { owner, pid, kind, flock, start, end }
    Heartbeat { node, incarnation, map_version, capacities }
    InlineContent { version, data }
    ListedEntry { cookie, name, inode, kind, attr }
    CookieRange { from, upto }
    Fragment { inode, upto }
    FragmentEntry { cookie, row }
    Listing { entries, end, next }
    InodeFact { inode, kind, nlink, size, ctime, parent, entries, layout, inline_version, xattr_bytes, allocated, range }
    ListedFile { file, len, least }
    MemberCompared { target, equal }
    LocateReply { entry, info }
    LocateRequest { inode, name }
    ScanReply { facts, next, position, compared }
    ScanRequest { inodes, from, most, of, compare }
    JoinMgmt { cluster, uuid, addresses, incarnation, node }
    LockCheck { number, inode, owner, flock }
    LockEdge { waiter, holder, wait }
    LockOwner { session, owner }
    MetaRequest { session, sequence, acked_below, owner, now, op, want, caller, user }
    Caller { uid, gid, groups, anybody }
    AuditRecord { number, at_ms, key, host, what, outcome }
    MountAt { name, address }
    MgmtNode { node, alias, addresses, role, log, reachable }
    MoveRows { slot, attempt, map, number, rows, last, doubtful }
    MovedRow { key, value }
    NewEntry { parent, name, perm, umask }
    Owner { uid, gid }
    PutInline { inode, base_version, data, mtime, sync, close, size, set }
    RaidMember { drive, state, missed, errors }
    RaidRequest { target, order }
    RaidScrub { running, stripes, healed, lost, ended_s }
    RaidState { level, strip_bytes, parity, members, spares, healed, rebuilt_bytes, rebuilding, rate, scrub, options }
    RaidOptions { bytes_per_s, errors, within_ms }
    ScrubDamage { at, bad, found_ms, reason }
    ScrubRequest { target }
    ScrubState {
        interval_ms, rate, since_ms, began_ms, ended_ms, due_ms, at, bytes, total_bytes, found_bytes, repaired_bytes, damaged_bytes,
        late, damage
    }
    Register { cluster, role, uuid, alias, addresses, incarnation, targets }
    RegisterTarget { uuid, id, alias, kind, capacity, losses, spare }
    Registered { cluster, node, targets, map, refused }
    StateChange { at_ms, version, what, why }
    Rename { from_parent, from_name, to_parent, to_name, no_replace, exchange }
    Replay { changes, last, open, run }
    Returned { inode, keep, seq, open }
    Revocation { inode, keep, seq }
    SessionReply { timeout_ms, map_version, known, boot }
    SetAttr { perm, uid, gid, size, atime, mtime, ctime, kill_suidgid, outside_group, emptied }
    Stamp { client, number, slot }
    StorageRequest { target, file, op, session, stamp }
    TxRequest { tx, action }
    WalkAt { file, offset }
    WalkPiece { at, present, checksums, bad }
    WriteVerifier { target, losses }
}

enums! {
    MetaOp {
        0 SessionOpen { client }
        1 SessionClose {}
        2 Lookup { parent, name }
        3 GetAttr { inode }
        4 GetAttrs { inodes }
        5 ReadDir { dir, after, max_entries, plus }
        6 ReadLink { inode }
        7 GetXattr { inode, name }
        8 ListXattr { inode }
        9 EntryInfo { inode }
        10 StatFs {}
        11 GetParent { dir }
        12 Sync {}
        13 FileInfo { inode }
        14 DelegationPoll { boot, kept, moving }
        15 DelegationReturn { delegations }
        16 Acquire { inode }
        17 GetLock { inode, lock }
        18 LockWait { inode, lock }
        19 Spill { inode, done }
        20 LockConfirm { inode, lock }
        21 LockChecked { numbers }
        22 Survived { run }
        23 Replay { 0 }
        24 Fragments { 0 }
        25 MergeDir { 0 }
        26 StorageGrant { 0 }
        27 MoveTargets { inode, pattern, avoid }
        32 Create { entry, exclusive }
        33 Open { inode }
        34 Close { inode }
        35 Mkdir { entry }
        36 Mknod { entry, kind, rdev, pattern }
        37 Symlink { entry, target }
        38 Unlink { parent, name }
        39 Rmdir { parent, name }
        40 Rename { 0 }
        41 Link { inode, parent, name }
        42 SetAttr { inode, set }
        43 SetXattr { inode, name, value, create, replace, kill_sgid }
        44 RemoveXattr { inode, name }
        45 Commit { 0 }
        46 PutInline { 0 }
        47 SetPattern { dir, pattern }
        48 SetLock { inode, lock }
        49 Tmpfile { entry }
        50 PutInlines { puts }
        51 Repair { 0 }
        52 SessionAdopt { 0 }
        53 MoveData { inode, layout }
    }
    MetaReply {
        0 Done {}
        1 Session { 0 }
        2 Entry { 0 }
        3 Attr { 0 }
        4 Attrs { 0 }
        5 Listing { 0 }
        6 Bytes { 0 }
        7 Names { 0 }
        8 EntryInfo { 0 }
        9 StatFs { inodes }
        10 Inode { 0 }
        11 Opened { 0 }
        12 Created { new, inode, kind, file }
        13 Inline { attr, version }
        14 Revocations { boot, list, checks }
        15 NoEntry {}
        16 Lock { 0 }
        17 Inlines { 0 }
        18 Position { 0 }
        19 Replayed { lost }
        20 Fragments { 0 }
        21 StorageGrant { 0 }
        22 Layout { 0 }
    }
    Repair {
        0 RemoveName { dir, cookie, inode }
        1 RemoveNames { 0 }
        2 SetNameKind { dir, cookie, inode, kind }
        3 PlaceName { dir, cookie, inode }
        4 AddName { dir, name, inode, kind }
        5 CountNames { 0 }
        6 SetLinks { inode, from, to }
        7 SetParent { dir, from, to }
        8 RemoveInode { 0 }
        9 RemoveContent { 0 }
        10 CountXattrs { 0 }
        11 CloseStray { inode, session }
        12 SettleLocks { inode, session }
        13 KeepChunks { 0 }
        14 Server { 0 }
        15 Fragment { 0 }
    }
    FragmentRepair { 0 Remove { 0 } 1 Make { inode, dir, range } }
    ServerRepair {
        0 RemoveReplies { session }
        1 RaiseSequence { slot, to }
        2 SetCount { from, to }
        3 SetAside { key }
    }
    Fact {
        0 Name { inode, dir, cookie, kind, misplaced, of }
        1 Listed { dir, entries, subdirs }
        2 Inode { 0 }
        3 Content { inode, bytes }
        4 Xattrs { inode, bytes }
        5 Open { inode, session, known }
        6 StrayLock { inode, session }
        7 Garbage { inode, moved }
        8 Truncation { inode }
        9 Server { 0 }
        10 Fragment { inode, dir, range }
    }
    ServerFact {
        0 StrayReplies { session }
        1 Prepared { tx }
        2 Committed { number, waits_for }
        3 NextSequence { slot, next }
        4 Count { inodes }
        5 Unreadable { key }
    }
    PutOutcome { 0 Taken { attr, version } 1 Refused { 0 } }
    DelegationMode { 0 None {} 1 Shared {} 2 Uncached {} 3 Exclusive {} }
    LockKind { 0 Read {} 1 Write {} 2 Unlock {} }
    SetTime { 0 Now {} 1 At { 0 } }
    TxAction {
        0 Prepare { now, parts, stage, caller, owned, session }
        1 Commit {}
        2 Abort {}
        3 Status {}
        4 GetParent { dir }
        5 LockEdges {}
        6 MoveRows { 0 }
        7 LookAtFragment { inode, range, most }
        8 ConsiderSplit { dir }
    }
    TxPart {
        0 MakeDir { slot, parent, perm, owner, pattern, acl, default_acl, depth }
        1 RemoveDir { inode }
        2 LinkCount { inode, delta }
        3 SetParent { inode, parent }
        4 PutEntry { dir, name, inode, kind, replaces }
        5 PeekEntry { dir, name }
        6 RenameLock {}
        7 RemoveEntry { dir, name, inode }
        8 MakeFragment { slot, of, perm, owner, pattern, default_acl, at, depth }
        9 RemoveFragment { inode }
        10 GiveEntries { inode, range, behind, digest }
        11 TakeEntries { inode, range, entries }
        12 SetFragments { dir, fragments, changed }
        13 SetAttr { inode, set }
        14 SetAcl { inode, name, value, kill_sgid }
        15 SetPattern { inode, pattern }
    }
    TxReply {
        0 Done {}
        1 Prepared { 0 }
        2 Outcome { 0 }
        3 Parent { 0 }
        4 LockEdges { 0 }
        5 Fragment { count, entries, end }
    }
    Outcome { 0 Pending {} 1 Committed {} 2 Aborted {} }
    PartResult { 0 Ready {} 1 Attr { 0 } 2 Entry { 0 } 3 EntryOf { entry, dir } }
    StorageOp {
        0 Truncate { len }
        1 Punch { offset, len }
        2 Sync {}
        3 Unlink {}
        4 Stat {}
        5 Seek { offset, hole }
        6 Allocate { offset, len }
        7 Fence { session }
        8 Copy { from, from_offset, offset, len }
        9 Repair { offset, len, bad }
        10 Walk { offset, bytes, verify }
        11 List { most }
    }
    StorageReply {
        0 Done {}
        1 Stat { len, blocks }
        2 Offset { 0 }
        3 Walked { pieces, next }
        4 Stored { 0 }
        5 Listed { files, next }
    }
    HostReportRequest { 0 Who {} 1 Make { log_bytes, most_bytes } 2 Piece { report, offset } }
    RaidOrder {
        0 Show {}
        1 Replace { member, drive }
        2 Check {}
        3 Rate { bytes_per_s }
        4 Modify { bytes_per_s, errors, within_ms, add_spares, remove_spares }
    }
    DriveOrder {
        0 Look {}
        1 Make {}
        2 Attach { hold, instance }
        3 Run { attachment, effect }
        4 Take { set }
        5 Release { set }
        6 Delete { set, finish }
    }
    DriveEffect {
        0 Read { object, offset, len }
        1 Write { object, offset }
        2 Discard { object, offset, len }
        3 Apply { sync }
        4 Get { key }
        5 Scan { from, to, most }
        6 SyncFiles {}
    }
    DriveReply {
        0 Looked { 0 }
        1 Attached { attachment, instance }
        2 Done {}
        3 Value { 0 }
        4 Pairs { more }
    }
    MgmtRequest {
        0 WatchMap { have, wait_ms }
        1 Register { 0 }
        2 Heartbeat { 0 }
        3 Goodbye { node, incarnation }
        4 Capacities {}
        5 Member { group, epoch, target, by, news }
        6 Refused { node }
        7 Groups { 0 }
        12 TakeRange { target, after }
        16 JoinMgmt { 0 }
        17 MgmtNodes {}
        18 RemoveMgmt { node }
        19 AdoptMgmt { mgmt }
        20 AnnounceMount { 0 }
        21 Mounts {}
        22 SlotStep { 0 }
        23 Slots { 0 }
        24 SetKeyRule { 0 }
        25 Audit {}
        26 Changes {}
        27 SetAccessRule { 0 }
        28 RemoveAccessRule { key, network }
        29 Fsck { 0 }
    }
    MgmtReply {
        0 Done {}
        1 Map { 0 }
        2 Unchanged {}
        3 Registered { 0 }
        4 Lease { lease_ms, map_version }
        5 Capacities { 0 }
        12 Range { range, before }
        16 NotLeader { leader, addresses }
        17 MgmtJoined { cluster, node }
        18 MgmtNodes { 0 }
        19 Mounts { 0 }
        20 Audit { 0 }
        21 Changes { 0 }
    }
    MemberNews { 0 NeedsResync {} 1 ResyncStarted {} 2 Resynced {} }
    GroupOrder {
        0 Create { group, kind, members }
        1 CreateAll { kind, members, ignore_space, ignore_uneven }
        2 Remove { group, content_gone }
        3 StopResync { group, stopped }
        4 Switch { group, target }
        5 Declare { target, consistency }
        6 AddMember { group, target }
        7 RemoveMember { group, target }
        8 RemoveTarget { target, content_gone }
        9 RemoveNode { node }
        10 Pools { 0 }
    }
    PoolOrder {
        0 RenameNode { node, alias }
        1 RenameTarget { target, alias }
        2 RenamePool { pool, alias }
        3 CreatePool { alias }
        4 RemovePool { pool }
        5 SetPool { target, pool }
    }
    SlotStep { 0 Begin { slot, after, run } 1 Complete { slot, attempt } }
    SlotOrder { 0 Move { slots, to } 1 Cancel { slots } 2 Automatic { rebalance } }
    MgmtRole { 0 Leader {} 1 Follower {} 2 Learner {} }
}
