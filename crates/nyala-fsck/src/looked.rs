// SPDX-License-Identifier: Apache-2.0

//! What a pass came to.

use crate::finding::Finding;
use crate::servers::Servers;

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Names.
    pub names: u64,
    /// Inodes.
    pub inodes: u64,
    /// Chunk files.
    pub chunks: u64,
}

/// What a pass came to.
#[derive(Debug, Default)]
pub struct Looked {
    /// Findings, at most as many as were asked for.
    pub findings: Vec<Finding>,
    /// Further ones.
    pub more: u64,
    /// What was looked at.
    pub counts: Counts,
    /// What servers say that is not about inodes.
    pub servers: Servers,
}
