// SPDX-License-Identifier: Apache-2.0

//! Who may do what.

/// Who has shown which token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub access: Access,
    /// What the audit log calls it: the file's name, or for whom it was issued.
    pub name: String,
    /// When it ends, seconds since 1970; the tokens of the files do not.
    pub ends_s: Option<u64>,
}

/// What somebody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Look.
    View,
    /// Look, and change things.
    Admin,
}
