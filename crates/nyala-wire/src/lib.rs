// SPDX-License-Identifier: Apache-2.0

//! Identifiers, message layouts, codec, error codes and checksums of the Nyala protocol.
//!
//! This crate is pure: no I/O, no clock, no randomness of its own. `docs/protocol.md` shows every byte of what is defined here.

pub mod access_rules;
pub mod attr;
pub mod audit;
pub mod busiest;
pub mod cbor;
pub mod changes;
pub mod check;
pub mod checksum;
pub mod codec;
pub mod drive;
mod drive_effect;
mod drive_look;
pub mod error;
pub mod fences;
pub mod file_kind;
pub mod fragments;
pub mod frame;
pub mod fsck_news;
#[doc(hidden)]
pub mod fuzzing;
pub mod group_orders;
pub mod host_report;
pub mod ids;
pub mod key_rules;
pub mod link_test;
pub mod locate;
pub mod map;
pub mod meta;
pub mod meta_tx;
pub mod mgmt;
mod mgmt_nodes;
pub mod mirror;
pub mod mounts;
pub mod name;
pub mod named_inodes;
pub mod pool_orders;
pub mod raid;
mod raid_options;
pub mod relay;
mod reports;
pub mod restriction;
pub mod rule_checks;
pub mod scrub;
pub mod slot_orders;
pub mod slots;
pub mod splitmix;
pub mod stats;
pub mod storage;
pub mod storage_grants;
pub mod stripe;
pub mod subtree_proofs;
pub mod time;
pub mod trace;
pub mod walk;

pub use attr::Attr;
pub use error::{ErrorCode, WireError};
pub use file_kind::FileKind;
pub use ids::*;
pub use name::Name;
pub use splitmix::SplitMix64;
pub use stripe::{DataLocation, ErasureCode, Layout, Pattern, StripePattern};
pub use time::Time;

/// Message types: the `type` field of a frame header. A reply carries the type of its request.
pub mod message_type {
    /// Client to metadata: body is a [`crate::meta::MetaRequest`].
    pub const META: u16 = 0x0100;
    /// Metadata to metadata: body is a [`crate::meta_tx::TxRequest`].
    pub const META_TX: u16 = 0x0110;
    /// Storage to metadata: body is a [`crate::fences::FencesRequest`].
    pub const META_FENCES: u16 = 0x0120;
    /// To metadata: an empty body, and an empty reply when what was changed so far is in the table on disk, and not only in the
    /// log. It is there by itself within half a minute; measurements do not wait for that.
    pub const META_CHECKPOINT: u16 = 0x0130;
    /// Command line to metadata: body is a [`crate::check::ScanRequest`].
    pub const META_SCAN: u16 = 0x0140;
    /// Between members of a mirror group of metadata targets (`docs/protocol.md`).
    pub const META_REPLICA: u16 = 0x0150;
    /// Management and command line to metadata: body is a [`crate::locate::LocateRequest`], the reply's a [`crate::locate::LocateReply`].
    pub const META_LOCATE: u16 = 0x0160;
    /// Management and command line to metadata: body is a [`crate::busiest::NamesRequest`], the reply's a [`crate::busiest::NamesReply`].
    pub const META_NAMES: u16 = 0x0170;
    /// To storage, everything but bulk data: body is a [`crate::storage::StorageRequest`].
    pub const STORAGE: u16 = 0x0200;
    /// Bulk write: body is a fixed layout, see [`crate::storage::WriteHeader`].
    pub const STORAGE_WRITE: u16 = 0x0201;
    /// Bulk read: body is a fixed layout, see [`crate::storage::ReadHeader`].
    pub const STORAGE_READ: u16 = 0x0202;
    /// To a mirror group: a [`crate::mirror::GroupHeader`], then the body of one of the three above.
    pub const STORAGE_GROUP: u16 = 0x0203;
    /// Between members of a mirror group: a [`crate::mirror::ReplicaHeader`] and what it says.
    pub const STORAGE_REPLICA: u16 = 0x0210;
    /// Several of those, see [`crate::mirror::bundle`].
    pub const STORAGE_REPLICAS: u16 = 0x0211;
    /// Client to storage: body is a list of [`crate::subtree_proofs::InodeProof`], the reply's is empty.
    pub const STORAGE_PROOFS: u16 = 0x0204;
    /// Client to storage: body is a list of [`crate::storage_grants::StorageGrant`], the reply's is empty.
    pub const STORAGE_GRANTS: u16 = 0x0205;
    /// Command line to storage: body is a [`crate::raid::RaidRequest`], the reply's a [`crate::raid::RaidState`].
    pub const STORAGE_RAID: u16 = 0x0220;
    /// Command line to storage: body is a [`crate::scrub::ScrubRequest`], the reply's a [`crate::scrub::ScrubState`].
    pub const STORAGE_SCRUB: u16 = 0x0230;
    /// To management: body is a [`crate::mgmt::MgmtRequest`].
    pub const MGMT: u16 = 0x0300;
    /// Between management nodes: body is a `RaftRequest` of `nyala-mgmt`.
    pub const MGMT_RAFT: u16 = 0x0310;
    /// Storage to a drive service: body is a [`crate::drive::DriveRequest`], the reply's a [`crate::drive::DriveReply`].
    pub const DRIVE: u16 = 0x0400;
    /// Any service: an empty body; the reply is empty too. Proves that a service is there and answers.
    pub const PING: u16 = 0x0001;
    /// Any service: an empty body; the reply is a [`crate::mgmt::ServiceStats`].
    pub const STATS: u16 = 0x0002;
    /// Any service: an empty body; the reply's payload is its page of metrics, OpenMetrics text (`docs/metrics.md`).
    pub const METRICS: u16 = 0x0003;
    /// Command line and management to metadata and storage: body is a [`crate::busiest::BusiestRequest`], the reply's a
    /// [`crate::busiest::BusiestReply`].
    pub const BUSIEST: u16 = 0x0004;
    /// Any service, answered by its connection layer: an empty body and a payload of at most
    /// [`crate::relay::MAX_PATH_TEST`] bytes, which comes back. Proves that packets of full size go both ways.
    pub const PATH_TEST: u16 = 0x0010;
    /// Any service, answered by its connection layer: body is a [`crate::relay::RelayRequest`]. After an empty reply the
    /// connection is one to the server that the request names.
    pub const RELAY: u16 = 0x0011;
    /// Any service, answered by its connection layer: body is a [`crate::trace::TraceRequest`], the reply a
    /// [`crate::trace::TraceReply`].
    pub const TRACE: u16 = 0x0012;
    /// Any service, answered by its connection layer: an empty body; the reply is a [`crate::Time`], what the clock of its host says.
    pub const CLOCK: u16 = 0x0013;
    /// Command line to any service, answered by its connection layer: body is a [`crate::link_test::LinkTestRequest`], the reply a
    /// [`crate::link_test::LinkTestReply`].
    pub const LINK_TEST: u16 = 0x0014;
    /// Command line to any service, answered by its connection layer: body is a [`crate::host_report::HostReportRequest`], the reply a
    /// [`crate::host_report::HostReportReply`], with a piece of a report as its payload.
    pub const HOST_REPORT: u16 = 0x0015;
}
