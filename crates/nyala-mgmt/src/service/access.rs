// SPDX-License-Identifier: Apache-2.0

//! Who may ask management for what. Pure: the one place where that is decided.
//!
//! **Failure model.** A peer's role is proven by its key before anything of it is heard; what it says inside a request is not. Every
//! message is named here, so that a new one cannot be forgotten.

use nyala_transport::Role;
use nyala_wire::map::Role as NodeRole;
use nyala_wire::{ErrorCode, WireError, mgmt::MgmtRequest};

fn only(allowed: bool, says: &str) -> Result<(), WireError> {
    allowed.then_some(()).ok_or_else(|| ErrorCode::UNAUTHORIZED.with(says))
}

/// May this peer speak Raft?
pub(super) fn raft(role: Role) -> Result<(), WireError> {
    only(role == Role::Mgmt, "only management nodes speak Raft")
}

/// May this peer ask that?
pub(super) fn request(role: Role, request: &MgmtRequest) -> Result<(), WireError> {
    let serves = matches!(role, Role::Meta | Role::Storage);
    match request {
        MgmtRequest::WatchMap { .. } | MgmtRequest::Capacities | MgmtRequest::MgmtNodes => Ok(()),
        MgmtRequest::Refused { .. } => {
            only(!matches!(role, Role::Mon | Role::Other), "only clients and services say who refused them")
        }
        MgmtRequest::Register(register) => {
            let fits = match register.role {
                NodeRole::Meta => role == Role::Meta,
                NodeRole::Storage => role == Role::Storage,
                NodeRole::Mgmt | NodeRole::Client => false,
            };
            only(fits, "only a metadata or storage service registers, as what it is")
        }
        MgmtRequest::Heartbeat(_) | MgmtRequest::Goodbye { .. } => {
            only(serves, "only metadata and storage services hold leases")
        }
        MgmtRequest::Member { .. } => only(serves, "only members of mirror groups say what became of others"),
        MgmtRequest::TakeRange { .. } => only(role == Role::Meta, "only metadata services give out inode numbers"),
        MgmtRequest::JoinMgmt(_) => {
            only(role == Role::Mgmt, "only management nodes and operators change the management nodes")
        }
        MgmtRequest::RemoveMgmt { .. } => only(
            matches!(role, Role::Mgmt | Role::Cli),
            "only management nodes and operators change the management nodes",
        ),
        MgmtRequest::AdoptMgmt { .. } => {
            only(role == Role::Cli, "only management nodes and operators change the management nodes")
        }
        MgmtRequest::Groups(_) => {
            only(role == Role::Cli, "only operators change mirror groups, targets, nodes and pools")
        }
        MgmtRequest::AnnounceMount(_) => only(role == Role::Client, "only mounts say where they serve metrics"),
        MgmtRequest::Mounts => Ok(()),
        MgmtRequest::Changes => only(
            matches!(role, Role::Mgmt | Role::Mon | Role::Cli),
            "only operators, management and monitoring read the cluster's history",
        ),
        MgmtRequest::SlotStep(_) => only(role == Role::Meta, "only metadata services give slots away"),
        MgmtRequest::Slots(_) => only(role == Role::Cli, "only operators move slots"),
        MgmtRequest::SetAccessRule(_) | MgmtRequest::RemoveAccessRule { .. } => {
            only(role == Role::Cli, "only operators say which clients are let in")
        }
        MgmtRequest::SetKeyRule(_) => only(role == Role::Cli, "only operators say what keys are held to"),
        MgmtRequest::Fsck(_) => only(role == Role::Cli, "only operators check the file system"),
        MgmtRequest::Audit => only(role == Role::Cli, "only operators see what others ordered"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::mgmt::{FsckNews, GroupOrder, Heartbeat, JoinMgmt, MemberNews, MountAt};
    use nyala_wire::mgmt::{Register, SlotOrder, SlotStep};
    use nyala_wire::{ClusterId, GroupId, MapVersion, NodeId, PoolId, Slot, TargetId};
    use nyala_wire::{access_rules::AccessRule, key_rules::KeyRule, pool_orders::PoolOrder};

    const ROLES: [(char, Role); 7] = [
        ('c', Role::Client),
        ('m', Role::Meta),
        ('s', Role::Storage),
        ('g', Role::Mgmt),
        ('a', Role::Cli),
        ('n', Role::Mon),
        ('o', Role::Other),
    ];

    fn register(role: NodeRole) -> MgmtRequest {
        let (alias, incarnation) = (String::new(), 1);
        let (cluster, uuid) = (ClusterId::UNKNOWN, ClusterId([1; 16]));
        let (addresses, targets) = (Vec::new(), Vec::new());
        MgmtRequest::Register(Register { cluster, role, uuid, alias, addresses, incarnation, targets })
    }

    /// Every request, and the letters of the roles that may send it.
    fn table() -> Vec<(MgmtRequest, &'static str)> {
        let (node, target, group) = (NodeId(3), TargetId(1), GroupId(1));
        let heartbeat = Heartbeat { node, incarnation: 1, map_version: MapVersion(1), capacities: Vec::new() };
        let (cluster, uuid) = (ClusterId::UNKNOWN, ClusterId([1; 16]));
        let join = JoinMgmt { cluster, uuid, addresses: Vec::new(), incarnation: 1, node };
        let mount = MountAt { name: "host:/mnt".to_owned(), address: "0.0.0.0:9000".to_owned() };
        vec![
            (MgmtRequest::WatchMap { have: MapVersion(0), wait_ms: 0 }, "cmsgano"),
            (register(NodeRole::Meta), "m"),
            (register(NodeRole::Storage), "s"),
            (register(NodeRole::Mgmt), ""),
            (register(NodeRole::Client), ""),
            (MgmtRequest::Heartbeat(heartbeat), "ms"),
            (MgmtRequest::Goodbye { node, incarnation: 1 }, "ms"),
            (MgmtRequest::Capacities, "cmsgano"),
            (MgmtRequest::Member { group, epoch: 1, target, by: target, news: MemberNews::Resynced }, "ms"),
            (MgmtRequest::Refused { node }, "cmsga"),
            (MgmtRequest::Groups(GroupOrder::Switch { group, target }), "a"),
            (MgmtRequest::Groups(GroupOrder::RemoveTarget { target, content_gone: true }), "a"),
            (MgmtRequest::Groups(GroupOrder::RemoveNode { node }), "a"),
            (MgmtRequest::Groups(GroupOrder::Pools(PoolOrder::RemovePool { pool: PoolId(2) })), "a"),
            (MgmtRequest::TakeRange { target, after: 0 }, "m"),
            (MgmtRequest::JoinMgmt(join), "g"),
            (MgmtRequest::MgmtNodes, "cmsgano"),
            (MgmtRequest::RemoveMgmt { node }, "ga"),
            (MgmtRequest::AdoptMgmt { mgmt: Vec::new() }, "a"),
            (MgmtRequest::AnnounceMount(mount), "c"),
            (MgmtRequest::Mounts, "cmsgano"),
            (MgmtRequest::Changes, "gan"),
            (MgmtRequest::SlotStep(SlotStep::Complete { slot: Slot(1), attempt: 1 }), "m"),
            (MgmtRequest::Slots(SlotOrder::Cancel { slots: Vec::new() }), "a"),
            (MgmtRequest::SetKeyRule(KeyRule::none("k1")), "a"),
            (MgmtRequest::SetAccessRule(AccessRule::default()), "a"),
            (MgmtRequest::RemoveAccessRule { key: "*".to_owned(), network: None }, "a"),
            (MgmtRequest::Audit, "a"),
            (MgmtRequest::Fsck(FsckNews::default()), "a"),
        ]
    }

    #[test]
    fn each_request_is_for_its_roles_alone() {
        for (request, allowed) in table() {
            for (letter, role) in ROLES {
                let outcome = super::request(role, &request);
                assert_eq!(outcome.is_ok(), allowed.contains(letter), "{request:?} of {role:?}");
                assert!(outcome.is_ok() || outcome.is_err_and(|error| error.code == ErrorCode::UNAUTHORIZED));
            }
        }
        for (letter, role) in ROLES {
            assert_eq!(raft(role).is_ok(), letter == 'g');
        }
    }
}
