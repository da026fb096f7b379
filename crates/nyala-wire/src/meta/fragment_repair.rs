// SPDX-License-Identifier: Apache-2.0

//! Repairs of fragments of directories that are split.

use crate::fragments::CookieRange;
use crate::ids::InodeId;
use minicbor::{Decode, Encode};

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FragmentRepair {
    /// Remove a fragment that its directory does not have. Names in it become names without a directory.
    #[n(0)]
    Remove(#[n(0)] InodeId),
    /// Make a fragment that its directory has and that does not exist, without names.
    #[n(1)]
    Make {
        /// The fragment.
        #[n(0)]
        inode: InodeId,
        /// The directory.
        #[n(1)]
        dir: InodeId,
        /// Its cookies.
        #[n(2)]
        range: CookieRange,
    },
}

impl FragmentRepair {
    /// The fragment.
    pub fn inode(&self) -> InodeId {
        match self {
            FragmentRepair::Remove(inode) | FragmentRepair::Make { inode, .. } => *inode,
        }
    }
}
