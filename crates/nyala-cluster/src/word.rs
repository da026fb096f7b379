// SPDX-License-Identifier: Apache-2.0

//! States in the words that commands, the REST API and the page use.

use nyala_wire::map::{CapacityPool, Consistency, MemberState, Reachability, Role, TargetKind};

/// A state that has a word, the same as in JSON.
pub trait Word {
    /// The word.
    fn word(&self) -> &'static str;
}

impl Word for Role {
    fn word(&self) -> &'static str {
        match self {
            Role::Mgmt => "mgmt",
            Role::Meta => "meta",
            Role::Storage => "storage",
            Role::Client => "client",
        }
    }
}

impl Word for TargetKind {
    fn word(&self) -> &'static str {
        match self {
            TargetKind::Meta => "meta",
            TargetKind::Storage => "storage",
        }
    }
}

impl Word for Reachability {
    fn word(&self) -> &'static str {
        match self {
            Reachability::Online => "online",
            Reachability::ProbablyOffline => "probably-offline",
            Reachability::Offline => "offline",
        }
    }
}

impl Word for Consistency {
    fn word(&self) -> &'static str {
        match self {
            Consistency::Good => "good",
            Consistency::NeedsResync => "needs-resync",
            Consistency::Bad => "bad",
        }
    }
}

impl Word for CapacityPool {
    fn word(&self) -> &'static str {
        match self {
            CapacityPool::Normal => "normal",
            CapacityPool::Low => "low",
            CapacityPool::Emergency => "emergency",
        }
    }
}

impl Word for MemberState {
    fn word(&self) -> &'static str {
        match self {
            MemberState::Good => "good",
            MemberState::NeedsResync => "needs-resync",
            MemberState::Resyncing => "resyncing",
            MemberState::Bad => "bad",
        }
    }
}
