// SPDX-License-Identifier: Apache-2.0

//! Checks of the file system, as management knows them.

/// A check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// When it began, milliseconds since 1970.
    pub began_ms: u64,
    /// The command.
    pub what: String,
    /// Where it was given.
    pub host: String,
    /// How far it is.
    pub state: CheckState,
}

/// How far a check is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckState {
    /// It goes on: what it is doing.
    GoesOn(String),
    /// What came of it.
    Over(String),
    /// Nothing is heard of it here.
    Unknown {
        /// This node leads, so that it would have.
        leads: bool,
    },
}
