// SPDX-License-Identifier: Apache-2.0

//! Every message and operation, for every role.

use super::*;
use nyala_transport::{GrantMaker, Prover};
use nyala_wire::key_rules::{KeyRule, Squash};
use nyala_wire::storage_grants::StorageGrant;
use nyala_wire::subtree_proofs::InodeProof;
use nyala_wire::{codec, message_type::PING, message_type::STATS};

const ROLES: [(char, Role); 7] = [
    ('c', Role::Client),
    ('m', Role::Meta),
    ('s', Role::Storage),
    ('g', Role::Mgmt),
    ('a', Role::Cli),
    ('n', Role::Mon),
    ('o', Role::Other),
];

fn asker(role: Role, read_only: bool) -> Asker {
    Asker { role, rules: KeyRules { read_only }, root: None, users: None, refused: false }
}

#[test]
fn each_message_is_for_its_roles_alone() {
    let table = [
        (STORAGE, "cmsa"),
        (STORAGE_WRITE, "cmsa"),
        (STORAGE_READ, "cmsa"),
        (STORAGE_GROUP, "cmsa"),
        (STORAGE_PROOFS, "cmsa"),
        (STORAGE_GRANTS, "cmsa"),
        (STORAGE_REPLICA, "s"),
        (STORAGE_REPLICAS, "s"),
        (STORAGE_RAID, "a"),
        (STORAGE_SCRUB, "a"),
        (BUSIEST, "ga"),
        (PING, "cmsgano"),
        (STATS, "cmsgano"),
    ];
    for (message_type, allowed) in table {
        for (letter, role) in ROLES {
            let outcome = asker(role, false).message(message_type);
            assert_eq!(outcome.is_ok(), allowed.contains(letter), "{message_type:#06x} of {role:?}");
            assert!(outcome.is_ok() || outcome.is_err_and(|error| error.code == ErrorCode::UNAUTHORIZED));
        }
        let read_only = asker(Role::Client, true).message(message_type).map_err(|error| error.code);
        let refused = match message_type {
            STORAGE_WRITE => Some(ErrorCode::READ_ONLY),
            STORAGE_REPLICA | STORAGE_REPLICAS | STORAGE_RAID | STORAGE_SCRUB | BUSIEST => {
                Some(ErrorCode::UNAUTHORIZED)
            }
            _ => None,
        };
        assert_eq!(read_only.err(), refused, "{message_type:#06x} with a read-only key");
    }
}

/// One of every operation that there is, by name.
fn every_op() -> Vec<(&'static str, StorageOp)> {
    let pinned = include_str!("../../../../nyala-wire/tests/wire/golden.txt").lines();
    let ops = pinned.filter_map(|line| line.strip_prefix("StorageOp.")?.split_once('.')?.1.split_once(' '));
    let byte = |hex: &str, at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes = |hex: &str| (0..hex.len()).step_by(2).map(|at| byte(hex, at)).collect::<Vec<u8>>();
    ops.map(|(name, hex)| (name, codec::decode(&bytes(hex)).unwrap())).collect()
}

#[test]
fn each_operation_is_for_its_roles_and_rules_alone() {
    // By name: the roles, and whether a client may with a read-only key.
    let table = [
        ("Truncate", "cmsa", false),
        ("Punch", "cmsa", false),
        ("Sync", "cmsa", true),
        ("Unlink", "msa", false),
        ("Stat", "cmsa", true),
        ("Seek", "cmsa", true),
        ("Allocate", "cmsa", false),
        ("Fence", "m", false),
        ("Copy", "cmsa", false),
        ("Repair", "cmsa", true),
        ("Walk", "a", false),
        ("List", "ca", false),
    ];
    let ops = every_op();
    assert_eq!(ops.len(), table.len());
    for (name, op) in ops {
        let (_, allowed, read_only) = table.iter().find(|row| row.0 == name).expect("every operation is in the table");
        for (letter, role) in ROLES.into_iter().filter(|(_, role)| asker(*role, false).message(STORAGE).is_ok()) {
            assert_eq!(asker(role, false).op(&op).is_ok(), allowed.contains(letter), "{name} of {role:?}");
        }
        assert_eq!(asker(Role::Client, true).op(&op).is_ok(), *read_only, "{name} with a read-only key");
        assert_eq!(asker(Role::Meta, true).op(&op).is_ok(), asker(Role::Meta, false).op(&op).is_ok());
    }
}

#[test]
fn who_is_refused_may_nothing_and_who_is_kept_to_a_directory_has_to_prove() {
    let refused = Asker { refused: true, ..asker(Role::Client, false) };
    for message_type in [STORAGE, STORAGE_READ, STORAGE_WRITE, STORAGE_GROUP, STORAGE_PROOFS, STORAGE_GRANTS, PING] {
        assert_eq!(refused.message(message_type).map_err(|error| error.code), Err(ErrorCode::ACCESS));
    }
    let kept = Asker { root: Some(InodeId(9)), ..asker(Role::Client, false) };
    let (list, free) = (StorageOp::List { most: 1 }, asker(Role::Client, false));
    assert!(free.op(&list).is_ok() && kept.op(&list).is_err(), "who may use every file may empty a target");
    let code = |asker: Asker, rights| asker.uses(&Shown::default(), InodeId(5), rights).map_err(|error| error.code);
    for rights in [StorageRights::Read, StorageRights::Write] {
        assert_eq!(code(kept, rights), Err(ErrorCode::PROOF_NEEDED));
        assert_eq!(code(asker(Role::Client, false), rights), Ok(()));
    }
}

/// What each operation does with the file that it is about, and whether a grant to read is enough for it.
#[test]
fn a_client_with_a_rule_about_users_does_with_each_operation_what_its_grant_allows() {
    let rule = KeyRule { squash: Squash::All, ..KeyRule::none("lab") };
    let held = Restriction { rule, root: Some(InodeId(9)), refused: false };
    let squashed = Asker::new(Role::Client, KeyRules { read_only: false }, Some(&held));
    let (shown, secret, cluster) = (Shown::default(), Secret::from_bytes(&[7; 32]).unwrap(), ClusterId([3; 16]));
    let maker = GrantMaker::new(&secret, cluster, squashed.users.unwrap());
    let file = InodeId(5);
    let grant = |inode, rights| codec::encode(&vec![maker.grant(inode, rights).unwrap()]);
    let show = |body: Vec<u8>| shown.grants(squashed, &body, &secret, cluster).map_err(|error| error.code);
    let allowed =
        |op: &StorageOp| op.uses(file).into_iter().all(|(inode, rights)| squashed.uses(&shown, inode, rights).is_ok());
    let names = |ops: &[(&'static str, StorageOp)]| {
        ops.iter().filter(|(_, op)| allowed(op)).map(|(name, _)| *name).collect::<Vec<_>>()
    };
    let ops = every_op();
    // What is about no file, or a whole target, is decided by roles alone.
    let free = ["Sync", "Fence", "Walk", "List"];
    assert_eq!(names(&ops), free);
    // A proof of the directory is no grant.
    let proof =
        InodeProof { inode: file, proof: Prover::new(&secret, cluster, InodeId(9)).prove(file).unwrap().into() };
    shown.proofs(squashed, &codec::encode(&vec![proof]), &secret, cluster).unwrap();
    assert_eq!(names(&ops), free);
    assert_eq!(show(grant(file, StorageRights::Read)), Ok(()));
    assert_eq!(names(&ops), ["Sync", "Stat", "Seek", "Fence", "Repair", "Walk", "List"]);
    assert_eq!(show(grant(file, StorageRights::Write)), Ok(()));
    assert!(!names(&ops).contains(&"Copy"), "what is copied from has to be readable");
    let from =
        ops.iter().find_map(|(_, op)| if let StorageOp::Copy { from, .. } = op { Some(from.inode) } else { None });
    assert_eq!(show(grant(from.unwrap(), StorageRights::Read)), Ok(()));
    assert_eq!(names(&ops).len(), ops.len());
    assert_eq!(
        show(codec::encode(&vec![StorageGrant { code: [1; 16].into(), inode: file, rights: StorageRights::Read }])),
        Err(ErrorCode::ACCESS)
    );
}
