// SPDX-License-Identifier: Apache-2.0

//! What a finding is.

use nyala_wire::{GroupId, NodeId, TargetId};
use serde::Serialize;

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
