// SPDX-License-Identifier: Apache-2.0

//! Whose disk it is that something is said of.

use nyala_wire::TargetId;

/// Whose disk it is: a target's, or that of the service's own directory, which a management node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// The service's own.
    Service,
    /// A target's.
    Target(TargetId),
}

impl Whose {
    pub(super) fn parse(word: &str) -> Option<Whose> {
        if word == "own" { Some(Whose::Service) } else { word.parse().ok().map(|id| Whose::Target(TargetId(id))) }
    }
}
