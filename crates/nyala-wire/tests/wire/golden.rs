// SPDX-License-Identifier: Apache-2.0

//! Every operation and reply, byte by byte, as it was when it was first released.

use crate::shapes::Variants;
use crate::tape::{Sample, Tape};
use minicbor::Encode;
use nyala_wire::busiest::{BusiestReply, BusiestRequest, NamesReply, NamesRequest};
use nyala_wire::check::{Fact, ScanReply, ScanRequest, ServerFact};
use nyala_wire::codec::{decode, encode};
use nyala_wire::drive::{DriveEffect, DriveOrder, DriveReply, DriveRequest};
use nyala_wire::host_report::{HostReportReply, HostReportRequest};
use nyala_wire::link_test::{LinkTestReply, LinkTestRequest};
use nyala_wire::locate::{LocateReply, LocateRequest};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{FragmentRepair, MetaOp, MetaReply, MetaRequest, PutOutcome, Repair, ServerRepair, SetTime};
use nyala_wire::meta_tx::{PartResult, TxAction, TxPart, TxReply, TxRequest};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, ServiceStats};
use nyala_wire::raid::{RaidOrder, RaidRequest, RaidState};
use nyala_wire::scrub::{ScrubRequest, ScrubState};
use nyala_wire::storage::{StorageOp, StorageReply, StorageRequest};
use nyala_wire::subtree_proofs::Proven;
use nyala_wire::trace::{MountTrace, TraceReply, TraceRequest};
use nyala_wire::{Attr, Layout, WireError};
use std::fmt::Write;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn variants<T: Variants + Encode<()>>(out: &mut String) {
    for (number, name, _) in T::ROWS {
        let bytes = encode(&T::make(*number, &mut Tape::Counting(0)));
        writeln!(out, "{}.{number}.{name} {}", T::NAME, hex(&bytes)).unwrap();
    }
}

fn structure<T: crate::shapes::Shape + Sample + Encode<()>>(out: &mut String) {
    writeln!(out, "{} {}", T::NAME, hex(&encode(&Tape::Counting(0).take::<T>()))).unwrap();
}

#[test]
fn messages_stay_as_they_are() {
    let mut now = String::new();
    structure::<Attr>(&mut now);
    structure::<Layout>(&mut now);
    structure::<ClusterMap>(&mut now);
    structure::<ServiceStats>(&mut now);
    structure::<TraceRequest>(&mut now);
    structure::<TraceReply>(&mut now);
    structure::<MountTrace>(&mut now);
    structure::<LinkTestRequest>(&mut now);
    structure::<LinkTestReply>(&mut now);
    variants::<HostReportRequest>(&mut now);
    structure::<HostReportReply>(&mut now);
    structure::<WireError>(&mut now);
    structure::<MetaRequest>(&mut now);
    variants::<MetaOp>(&mut now);
    variants::<SetTime>(&mut now);
    variants::<MetaReply>(&mut now);
    structure::<TxRequest>(&mut now);
    variants::<TxAction>(&mut now);
    variants::<TxPart>(&mut now);
    variants::<TxReply>(&mut now);
    variants::<PutOutcome>(&mut now);
    variants::<Repair>(&mut now);
    variants::<ServerRepair>(&mut now);
    variants::<FragmentRepair>(&mut now);
    structure::<ScanRequest>(&mut now);
    structure::<ScanReply>(&mut now);
    structure::<LocateRequest>(&mut now);
    structure::<LocateReply>(&mut now);
    structure::<BusiestRequest>(&mut now);
    structure::<BusiestReply>(&mut now);
    structure::<NamesRequest>(&mut now);
    structure::<NamesReply>(&mut now);
    variants::<Fact>(&mut now);
    variants::<ServerFact>(&mut now);
    variants::<PartResult>(&mut now);
    structure::<StorageRequest>(&mut now);
    variants::<StorageOp>(&mut now);
    variants::<StorageReply>(&mut now);
    structure::<RaidRequest>(&mut now);
    variants::<RaidOrder>(&mut now);
    structure::<DriveRequest>(&mut now);
    variants::<DriveOrder>(&mut now);
    variants::<DriveEffect>(&mut now);
    variants::<DriveReply>(&mut now);
    structure::<RaidState>(&mut now);
    structure::<ScrubRequest>(&mut now);
    structure::<ScrubState>(&mut now);
    variants::<MgmtRequest>(&mut now);
    variants::<MgmtReply>(&mut now);
    structure::<Proven>(&mut now);
    let pinned = include_str!("golden.txt");
    let changed: Vec<_> = now.lines().filter(|line| !pinned.lines().any(|pinned| pinned == *line)).collect();
    let gone: Vec<_> = pinned.lines().filter(|line| !now.lines().any(|now| now == *line)).collect();
    if now != pinned {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/golden.txt");
        std::fs::write(path, &now).unwrap();
        panic!(
            "the protocol has changed. Only an optional field at the end, or a new variant, may be added without a new \
             PROTOCOL_VERSION; if that is so, take over {path}.\nnow: {changed:#?}\npinned: {gone:#?}"
        );
    }
}

/// A heartbeat and a map as builds sent them that knew nothing of disks that fail.
#[test]
fn older_heartbeats_and_maps_are_read() {
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    let beat: MgmtRequest = decode(&bytes("82028184010203828304840506070809830a840b0c0d0e0f")).unwrap();
    let MgmtRequest::Heartbeat(beat) = beat else { panic!("{beat:?}") };
    let said: Vec<_> = beat.capacities.iter().map(|one| (one.inodes.is_some(), one.data_bytes, one.errors)).collect();
    assert_eq!(said, [(true, None, None), (true, None, None)]);
    let now = ClusterMap::default();
    let mut older = encode(&now);
    assert_eq!((older[0], older.pop()), (0x8e, Some(0x80)), "14 fields, the last one an empty list");
    older[0] = 0x8d;
    assert_eq!(decode::<ClusterMap>(&older), Ok(now));
}
