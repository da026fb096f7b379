// SPDX-License-Identifier: Apache-2.0

//! Who may ask a storage service for what. Pure: the one place where that is decided; whether a change is let in for its session is
//! looked at after that ([`super::sessions`]).
//!
//! **Failure model.** A peer's role, and the rules of its key, are proven before anything of it is heard; what it says inside a request is
//! not. Every operation is named here, so that a new one cannot be forgotten. A request that a member of a mirror group passes on
//! to the primary was looked at by that member, as what its sender is.

pub(super) mod subtree;

use nyala_transport::{KeyRules, Role};
use nyala_wire::message_type::{
    STORAGE, STORAGE_GROUP, STORAGE_PROOFS, STORAGE_RAID, STORAGE_READ, STORAGE_REPLICA, STORAGE_REPLICAS,
    STORAGE_SCRUB, STORAGE_WRITE,
};
use nyala_wire::storage::StorageOp;
use nyala_wire::{ErrorCode, InodeId, WireError};
use subtree::ProvenInodes;

/// Who asks, as far as it is proven.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub role: Role,
    pub rules: KeyRules,
    /// The directory that it must not leave.
    pub root: Option<InodeId>,
    /// An access rule does not let it in.
    pub refused: bool,
}

fn only(allowed: bool, says: &str) -> Result<(), WireError> {
    allowed.then_some(()).ok_or_else(|| ErrorCode::UNAUTHORIZED.with(says))
}

impl Asker {
    /// May it send such a message? Those that every service knows are for all.
    pub fn message(self, message_type: u16) -> Result<(), WireError> {
        if self.refused {
            return Err(ErrorCode::ACCESS
                .with("an access rule refuses clients with this key from this address; see nyala access list"));
        }
        let data = matches!(self.role, Role::Client | Role::Cli | Role::Meta | Role::Storage);
        match message_type {
            STORAGE | STORAGE_READ | STORAGE_GROUP | STORAGE_PROOFS => {
                only(data, "only clients, metadata and storage services use data")
            }
            STORAGE_WRITE => only(data, "only clients, metadata and storage services use data").and(self.writes()),
            STORAGE_REPLICA | STORAGE_REPLICAS => {
                only(self.role == Role::Storage, "only members of mirror groups send that")
            }
            STORAGE_RAID => only(self.role == Role::Cli, "only an operator looks after drive sets"),
            STORAGE_SCRUB => only(self.role == Role::Cli, "only an operator looks after scrubs"),
            _ => Ok(()),
        }
    }

    /// May it write?
    pub fn writes(self) -> Result<(), WireError> {
        match self.rules.read_only && !self.role.is_server() {
            true => Err(ErrorCode::READ_ONLY.with("this client's key is read-only")),
            false => Ok(()),
        }
    }

    /// May it use the chunk files of an inode? `proven`: what was shown to this service.
    pub fn uses(self, proven: &ProvenInodes, inode: InodeId) -> Result<(), WireError> {
        self.root.map_or(Ok(()), |root| proven.check(root, inode))
    }

    /// May it have that done to a chunk file?
    pub fn op(self, op: &StorageOp) -> Result<(), WireError> {
        let server = matches!(self.role, Role::Meta | Role::Storage);
        match op {
            StorageOp::Sync | StorageOp::Stat | StorageOp::Seek { .. } | StorageOp::Repair { .. } => Ok(()),
            StorageOp::Truncate { .. }
            | StorageOp::Punch { .. }
            | StorageOp::Copy { .. }
            | StorageOp::Allocate { .. } => self.writes(),
            StorageOp::Unlink => {
                only(server || self.role == Role::Cli, "only metadata services and operators remove chunk files")
            }
            StorageOp::Fence { .. } => only(self.role == Role::Meta, "only metadata services fence sessions"),
            StorageOp::Walk { .. } | StorageOp::List { .. } => {
                only(self.role == Role::Cli, "only an operator looks through all chunk files")
            }
        }
    }
}

#[cfg(test)]
mod tests;
