// SPDX-License-Identifier: Apache-2.0

//! Why a set cannot do what it was asked.

use nyala_raid::assemble::AssembleError;
use nyala_raid::{GeometryError, StripeError};
use nyala_store::StoreError;
use std::io;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// A drive's directory cannot be used.
    #[error("{location} cannot be used as a drive: {error}")]
    Directory {
        /// The directory.
        location: String,
        /// Why.
        error: io::Error,
    },
    /// A drive's directory has something in it.
    #[error(
        "{location} is not empty: a new drive needs an empty directory; if it has a drive of a set that is not needed any more, or the rest of one: nyala raid delete {location}"
    )]
    NotEmpty {
        /// The directory.
        location: String,
    },
    /// Another set has taken the directory for a drive of its own.
    #[error("{location} was taken by another set")]
    Claimed {
        /// The directory.
        location: String,
    },
    /// Which set has taken a directory for a drive of its own cannot be known.
    #[error("which set has taken {location} cannot be read: {error}")]
    Claim {
        /// The directory.
        location: String,
        /// Why.
        error: io::Error,
    },
    /// The drive is going with its set.
    #[error("the drive {location} is being deleted with its set: end that with nyala raid delete")]
    Deleted {
        /// The directory.
        location: String,
    },
    /// What a set has in a directory cannot be removed.
    #[error("what a set has in {location} cannot be removed: {error}")]
    Deletion {
        /// The directory.
        location: String,
        /// Why.
        error: io::Error,
    },
    /// A drive's table cannot be used.
    #[error("the table of the drive {location} cannot be used: {error}")]
    Table {
        /// The directory.
        location: String,
        /// Why.
        error: StoreError,
    },
    /// A drive's table cannot be read; the log says why.
    #[error("the drive {location} cannot be read")]
    Unreadable {
        /// Where it is.
        location: String,
    },
    /// Somebody else has opened the set.
    #[error("another service has taken the set over: it has stopped here")]
    Taken,
    /// There is no such set.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// The drives do not make a set.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// A stripe cannot be read or written.
    #[error(transparent)]
    Stripe(#[from] StripeError),
    /// Too many drives failed while the set was running.
    #[error(
        "the set has stopped: group {group} has lost more drives than it can do without; bring them back and start it again"
    )]
    Stopped {
        /// The group.
        group: usize,
    },
    /// A set has no whole list of files.
    #[error(
        "the set has no readable list of its files; it was never made a target, or more was lost than its level allows"
    )]
    NoDirectory,
    /// The list of files is full.
    #[error("the set has too many files of its own")]
    TooManyFiles,
    /// Its files cannot be made durable.
    #[error("the files of the set cannot be synced: {0}")]
    Files(io::Error),
    /// There is no such member, or it cannot be replaced now.
    #[error("member {member} cannot be replaced: {why}")]
    Replace {
        /// Number of the member.
        member: usize,
        /// Why.
        why: &'static str,
    },
    /// A drive cannot come back.
    #[error("the drive {location} cannot come back to its set: {why}")]
    Return {
        /// The directory.
        location: String,
        /// Why.
        why: &'static str,
    },
    /// As many drives as members are needed.
    #[error("{wanted} drives are needed, {given} were given")]
    Drives {
        /// Members.
        wanted: usize,
        /// Drives given.
        given: usize,
    },
}

impl SetError {
    /// Somebody else is at work on the drive.
    pub fn is_locked(&self) -> bool {
        matches!(self, SetError::Table { error: StoreError::Locked { .. }, .. })
    }
}
