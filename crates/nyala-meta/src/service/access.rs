// SPDX-License-Identifier: Apache-2.0

//! Who may ask a metadata service for what. Pure: the one place where that is decided.
//!
//! **Failure model.** A peer's role, and the rules of its key, are proven before anything of it is heard; what it says inside a request is
//! not. A new operation that changes something is refused to read-only keys until this says otherwise. What a client says that it had been
//! answered before a power cut ([`MetaOp::Replay`]) is held to the same rules as what it asks now.

pub(super) mod ids;
pub(super) mod shown_ids;
pub(super) mod storage_grants;
pub(super) mod subtree;

use nyala_transport::{KeyRules, Role};
use nyala_wire::message_type::{
    BUSIEST, META, META_CHECKPOINT, META_FENCES, META_LOCATE, META_NAMES, META_REPLICA, META_SCAN, META_TX,
};
use nyala_wire::meta::{MetaOp, MetaRequest};
use nyala_wire::restriction::Restriction;
use nyala_wire::{ErrorCode, WireError, codec};

fn only(allowed: bool, says: &str) -> Result<(), WireError> {
    allowed.then_some(()).ok_or_else(|| ErrorCode::UNAUTHORIZED.with(says))
}

/// May this peer send such a message? Those that every service knows are for all.
pub(super) fn message(role: Role, message_type: u16) -> Result<(), WireError> {
    match message_type {
        META => only(matches!(role, Role::Client | Role::Cli), "only clients and operators have sessions"),
        META_TX => only(role == Role::Meta, "only metadata services take part in transactions"),
        META_FENCES => only(role == Role::Storage, "only storage services ask whom to fence"),
        META_REPLICA => only(role == Role::Meta, "only metadata services are members of mirror groups"),
        META_SCAN => only(matches!(role, Role::Cli | Role::Storage), "only an operator checks the tables"),
        META_CHECKPOINT => only(role == Role::Cli, "only an operator orders checkpoints"),
        META_LOCATE | META_NAMES => only(
            matches!(role, Role::Mgmt | Role::Cli),
            "only management and operators ask about entries without a session",
        ),
        BUSIEST => only(matches!(role, Role::Mgmt | Role::Cli), "only management and operators ask what is busy"),
        _ => Ok(()),
    }
}

/// Is a client let in that is held to this?
pub(super) fn admitted(held: Option<&Restriction>) -> Result<(), WireError> {
    match held.is_some_and(|held| held.refused) {
        true => Err(ErrorCode::ACCESS
            .with("an access rule refuses clients with this key from this address; see nyala access list")),
        false => Ok(()),
    }
}

/// May this client ask that, with a key of these rules?
pub(super) fn request(role: Role, rules: KeyRules, request: &MetaRequest) -> Result<(), WireError> {
    if matches!(request.op, MetaOp::Repair(_)) {
        only(role == Role::Cli, "only an operator repairs what a check found")?;
    }
    if let MetaOp::Replay(replay) = &request.op {
        for change in &replay.changes {
            let again: MetaRequest = codec::decode(&change.request)?;
            // One within the other is refused by the server; here it must not nest.
            if !matches!(again.op, MetaOp::Replay(_)) {
                self::request(role, rules, &again)?;
            }
        }
    }
    match rules.read_only && is_write(&request.op) {
        true => Err(ErrorCode::READ_ONLY.with("this client's key is read-only")),
        false => Ok(()),
    }
}

/// Whether it changes what others see of the file system, rather than what a client holds of it.
pub(super) fn is_write(op: &MetaOp) -> bool {
    let holds =
        matches!(op, MetaOp::Open { .. } | MetaOp::Close { .. } | MetaOp::SetLock { .. } | MetaOp::SessionAdopt(_));
    (op.is_change() || matches!(op, MetaOp::MergeDir(_))) && !holds
}

#[cfg(test)]
mod tests;
