// SPDX-License-Identifier: Apache-2.0

//! What operators ordered: who, when, what, and what came of it.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// An operator's order, as management keeps it. It was written down before it was carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Grows with every order; not used twice.
    #[n(0)]
    pub number: u64,
    /// When, by the clock of the management node that led, milliseconds since 1970.
    #[n(1)]
    pub at_ms: u64,
    /// The key that proved it.
    #[n(2)]
    pub key: String,
    /// The address that it came from.
    #[n(3)]
    pub host: String,
    /// What was ordered, with its arguments.
    #[n(4)]
    pub what: String,
    /// What came of it: `done`, or why it was refused. Absent: not known (yet); management stopped leading meanwhile.
    #[n(5)]
    pub outcome: Option<String>,
}
