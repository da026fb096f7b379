// SPDX-License-Identifier: Apache-2.0

//! Storage targets whose disks fail.

use crate::ids::TargetId;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// A storage target that has found so many errors of its own disk that its data is moved to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct FailingTarget {
    /// The target.
    #[n(0)]
    pub target: TargetId,
    /// Errors that it had found when it was called failing, since it was made.
    #[n(1)]
    pub errors: u64,
    /// The target that takes its place in its mirror group.
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<TargetId>,
}
