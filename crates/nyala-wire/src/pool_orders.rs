// SPDX-License-Identifier: Apache-2.0

//! What operators order about aliases and storage pools.

use crate::ids::{NodeId, PoolId, TargetId};
use minicbor::{Decode, Encode};

/// An order about aliases or storage pools.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum PoolOrder {
    /// A node gets another alias.
    #[n(0)]
    RenameNode {
        /// The node.
        #[n(0)]
        node: NodeId,
        /// The alias, which no other node has.
        #[n(1)]
        alias: String,
    },
    /// A target gets another alias.
    #[n(1)]
    RenameTarget {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// The alias, which no other target has.
        #[n(1)]
        alias: String,
    },
    /// A storage pool gets another alias.
    #[n(2)]
    RenamePool {
        /// The pool.
        #[n(0)]
        pool: PoolId,
        /// The alias, which no other pool has.
        #[n(1)]
        alias: String,
    },
    /// A new storage pool; one of that alias that exists is left as it is.
    #[n(3)]
    CreatePool {
        /// Its alias.
        #[n(0)]
        alias: String,
    },
    /// A storage pool goes, which has no targets.
    #[n(4)]
    RemovePool {
        /// The pool.
        #[n(0)]
        pool: PoolId,
    },
    /// A storage target moves to a pool. Files that exist stay where they are.
    #[n(5)]
    SetPool {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// The pool.
        #[n(1)]
        pool: PoolId,
    },
}
