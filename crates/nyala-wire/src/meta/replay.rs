// SPDX-License-Identifier: Apache-2.0

//! What a client sends to a metadata server that came back, perhaps without the end of its log.

use crate::ids::InodeId;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// Changes of one session that a server acknowledged, for it to do those again that a power cut took back.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Replay {
    /// The changes, of which a message may carry as many as its body holds.
    #[n(0)]
    pub changes: Vec<Acknowledged>,
    /// There are no more: the reply comes when all are done, those of other clients included, and are on disk.
    #[n(1)]
    pub last: bool,
    /// Files of this server that the client has open: those that are made again count as open from the beginning, as it may have said
    /// so only when it returned a delegation.
    #[n(2)]
    pub open: Vec<InodeId>,
    /// The run of the server that it is said to, as the frames of its replies name it. What was sent to another run is refused: a last message
    /// that arrives at a run which has not had the others would pass for all there is. Absent: a client that does not say.
    #[n(3)]
    pub run: Option<u32>,
}

/// A change that a server acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Acknowledged {
    /// Position of its record in the server's log. The changes of all clients are done again in this order.
    #[n(0)]
    pub position: u64,
    /// The request: an encoded [`super::MetaRequest`].
    #[n(1)]
    pub request: ByteVec,
    /// Its reply: an encoded [`super::MetaReply`]. What was made then is made again under the same inode number, with the same layout.
    #[n(2)]
    pub reply: ByteVec,
}
