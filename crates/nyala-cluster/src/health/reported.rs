// SPDX-License-Identifier: Apache-2.0

//! What services report of others: clients that do not answer, and ways between servers that fail.

use crate::word::Word;
use nyala_wire::NodeId;
use nyala_wire::map::Node;
use nyala_wire::mgmt::{LinkReport, RecallReport, ServiceStats};

/// What a service said of others when it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// The service.
    pub by: NodeId,
    /// Of a metadata service: clients that do not let go.
    pub recalls: Option<RecallReport>,
    /// Ways to other servers.
    pub links: Option<LinkReport>,
}

impl Reported {
    /// Out of what a service says of itself.
    pub fn among(by: NodeId, stats: &ServiceStats) -> Reported {
        Reported { by, recalls: stats.recalls.clone(), links: stats.links.clone() }
    }
}

/// A node as findings name it.
pub(super) fn name(node: &Node) -> String {
    format!("{} node {} [ID: {}]", node.role.word(), node.alias, node.id)
}
