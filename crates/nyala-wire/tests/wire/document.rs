// SPDX-License-Identifier: Apache-2.0

//! `docs/protocol.md` says what the code does: its examples are what we encode, its tables have our numbers and names.

use crate::cbor;
use crate::examples;
use crate::shapes::Shape;
use nyala_wire::ErrorCode;

const DOCUMENT: &str = include_str!("../../../../docs/protocol.md");

/// Blocks marked `hex`: the name in the first line's comment, and the bytes; comments go up to the end of a line.
fn blocks() -> Vec<(&'static str, Vec<u8>)> {
    let blocks = DOCUMENT.split("```hex\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let parse = |block: &'static str| {
        let name = block.strip_prefix("# ").and_then(|text| text.lines().next()).expect("a name in the first line");
        let code = block.lines().flat_map(|line| line.split('#').next().unwrap().split_whitespace());
        (name, code.map(|byte| u8::from_str_radix(byte, 16).expect("bytes in hexadecimal")).collect())
    };
    blocks.map(parse).collect()
}

#[test]
fn examples_are_what_we_encode() {
    let (documented, ours) = (blocks(), examples::all());
    let mut wrong = String::new();
    for (name, bytes) in &ours {
        let found: Vec<_> = documented.iter().filter(|(other, _)| other == name).map(|(_, bytes)| bytes).collect();
        if found != [bytes] {
            let hex = |bytes: &[u8]| bytes.chunks(16).map(|line| format!("\n{line:02x?}")).collect::<String>();
            let shown = if name.ends_with("(CBOR)") { cbor::dump(bytes) } else { hex(bytes) };
            wrong += &format!("\n# {name}{shown}\n");
        }
    }
    assert!(wrong.is_empty(), "these are not documented once and like this:\n{wrong}");
    let unknown: Vec<_> = documented.iter().filter(|(name, _)| !ours.iter().any(|(ours, _)| ours == name)).collect();
    assert!(unknown.is_empty(), "documented but not encoded by us: {unknown:?}");
}

/// Cells of the rows of all tables whose first heading is this.
fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let start = format!("| {heading} |");
    let mut rows = Vec::new();
    let mut lines = DOCUMENT.lines();
    while lines.any(|line| line.starts_with(&start)) {
        let inside = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
        rows.extend(inside.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>()));
    }
    assert!(!rows.is_empty(), "no table of {heading}");
    rows
}

/// Words in backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Fields that have names: those of tuples have none.
fn named<'a>(fields: &[&'a str]) -> Vec<&'a str> {
    fields.iter().copied().filter(|field| !field.starts_with(|c: char| c.is_ascii_digit())).collect()
}

/// An enum's table: number, name, fields.
fn variants<T: Shape>() {
    let rows = table(T::NAME);
    let ours: Vec<_> =
        T::ROWS.iter().map(|(number, name, fields)| (number.to_string(), *name, named(fields))).collect();
    let documented: Vec<_> = rows.iter().map(|row| (row[0].to_owned(), row[1], quoted(row[2]))).collect();
    assert_eq!(documented, ours, "{}", T::NAME);
}

#[test]
fn operations_have_their_numbers_and_fields() {
    use nyala_wire::{meta, meta_tx, mgmt, storage};
    variants::<meta::MetaOp>();
    variants::<meta::MetaReply>();
    variants::<meta_tx::TxAction>();
    variants::<meta_tx::TxPart>();
    variants::<meta_tx::TxReply>();
    variants::<meta::PutOutcome>();
    variants::<meta_tx::PartResult>();
    variants::<meta::Repair>();
    variants::<nyala_wire::check::Fact>();
    variants::<meta::ServerRepair>();
    variants::<meta::FragmentRepair>();
    variants::<nyala_wire::check::ServerFact>();
    variants::<storage::StorageOp>();
    variants::<storage::StorageReply>();
    variants::<nyala_wire::host_report::HostReportRequest>();
    variants::<nyala_wire::raid::RaidOrder>();
    variants::<nyala_wire::drive::DriveOrder>();
    variants::<nyala_wire::drive::DriveEffect>();
    variants::<nyala_wire::drive::DriveReply>();
    variants::<mgmt::SlotStep>();
    variants::<mgmt::SlotOrder>();
    variants::<nyala_wire::pool_orders::PoolOrder>();
    variants::<mgmt::MgmtRequest>();
    variants::<mgmt::GroupOrder>();
    variants::<mgmt::MgmtReply>();
}

/// A row of one of the tables of structures: name and fields in order.
fn structure<T: Shape>() {
    let rows: Vec<_> = table("Structure").into_iter().filter(|row| row[0] == T::NAME).collect();
    assert_eq!(rows.len(), 1, "{}", T::NAME);
    assert_eq!(quoted(rows[0][1]), T::ROWS[0].2, "{}", T::NAME);
}

macro_rules! structures {
    ($($type:ty),* $(,)?) => { $(structure::<$type>();)* };
}

#[test]
fn structures_have_their_fields() {
    use nyala_wire::trace::{TraceReply, TraceRequest, TracedPart, TracedRequest};
    use nyala_wire::{Attr, Layout, StripePattern, Time, WireError, map::*, meta::*, meta_tx::*, mgmt::*, storage::*};
    structures!(Attr, Layout, StripePattern, Time, WireError, ServiceStats);
    structures!(RecallReport, UnansweredRecall, LinkReport, LinkState);
    structures!(TraceRequest, TraceReply, TracedRequest, TracedPart);
    structures!(nyala_wire::trace::MountTrace, nyala_wire::trace::MountRequest);
    structures!(nyala_wire::link_test::LinkTestRequest, nyala_wire::link_test::LinkTestReply);
    structures!(
        ClusterMap,
        FailingTarget,
        Group,
        Node,
        PlannedMoves,
        Pool,
        Rebalance,
        Settings,
        SlotMove,
        SlotRange,
        Target,
        Capacity,
        DiskErrors,
        TargetCapacity
    );
    structures!(
        Commit,
        EncodedData,
        EntryInfo,
        EntryReply,
        FileReply,
        InlineContent,
        ListedEntry,
        Listing,
        MetaRequest,
        NewEntry
    );
    structures!(Owner, PutInline, Rename, SessionReply, SetAttr, TxId, TxRequest, ChunkFileId, StorageRequest, Stamp);
    structures!(nyala_wire::fences::FencesRequest, nyala_wire::fences::FencesReply);
    structures!(nyala_wire::check::ScanRequest, nyala_wire::check::ScanReply, nyala_wire::check::InodeFact);
    structures!(nyala_wire::locate::LocateRequest, nyala_wire::locate::LocateReply);
    structures!(nyala_wire::host_report::HostReportReply);
    use nyala_wire::busiest::{
        BusiestReply, BusiestRequest, BusyInode, BusyInodes, InodeName, NamesReply, NamesRequest,
    };
    structures!(BusiestRequest, BusiestReply, BusyInodes, BusyInode, NamesRequest, NamesReply, InodeName);
    use nyala_wire::fragments::{CookieRange, Fragment, FragmentEntry};
    structures!(CookieRange, Fragment, FragmentEntry);
    structures!(MoveRows, MovedRow, ListedFile, FileLock, LockCheck, LockEdge, LockOwner, Returned, Revocation);
    structures!(nyala_wire::walk::WalkAt, nyala_wire::walk::WalkPiece);
    structures!(nyala_wire::access_rules::AccessRule, nyala_wire::access_rules::Subtree);
    structures!(nyala_wire::subtree_proofs::InodeProof, nyala_wire::subtree_proofs::Proven);
    structures!(nyala_wire::storage_grants::StorageGrant);
    structures!(nyala_wire::key_rules::KeyRule, nyala_wire::key_rules::IdRange, nyala_wire::audit::AuditRecord, Caller);
    structures!(FsckNews, Heartbeat, JoinMgmt, MgmtNode, MountAt, Register, RegisterTarget, Registered, StateChange);
    structures!(nyala_wire::raid::RaidMember, nyala_wire::raid::RaidOptions, nyala_wire::raid::RaidRequest);
    structures!(nyala_wire::drive::DriveRequest, nyala_wire::drive::DriveHold, nyala_wire::drive::DriveLook);
    structures!(nyala_wire::raid::RaidScrub, nyala_wire::raid::RaidState);
    structures!(nyala_wire::scrub::ScrubRequest, nyala_wire::scrub::ScrubState, nyala_wire::scrub::ScrubDamage);
}

/// An enum without fields: `0 one · 1 other` in one row.
fn choices<T: Shape>() {
    let rows: Vec<_> = table("Choice").into_iter().filter(|row| row[0] == T::NAME).collect();
    let ours: Vec<String> = T::ROWS.iter().map(|(number, name, _)| format!("{number} {name}")).collect();
    assert_eq!(rows.iter().map(|row| row[1]).collect::<Vec<_>>(), [ours.join(" · ")], "{}", T::NAME);
}

#[test]
fn choices_have_their_numbers() {
    use nyala_wire::map::{CapacityPool, Consistency, MemberState, Placement, Reachability, Role, TargetKind};
    choices::<nyala_wire::FileKind>();
    choices::<nyala_wire::Pattern>();
    choices::<nyala_wire::meta::DelegationMode>();
    choices::<nyala_wire::meta::LockKind>();
    choices::<nyala_wire::meta_tx::Outcome>();
    choices::<Role>();
    choices::<TargetKind>();
    choices::<Reachability>();
    choices::<Consistency>();
    choices::<MemberState>();
    choices::<CapacityPool>();
    choices::<Placement>();
    choices::<nyala_wire::access_rules::Admit>();
    choices::<nyala_wire::storage_grants::StorageRights>();
    choices::<nyala_wire::mgmt::MemberNews>();
    choices::<nyala_wire::mgmt::MgmtRole>();
}

#[test]
fn error_codes_are_all_there() {
    let known = (0..u16::MAX).map(|code| (code.to_string(), ErrorCode(code).to_string()));
    let known: Vec<_> = known.filter(|(_, name)| !name.starts_with("error ")).collect();
    let rows = table("Code");
    let documented: Vec<_> = rows.iter().map(|row| (row[0].to_owned(), row[1].to_owned())).collect();
    assert_eq!(documented, known);
}

#[test]
fn message_types_are_all_there() {
    use nyala_wire::message_type::*;
    let ours = [
        PING,
        STATS,
        METRICS,
        BUSIEST,
        PATH_TEST,
        RELAY,
        TRACE,
        CLOCK,
        LINK_TEST,
        HOST_REPORT,
        META,
        META_TX,
        META_FENCES,
        META_CHECKPOINT,
        META_SCAN,
        META_REPLICA,
        META_LOCATE,
        META_NAMES,
        STORAGE,
        STORAGE_WRITE,
        STORAGE_READ,
        STORAGE_GROUP,
        STORAGE_PROOFS,
        STORAGE_GRANTS,
        STORAGE_REPLICA,
        STORAGE_REPLICAS,
        STORAGE_RAID,
        STORAGE_SCRUB,
        MGMT,
        MGMT_RAFT,
        DRIVE,
    ];
    let rows = table("Type");
    let documented: Vec<u16> =
        rows.iter().map(|row| u16::from_str_radix(row[0].trim_start_matches("0x"), 16).unwrap()).collect();
    assert_eq!(documented, ours);
}
