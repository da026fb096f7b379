// SPDX-License-Identifier: Apache-2.0

//! Rules that can be broken on purpose. A simulator that does not notice is no good.

use nyala_replica::{LogRule, Rule};

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutation {
    /// One of the members' protocol.
    Protocol(Rule),
    /// Management gives leases three times as long as it waits.
    LongLease,
    /// Management gives a lease to one whom it is declaring down, and does not tie it to a map.
    LeaseForTheCondemned,
    /// Management does not wait until one who lost a right knows it.
    NoFencing,
    /// Management lets any member return as primary, not only the last good one.
    AnyoneMayReturn,
    /// Management believes a "resynced" of another epoch.
    ResyncedInAnyEpoch,
}

/// A broken rule of metadata groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetaMutation {
    /// One of the members' protocol.
    Protocol(LogRule),
    /// One of management's.
    Mgmt(Mutation),
}

/// The same of metadata groups.
pub const ALL_OF_META: &[(MetaMutation, u64)] = &[
    (MetaMutation::Protocol(LogRule::WaitForAll), 200),
    (MetaMutation::Protocol(LogRule::NeedLease), 400),
    (MetaMutation::Protocol(LogRule::WaitUntilSettled), 400),
    (MetaMutation::Protocol(LogRule::SameHistory), 400),
    (MetaMutation::Protocol(LogRule::ClaimOnlyWhatFollowed), 400),
    (MetaMutation::Protocol(LogRule::RowsInOrder), 400),
    (MetaMutation::Protocol(LogRule::RememberCopy), 400),
    (MetaMutation::Protocol(LogRule::WaitForResynced), 2000),
    (MetaMutation::Protocol(LogRule::SyncEverywhere), 400),
    (MetaMutation::Protocol(LogRule::SyncBeforeGood), 4000),
    (MetaMutation::Mgmt(Mutation::LongLease), 400),
    (MetaMutation::Mgmt(Mutation::NoFencing), 400),
    (MetaMutation::Mgmt(Mutation::AnyoneMayReturn), 400),
    (MetaMutation::Mgmt(Mutation::ResyncedInAnyEpoch), 4000),
];

/// All that the tests try, each with the most seeds that it may take to be caught.
pub const ALL: &[(Mutation, u64)] = &[
    (Mutation::Protocol(Rule::WaitForAll), 100),
    (Mutation::Protocol(Rule::MarkBeforeAnswer), 200),
    (Mutation::Protocol(Rule::RefuseOldEpoch), 400),
    (Mutation::Protocol(Rule::HideUncommitted), 200),
    (Mutation::Protocol(Rule::TrackDirty), 100),
    (Mutation::Protocol(Rule::KeepIntents), 200),
    (Mutation::Protocol(Rule::AgreeFirst), 400),
    (Mutation::Protocol(Rule::NeedLease), 200),
    (Mutation::Protocol(Rule::CopyInTurn), 400),
    (Mutation::Protocol(Rule::DoOnce), 400),
    (Mutation::Protocol(Rule::ChangesInTurn), 200),
    (Mutation::Protocol(Rule::SyncBeforeGood), 4000),
    (Mutation::Protocol(Rule::TellFences), 100),
    (Mutation::LongLease, 400),
    (Mutation::LeaseForTheCondemned, 400),
    (Mutation::NoFencing, 400),
    (Mutation::AnyoneMayReturn, 200),
    (Mutation::ResyncedInAnyEpoch, 600),
];

impl Mutation {
    /// By its name, as `{:?}` prints it.
    pub fn named(name: &str) -> Option<Mutation> {
        ALL.iter().map(|(mutation, _)| *mutation).find(|mutation| format!("{mutation:?}").contains(name))
    }
}
