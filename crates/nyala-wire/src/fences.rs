// SPDX-License-Identifier: Apache-2.0

//! What a storage service asks a metadata service before it serves again: which sessions were fenced while a target of its own
//! was offline.

use crate::ids::{SessionId, TargetId};
use minicbor::{Decode, Encode};

/// Most sessions in one reply.
pub const MAX_FENCES: usize = 4096;

/// Which sessions is this storage target to fence that it has not confirmed? The frame's map version is one in which the target
/// is not offline; it is answered only under that map or a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct FencesRequest {
    /// The target.
    #[n(0)]
    pub target: TargetId,
    /// Only sessions with larger ids; 0 at first.
    #[n(1)]
    pub above: SessionId,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct FencesReply {
    /// In the order of their ids, at most [`MAX_FENCES`]; as many if there may be more.
    #[n(0)]
    pub sessions: Vec<SessionId>,
}
