// SPDX-License-Identifier: Apache-2.0

//! Every message and operation, for every role.

use super::*;
use nyala_wire::message_type::{PING, STATS};
use nyala_wire::meta::{Acknowledged, Owner, Replay, Want};
use nyala_wire::{SessionId, Time};

const ROLES: [(char, Role); 7] = [
    ('c', Role::Client),
    ('m', Role::Meta),
    ('s', Role::Storage),
    ('g', Role::Mgmt),
    ('a', Role::Cli),
    ('n', Role::Mon),
    ('o', Role::Other),
];
const FREE: KeyRules = KeyRules { read_only: false };
const READ_ONLY: KeyRules = KeyRules { read_only: true };
/// What a client with a read-only key may do.
const READS: [&str; 29] = [
    "MoveTargets",
    "SessionAdopt",
    "SessionOpen",
    "SessionClose",
    "Lookup",
    "GetAttr",
    "GetAttrs",
    "ReadDir",
    "ReadLink",
    "GetXattr",
    "ListXattr",
    "EntryInfo",
    "StatFs",
    "GetParent",
    "Fragments",
    "Sync",
    "FileInfo",
    "StorageGrant",
    "DelegationPoll",
    "DelegationReturn",
    "Acquire",
    "GetLock",
    "LockWait",
    "LockConfirm",
    "LockChecked",
    "Survived",
    "Open",
    "Close",
    "SetLock",
];

fn asks(op: MetaOp) -> MetaRequest {
    let (session, owner, want) = (SessionId(7), Owner::default(), Want::default());
    MetaRequest {
        session,
        sequence: 1,
        acked_below: 1,
        owner,
        now: Time::default(),
        op,
        want,
        caller: None,
        user: None,
    }
}

/// One of every operation that there is, by name.
fn every_op() -> Vec<(&'static str, MetaOp)> {
    let pinned = include_str!("../../../../nyala-wire/tests/wire/golden.txt").lines();
    let ops = pinned.filter_map(|line| line.strip_prefix("MetaOp.")?.split_once('.')?.1.split_once(' '));
    let byte = |hex: &str, at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes = |hex: &str| (0..hex.len()).step_by(2).map(|at| byte(hex, at)).collect::<Vec<u8>>();
    ops.map(|(name, hex)| (name, codec::decode(&bytes(hex)).unwrap())).collect()
}

#[test]
fn each_message_is_for_its_roles_alone() {
    let table = [
        (META, "ca"),
        (META_TX, "m"),
        (META_FENCES, "s"),
        (META_REPLICA, "m"),
        (META_SCAN, "as"),
        (META_CHECKPOINT, "a"),
        (META_LOCATE, "ga"),
        (META_NAMES, "ga"),
        (BUSIEST, "ga"),
        (PING, "cmsgano"),
        (STATS, "cmsgano"),
    ];
    for (message_type, allowed) in table {
        for (letter, role) in ROLES {
            let outcome = message(role, message_type);
            assert_eq!(outcome.is_ok(), allowed.contains(letter), "{message_type:#06x} of {role:?}");
            assert!(outcome.is_ok() || outcome.is_err_and(|error| error.code == ErrorCode::UNAUTHORIZED));
        }
    }
}

#[test]
fn each_operation_is_for_its_roles_and_rules_alone() {
    let ops = every_op();
    assert!(ops.len() > 40, "{}", ops.len());
    for (name, op) in ops.into_iter().filter(|(name, _)| *name != "Replay") {
        let ask = asks(op);
        for role in [Role::Client, Role::Cli] {
            let outcome = request(role, FREE, &ask).map_err(|error| error.code);
            let operator = name == "Repair" && role != Role::Cli;
            assert_eq!(outcome, if operator { Err(ErrorCode::UNAUTHORIZED) } else { Ok(()) }, "{name} of {role:?}");
        }
        let outcome = request(Role::Cli, READ_ONLY, &ask).map_err(|error| error.code);
        let reads = READS.contains(&name);
        assert_eq!(outcome, if reads { Ok(()) } else { Err(ErrorCode::READ_ONLY) }, "{name} with a read-only key");
    }
}

#[test]
fn what_is_said_to_have_been_done_before_is_held_to_the_same_rules() {
    let replay = |again: &MetaRequest| {
        let change = Acknowledged { position: 1, request: codec::encode(again).into(), reply: Vec::new().into() };
        asks(MetaOp::Replay(Replay { changes: vec![change], last: true, open: Vec::new(), run: None }))
    };
    for (name, op) in every_op().into_iter().filter(|(name, _)| *name != "Replay") {
        let (now, before) = (asks(op.clone()), replay(&asks(op)));
        for (role, rules) in [(Role::Client, FREE), (Role::Client, READ_ONLY), (Role::Cli, READ_ONLY)] {
            let code = |ask: &MetaRequest| request(role, rules, ask).map_err(|error| error.code);
            assert_eq!(code(&now), code(&before), "{name} of {role:?} with {rules:?}");
        }
    }
}
