// SPDX-License-Identifier: Apache-2.0

//! A primary takes over that has everything which the one before answered for: clients wait only for what a silent one may hold.

use crate::machine::{Machine, map_of};
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::server::io::{Tables, Token};
use nyala_namespace::server::memory::MemTables;
use nyala_namespace::view::View;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::*;
use nyala_wire::*;

const ME: TargetId = TargetId(1);
const A: SessionId = SessionId(1);
const B: SessionId = SessionId(2);
/// Files in slots of their own.
const HERE: InodeId = InodeId(5);
const THERE: InodeId = InodeId(1 << 48 | 5);

/// A server with two slots.
fn map() -> ClusterMap {
    let mut map = map_of(1);
    map.slots[0].count = 2;
    map
}

fn acquire(machine: &mut Machine, session: SessionId, inode: InodeId, want: Want) -> Token {
    let request = machine.numbered(session, MetaOp::Acquire { inode }, want);
    machine.send(request)
}

/// Two clients that cache, of which one may write in one slot, and a primary that goes on after them.
fn before() -> Machine {
    let mut machine = Machine::new(ME, map());
    // It says so once it knows that it has everything.
    machine.later(6_000);
    [HERE, THERE].into_iter().for_each(|inode| machine.file(inode));
    [A, B].into_iter().for_each(|session| machine.open_session_wanting(session, Want::DELEGATIONS));
    let token = acquire(&mut machine, A, THERE, Want::DELEGATIONS.and(Want::WRITE));
    assert_eq!(machine.granted(token).inodes, DelegationMode::Exclusive);
    machine
}

fn after(machine: &Machine) -> Machine {
    Machine::taking_over(MemTables::of(machine.tables.log()), ME, map(), 2)
}

fn say(machine: &mut Machine, session: SessionId, open: Vec<InodeId>) -> Token {
    let run = Some(machine.run());
    machine.request(session, MetaOp::Replay(Replay { changes: Vec::new(), last: true, open, run }))
}

fn confirm(machine: &mut Machine, session: SessionId, kept: Vec<Returned>) -> Token {
    machine.request(session, MetaOp::DelegationPoll { boot: 2, kept, moving: Vec::new() })
}

fn comes_back(machine: &mut Machine, session: SessionId, kept: Vec<Returned>) {
    let said = say(machine, session, Vec::new());
    assert_eq!(machine.answer(said), Some(Ok(MetaReply::Replayed { lost: Vec::new() })), "nobody waits for others");
    confirm(machine, session, kept);
}

fn read(machine: &mut Machine, session: SessionId, inode: InodeId) -> Token {
    machine.request(session, MetaOp::GetAttr { inode })
}

fn rows(machine: &Machine) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    let visit = &mut |key: &[u8], _: &[u8]| {
        rows.push(key.to_vec());
        std::ops::ControlFlow::Continue(())
    };
    machine.tables.scan(&[keys::HELD], &[keys::HELD + 1], visit).unwrap();
    rows
}

#[test]
fn only_what_a_silent_client_may_hold_waits_for_it() {
    let mut machine = after(&before());
    comes_back(&mut machine, B, Vec::new());
    let (here, there) = (read(&mut machine, B, HERE), read(&mut machine, B, THERE));
    assert!(matches!(machine.answer(here), Some(Ok(MetaReply::Attr(_)))));
    assert_eq!(machine.answer(there), None, "the silent one may have written it");
    let token = acquire(&mut machine, B, HERE, Want::DELEGATIONS.and(Want::WRITE));
    assert_eq!(machine.granted(token).inodes, DelegationMode::Exclusive);
    let kept = Returned { inode: THERE, keep: DelegationMode::Exclusive, seq: 0, open: false };
    comes_back(&mut machine, A, vec![kept]);
    assert_eq!(machine.answer(there), None, "it is asked for what it has written");
    let back = Returned { keep: DelegationMode::None, seq: u64::MAX, ..kept };
    machine.change(A, MetaOp::DelegationReturn { delegations: vec![back] }).unwrap();
    assert!(matches!(machine.answer(there), Some(Ok(MetaReply::Attr(_)))));
}

/// All look at directories that they have in common.
#[test]
fn who_may_only_have_read_keeps_nobody_from_reading() {
    let mut first = before();
    let token = acquire(&mut first, A, HERE, Want::DELEGATIONS);
    assert_eq!(first.granted(token).inodes, DelegationMode::Shared);
    let mut machine = after(&first);
    comes_back(&mut machine, B, Vec::new());
    let here = read(&mut machine, B, HERE);
    assert!(matches!(machine.answer(here), Some(Ok(MetaReply::Attr(_)))));
    let shared = acquire(&mut machine, B, HERE, Want::DELEGATIONS);
    assert_eq!(machine.granted(shared).inodes, DelegationMode::Shared);
    let set = SetAttr { perm: Some(0o600), ..SetAttr::default() };
    let change = machine.request(B, MetaOp::SetAttr { inode: HERE, set });
    assert_eq!(machine.answer(change), None, "the silent one may still show what was before");
    confirm(&mut machine, A, Vec::new());
    assert_eq!(machine.answer(change), None, "it has to say first what it was told");
    comes_back(&mut machine, A, Vec::new());
    assert!(matches!(machine.answer(change), Some(Ok(MetaReply::Attr(_)))));
}

#[test]
fn one_that_died_is_waited_for_until_its_session_ends_and_only_where_it_was() {
    let mut machine = after(&before());
    comes_back(&mut machine, B, Vec::new());
    let mut there = read(&mut machine, B, THERE);
    for _ in 0..60 {
        machine.later(1_000);
        let here = read(&mut machine, B, HERE);
        assert!(matches!(machine.answer(here), Some(Ok(MetaReply::Attr(_)))));
        if machine.answer(there).is_some_and(|answer| answer.is_err_and(|error| error.code == ErrorCode::BUSY)) {
            there = read(&mut machine, B, THERE);
        }
    }
    assert_eq!(machine.fenced, [A]);
    assert!(matches!(machine.answer(there), Some(Ok(MetaReply::Attr(_)))));
}

#[test]
fn a_client_that_has_not_said_what_it_keeps_is_not_answered() {
    let mut machine = after(&before());
    let early = read(&mut machine, B, HERE);
    assert_eq!(machine.answer(early).unwrap().unwrap_err().code, ErrorCode::NOT_READY);
    say(&mut machine, B, Vec::new());
    let unconfirmed = read(&mut machine, B, HERE);
    assert_eq!(machine.answer(unconfirmed), None, "it may keep what others are given");
    confirm(&mut machine, B, Vec::new());
    assert!(matches!(machine.answer(unconfirmed), Some(Ok(MetaReply::Attr(_)))));
}

#[test]
fn what_it_has_open_counts_as_open() {
    let mut machine = after(&before());
    say(&mut machine, B, vec![HERE]);
    assert!(machine.tables.get(&keys::open(HERE, B)).unwrap().is_some());
}

#[test]
fn what_a_client_says_that_this_server_should_have_is_lost_and_not_passed_over() {
    let mut machine = after(&before());
    let request = machine.numbered(B, MetaOp::Close { inode: HERE }, Want::NOTHING);
    let told = Acknowledged {
        position: 900,
        request: codec::encode(&request).into(),
        reply: codec::encode(&MetaReply::Done).into(),
    };
    let run = Some(machine.run());
    let said = machine.request(B, MetaOp::Replay(Replay { changes: vec![told], last: true, open: Vec::new(), run }));
    assert_eq!(machine.answer(said), Some(Ok(MetaReply::Replayed { lost: vec![request.sequence] })));
}

/// A run that had to hear from clients what an earlier one had answered for, and ended before they had said it.
#[test]
fn a_run_that_lacked_something_leaves_no_word_that_it_has_everything() {
    let lacks = Machine::on(MemTables::of(before().tables.log()), ME, map(), 2);
    let mut machine = Machine::taking_over(MemTables::of(lacks.tables.log()), ME, map(), 3);
    say(&mut machine, B, Vec::new());
    let here = read(&mut machine, B, HERE);
    assert_eq!(
        machine.answer(here).unwrap().unwrap_err().code,
        ErrorCode::NOT_READY,
        "the other one is still to say it"
    );
}

/// One primary after the other ends before a client has come back: what it may hold is still known.
#[test]
fn what_a_silent_client_may_hold_is_known_to_the_next_but_one_too() {
    let mut second = after(&before());
    comes_back(&mut second, B, Vec::new());
    second.later(20_000);
    let mut machine = Machine::taking_over(MemTables::of(second.tables.log()), ME, map(), 3);
    say(&mut machine, B, Vec::new());
    machine.request(B, MetaOp::DelegationPoll { boot: 3, kept: Vec::new(), moving: Vec::new() });
    let (here, there) = (read(&mut machine, B, HERE), read(&mut machine, B, THERE));
    assert!(matches!(machine.answer(here), Some(Ok(MetaReply::Attr(_)))));
    assert_eq!(machine.answer(there), None);
}

#[test]
fn rows_of_an_older_program_in_between_say_nothing() {
    let machine = before();
    let mut batch = Batch::new();
    batch.put(keys::run(5), [0; 16]);
    machine.tables.apply(&batch).unwrap();
    let mut machine = Machine::taking_over(MemTables::of(machine.tables.log()), ME, map(), 9);
    let said = say(&mut machine, B, Vec::new());
    machine.later(1_000);
    assert_eq!(machine.answer(said), None, "all are waited for: run 5 may have given anything");
}

#[test]
fn without_room_for_a_row_nothing_is_given_and_what_was_is_kept() {
    let mut machine = before();
    let token = acquire(&mut machine, B, HERE, Want::DELEGATIONS);
    assert_eq!(machine.granted(token).inodes, DelegationMode::Shared);
    machine.tables.set_full(true);
    let new = acquire(&mut machine, A, HERE, Want::DELEGATIONS);
    assert_eq!(machine.granted(new).inodes, DelegationMode::None, "that takes a row of its own");
    let more = acquire(&mut machine, B, HERE, Want::DELEGATIONS.and(Want::WRITE));
    assert_eq!(machine.granted(more).inodes, DelegationMode::None);
    assert!(machine.server.state().delegations.mode(HERE, B) >= DelegationMode::Shared, "it still counts");
    machine.tables.set_full(false);
    let later = acquire(&mut machine, B, HERE, Want::DELEGATIONS.and(Want::WRITE));
    assert_eq!(machine.granted(later).inodes, DelegationMode::Exclusive);
    let row = machine.tables.get(&keys::held(B, HERE.slot())).unwrap().unwrap();
    assert_eq!(row[..], [1], "for more than reading");
}

#[test]
fn rows_go_a_while_after_the_last_delegation() {
    let mut machine = before();
    assert_eq!(rows(&machine), [keys::held(A, THERE.slot()).to_vec()]);
    machine.later(20_000);
    assert_eq!(rows(&machine).len(), 1, "it is held");
    let back = Returned { inode: THERE, keep: DelegationMode::None, seq: u64::MAX, open: false };
    machine.change(A, MetaOp::DelegationReturn { delegations: vec![back] }).unwrap();
    machine.later(20_000);
    assert!(rows(&machine).is_empty());
}
