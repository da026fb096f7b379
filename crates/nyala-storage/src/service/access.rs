// SPDX-License-Identifier: Apache-2.0

//! Who may ask a storage service for what. Pure: the one place where that is decided; whether a change is let in for its session is
//! looked at after that ([`super::sessions`]).
//!
//! **Failure model.** A peer's role, and the rules of its key, are proven before anything of it is heard; what it says inside a request is
//! not. Every operation is named here, so that a new one cannot be forgotten. A request that a member of a mirror group passes on
//! to the primary was looked at by that member, as what its sender is.

mod grants;
mod recent;
mod subtree;

use grants::ShownGrants;
use nyala_transport::{GrantHolder, KeyRules, Role, Secret};
use nyala_wire::message_type::{
    BUSIEST, STORAGE, STORAGE_GRANTS, STORAGE_GROUP, STORAGE_PROOFS, STORAGE_RAID, STORAGE_READ, STORAGE_REPLICA,
    STORAGE_REPLICAS, STORAGE_SCRUB, STORAGE_WRITE,
};
use nyala_wire::restriction::Restriction;
use nyala_wire::storage::StorageOp;
use nyala_wire::storage_grants::StorageRights;
use nyala_wire::{ClusterId, ErrorCode, InodeId, WireError};
use subtree::ProvenInodes;

/// Who asks, as far as it is proven.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub role: Role,
    pub rules: KeyRules,
    /// The directory that it must not leave.
    pub root: Option<InodeId>,
    /// Its rule is about users: it uses what it has grants of.
    pub users: Option<GrantHolder>,
    /// An access rule does not let it in.
    pub refused: bool,
}

/// What clients have shown to this service.
#[derive(Default)]
pub(super) struct Shown {
    proofs: ProvenInodes,
    grants: ShownGrants,
}

impl Shown {
    /// A client that is kept to a directory shows what lies below it.
    pub fn proofs(&self, by: Asker, body: &[u8], secret: &Secret, cluster: ClusterId) -> Result<(), WireError> {
        by.root.map_or(Ok(()), |root| self.proofs.show(body, root, secret, cluster))
    }

    /// A client whose rule is about users shows what was granted to it.
    pub fn grants(&self, by: Asker, body: &[u8], secret: &Secret, cluster: ClusterId) -> Result<(), WireError> {
        by.users.map_or(Ok(()), |holder| self.grants.show(body, holder, secret, cluster))
    }
}

fn only(allowed: bool, says: &str) -> Result<(), WireError> {
    allowed.then_some(()).ok_or_else(|| ErrorCode::UNAUTHORIZED.with(says))
}

impl Asker {
    /// `rules`: of its key's line in the secret file; `held`: what the map says. Both hold.
    pub fn new(role: Role, mut rules: KeyRules, held: Option<&Restriction>) -> Asker {
        let Some(held) = held else { return Asker { role, rules, root: None, users: None, refused: false } };
        rules.read_only |= held.rule.read_only;
        Asker { role, rules, root: held.root, users: GrantHolder::of(held), refused: held.refused }
    }

    /// May it send such a message? Those that every service knows are for all.
    pub fn message(self, message_type: u16) -> Result<(), WireError> {
        if self.refused {
            return Err(ErrorCode::ACCESS
                .with("an access rule refuses clients with this key from this address; see nyala access list"));
        }
        let data = matches!(self.role, Role::Client | Role::Cli | Role::Meta | Role::Storage);
        match message_type {
            STORAGE | STORAGE_READ | STORAGE_GROUP | STORAGE_PROOFS | STORAGE_GRANTS => {
                only(data, "only clients, metadata and storage services use data")
            }
            STORAGE_WRITE => only(data, "only clients, metadata and storage services use data").and(self.may_write()),
            STORAGE_REPLICA | STORAGE_REPLICAS => {
                only(self.role == Role::Storage, "only members of mirror groups send that")
            }
            STORAGE_RAID => only(self.role == Role::Cli, "only an operator looks after drive sets"),
            STORAGE_SCRUB => only(self.role == Role::Cli, "only an operator looks after scrubs"),
            BUSIEST => {
                only(matches!(self.role, Role::Mgmt | Role::Cli), "only management and operators ask what is busy")
            }
            _ => Ok(()),
        }
    }

    /// May it write?
    pub fn may_write(self) -> Result<(), WireError> {
        match self.rules.read_only && !self.role.is_server() {
            true => Err(ErrorCode::READ_ONLY.with("this client's key is read-only")),
            false => Ok(()),
        }
    }

    /// Whether it has to show something of the files that it uses.
    pub fn shows(self) -> bool {
        self.root.is_some() || self.users.is_some()
    }

    /// May it do that with the chunk files of an inode? `shown`: to this service. A grant says of the directory what a proof says.
    pub fn uses(self, shown: &Shown, inode: InodeId, rights: StorageRights) -> Result<(), WireError> {
        match (self.users, self.root) {
            (Some(holder), _) => shown.grants.check(holder, inode, rights),
            (None, Some(root)) => shown.proofs.check(root, inode),
            (None, None) => Ok(()),
        }
    }

    /// May it have that done to a chunk file?
    pub fn op(self, op: &StorageOp) -> Result<(), WireError> {
        let server = matches!(self.role, Role::Meta | Role::Storage);
        match op {
            StorageOp::Sync | StorageOp::Stat | StorageOp::Seek { .. } | StorageOp::Repair { .. } => Ok(()),
            StorageOp::Truncate { .. }
            | StorageOp::Punch { .. }
            | StorageOp::Copy { .. }
            | StorageOp::Allocate { .. } => self.may_write(),
            StorageOp::Unlink => {
                only(server || self.role == Role::Cli, "only metadata services and operators remove chunk files")
            }
            StorageOp::Fence { .. } => only(self.role == Role::Meta, "only metadata services fence sessions"),
            StorageOp::Walk { .. } => only(self.role == Role::Cli, "only an operator looks through all chunk files"),
            // A client that may use every file empties a target whose disk fails: `evacuator`.
            StorageOp::List { .. } => {
                let empties = self.role == Role::Client && !self.shows() && self.may_write().is_ok();
                only(self.role == Role::Cli || empties, "only an operator lists all chunk files")
            }
        }
    }
}

#[cfg(test)]
mod tests;
