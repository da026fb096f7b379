// SPDX-License-Identifier: Apache-2.0

//! How far a member is with what takes several steps. Each is changed by the file named in its comment.

use super::work::Sent;
use crate::message::{Change, Origin};
use crate::regions::RegionSet;
use nyala_wire::TargetId;
use nyala_wire::storage::ChunkFileId;
use std::collections::{BTreeMap, BTreeSet};

/// A change that was sent to us and is not known to be committed (`follow`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub change: Change,
    pub applied: bool,
    pub origin: Option<Origin>,
}

/// The last commit notice that a member got (`tick`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommitNotice {
    pub committed_below: u64,
    pub times: u32,
    pub at_ms: u64,
}

/// How far a new primary is with its first duty (`recovery`).
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub sent: BTreeMap<TargetId, Sent>,
    pub heard: BTreeSet<TargetId>,
    /// All regions in question.
    pub regions: RegionSet,
    /// Those that are not under way yet; known when all have been heard.
    pub todo: Option<RegionSet>,
    pub copies: usize,
    /// Members are being told which changes are done.
    pub telling: bool,
}

/// The resync of one member (`resync`).
#[derive(Clone, Debug, Default)]
pub(super) struct Resync {
    pub sent: BTreeMap<TargetId, Sent>,
    pub gathered: bool,
    pub todo: RegionSet,
    /// Copies under way.
    pub copying: usize,
    /// Copied, not known to be on its disk.
    pub copied: RegionSet,
    /// The part of it that the sync under way is about.
    pub syncing: Option<RegionSet>,
    pub synced_once: bool,
    pub copied_regions: u64,
    pub began_ms: u64,
    pub listing: Listing,
}

/// How far a member that gets everything is in the list of chunk files (`listing`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Listing {
    /// The last file that was listed.
    pub after: Option<ChunkFileId>,
    pub asked: bool,
    pub ended: bool,
}
