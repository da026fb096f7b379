// SPDX-License-Identifier: Apache-2.0

//! What a finding is, and what nodes are asked for.

use nyala_wire::{GroupId, NodeId, TargetId};
use serde::Serialize;
use std::collections::BTreeMap;

/// How bad it is. In order, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Some files can be neither read nor written, or none can be made.
    Down,
    /// Everything works; one more failure may be one too many, or space runs out.
    Degraded,
    /// Something mends itself.
    Notice,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum About {
    /// The whole cluster.
    Cluster,
    /// A node.
    Node(NodeId),
    /// A target.
    Target(TargetId),
    /// A mirror group.
    Group(GroupId),
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub about: About,
    /// What is wrong, a sentence.
    pub what: String,
    /// What to do about it, a sentence.
    pub advice: String,
}

/// What came of asking a node itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The node.
    pub node: NodeId,
    /// Why it did not answer, if it did not.
    pub failed: Option<String>,
    /// Blocks that it found not to match their checksum, if it said so.
    pub checksum_errors: Option<u64>,
    /// How the scrubs of its targets are, if it said so.
    pub scrubs: Vec<TargetScrub>,
}

/// How the scrub of a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetScrub {
    /// The target.
    pub target: TargetId,
    /// Bytes that are known to be damaged, and could not be repaired.
    pub damaged_bytes: u64,
    /// No whole scrub has ended in three intervals.
    pub late: bool,
}

impl TargetScrub {
    /// Out of the counters of a storage service, whose names are `scrub.TARGET.damaged_bytes` and `scrub.TARGET.late`.
    pub fn among(counters: &[(String, u64)]) -> Vec<TargetScrub> {
        let mut found = BTreeMap::new();
        for (name, value) in counters {
            let mut parts = name.split('.');
            let (Some("scrub"), Some(target), Some(what), None) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let Ok(target) = target.parse().map(TargetId) else { continue };
            let scrub = found.entry(target).or_insert(TargetScrub { target, damaged_bytes: 0, late: false });
            match what {
                "damaged_bytes" => scrub.damaged_bytes = *value,
                "late" => scrub.late = *value != 0,
                _ => {}
            }
        }
        found.into_values().collect()
    }
}
