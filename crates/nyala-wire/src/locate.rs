// SPDX-License-Identifier: Apache-2.0

//! Where an entry and its data are, asked by management for its web page: without a session, one step of a path at a time.

use crate::ids::InodeId;
use crate::meta::EntryInfo;
use crate::name::Name;
use minicbor::{Decode, Encode};

/// Asks the metadata server of an inode.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LocateRequest {
    /// The inode; with a name, the directory, or the fragment of it that has the names with that cookie ([`crate::fragments`]).
    #[n(0)]
    pub inode: InodeId,
    /// Of this name only the inode is asked for; absent: all about the inode itself.
    #[n(1)]
    pub name: Option<Name>,
}

/// The answer: one of the two. What does not exist is an error: `ESTALE` for an inode, `ENOENT` for a name.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LocateReply {
    /// The inode that the name stands for.
    #[n(0)]
    pub entry: Option<InodeId>,
    /// Where the inode and its data are, as its server knows it: a client that writes may know more of its size.
    #[n(1)]
    pub info: Option<EntryInfo>,
}
