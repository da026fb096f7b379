// SPDX-License-Identifier: Apache-2.0

//! Rules that the simulator can break on purpose, one at a time, to show that it notices. The feature `mutations`
//! is one of the package `nyala-replica-breakable` alone, which builds this code a second time for the simulator: here no rule
//! can be broken, and the checks are gone from the code.

/// A rule of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The primary answers only when all acting members have the change.
    WaitForAll,
    /// A silent member is marked by management before the primary answers without it.
    MarkBeforeAnswer,
    /// Messages of an old epoch are refused.
    RefuseOldEpoch,
    /// A member does not serve what may not be committed.
    HideUncommitted,
    /// Regions that change without a member are remembered.
    TrackDirty,
    /// Intents outlive a crash.
    KeepIntents,
    /// A new primary brings what was in flight to agreement before it serves.
    AgreeFirst,
    /// Only a lease lets a member serve.
    NeedLease,
    /// Copies take turns with changes.
    CopyInTurn,
    /// A request that comes twice is done once.
    DoOnce,
    /// Overlapping changes go one after the other.
    ChangesInTurn,
    /// A member counts as resynced only when what was copied is on its disk.
    SyncBeforeGood,
    /// A new primary, and a resync, tell others which sessions are fenced.
    TellFences,
}

/// A rule of the protocol of metadata groups ([`crate::log`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogRule {
    /// The primary answers only when all good members have the record.
    WaitForAll,
    /// Only a lease lets a primary serve.
    NeedLease,
    /// The primary answers only once everybody who lost a right knows it.
    WaitUntilSettled,
    /// Records are taken only behind ones that are the primary's.
    SameHistory,
    /// A part of a copy is put in place as of the record that it was read at.
    RowsInOrder,
    /// A copy that was interrupted counts for nothing.
    RememberCopy,
    /// Nothing is answered for without a member that management may already call good.
    WaitForResynced,
    /// On disk is what is on disk at every good member.
    SyncEverywhere,
    /// A member is good only once it has on its disk what was said to be on disk.
    SyncBeforeGood,
    /// A new primary says that nothing is lost only if it has followed the one before, in its term, since this process began.
    ClaimOnlyWhatFollowed,
}

/// Whether `rule` is broken here.
#[cfg(feature = "mutations")]
pub(crate) fn log_broken(broken: Option<LogRule>, rule: LogRule) -> bool {
    broken == Some(rule)
}

/// No rule is broken in what ships.
#[cfg(not(feature = "mutations"))]
pub(crate) const fn log_broken(_: Option<LogRule>, _: LogRule) -> bool {
    false
}

/// Whether `rule` is broken here.
#[cfg(feature = "mutations")]
pub(crate) fn broken(broken: Option<Rule>, rule: Rule) -> bool {
    broken == Some(rule)
}

/// No rule is broken in what ships.
#[cfg(not(feature = "mutations"))]
pub(crate) const fn broken(_: Option<Rule>, _: Rule) -> bool {
    false
}
