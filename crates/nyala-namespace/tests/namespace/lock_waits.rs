// SPDX-License-Identifier: Apache-2.0

//! Waits for file locks on whole servers: tables in memory, messages and time that are moved by hand.

use crate::machine::{Machine, map_of};
use nyala_namespace::keys;
use nyala_namespace::server::io::Token;
use nyala_wire::meta::LockKind::{Read, Unlock, Write};
use nyala_wire::meta::*;
use nyala_wire::meta_tx::{TxAction, TxReply};
use nyala_wire::*;

const FILE: InodeId = InodeId(5);
/// In the second server's slot.
const OTHER: InodeId = InodeId(5 | 1 << 48);

fn lock(owner: u64, kind: LockKind, start: u64, end: u64) -> FileLock {
    FileLock { owner, pid: 1, kind, flock: false, start, end }
}

fn server(target: u16) -> Machine {
    let mut machine = Machine::new(TargetId(target), map_of(2));
    machine.file(if target == 1 { FILE } else { OTHER });
    (1..=3).for_each(|owner| machine.open_session(SessionId(owner)));
    machine
}

/// Session `owner` takes a lock or gives one up; sessions and owners have the same numbers here.
fn set(server: &mut Machine, owner: u64, inode: InodeId, lock: FileLock) -> bool {
    server.change(SessionId(owner), MetaOp::SetLock { inode, lock }).is_ok()
}

fn wait(server: &mut Machine, owner: u64, inode: InodeId, lock: FileLock) -> Token {
    server.request(SessionId(owner), MetaOp::LockWait { inode, lock })
}

fn answer(server: &Machine, token: Token) -> Option<Result<MetaReply, ErrorCode>> {
    server.answer(token).map(|result| result.map_err(|error| error.code))
}

const DONE: Option<Result<MetaReply, ErrorCode>> = Some(Ok(MetaReply::Done));
const REFUSED: Option<Result<MetaReply, ErrorCode>> = Some(Err(ErrorCode::DEADLOCK));

#[test]
fn answered_at_once_or_when_the_lock_goes_or_when_patience_ends() {
    let mut a = server(1);
    let at_once = wait(&mut a, 1, FILE, lock(1, Write, 0, 9));
    assert_eq!(answer(&a, at_once), DONE);
    assert!(set(&mut a, 2, FILE, lock(2, Read, 5, 5)));
    let (writer, patient) = (wait(&mut a, 1, FILE, lock(1, Write, 0, 9)), wait(&mut a, 3, FILE, lock(3, Write, 5, 6)));
    assert_eq!((answer(&a, writer), answer(&a, patient)), (None, None));
    assert!(set(&mut a, 3, FILE, lock(3, Read, 5, 6)), "the patient one takes what it can get");
    set(&mut a, 2, FILE, lock(2, Unlock, 0, 9));
    assert_eq!(answer(&a, writer), None, "another reader is left");
    assert_eq!(answer(&a, patient), DONE);
    a.silent_peers = true;
    a.later(4_990);
    assert_eq!(answer(&a, writer), None);
    a.later(20);
    assert_eq!(answer(&a, writer), DONE);
    assert!(a.server.state().lock_waits.is_empty());
}

#[test]
fn what_cannot_be_waited_for() {
    let mut a = server(1);
    let refused = wait(&mut a, 1, FILE, lock(1, Read, 2, 1));
    assert_eq!(answer(&a, refused), Some(Err(ErrorCode::INVALID)));
}

#[test]
fn who_closes_a_circle_is_refused_and_the_others_go_on() {
    let mut a = server(1);
    for owner in 1..=3 {
        assert!(set(&mut a, owner, FILE, lock(owner, Write, owner, owner)));
    }
    let first = wait(&mut a, 1, FILE, lock(1, Write, 2, 2));
    let second = wait(&mut a, 2, FILE, lock(2, Read, 3, 3));
    assert_eq!((answer(&a, first), answer(&a, second)), (None, None));
    let third = wait(&mut a, 3, FILE, lock(3, Write, 0, 1));
    assert_eq!(answer(&a, third), REFUSED);
    assert_eq!((answer(&a, first), answer(&a, second)), (None, None));
    set(&mut a, 3, FILE, lock(3, Unlock, 0, u64::MAX));
    assert_eq!(answer(&a, second), DONE);
}

#[test]
fn a_circle_that_a_new_holder_closes_is_found_by_who_waits_for_it() {
    let mut a = server(1);
    set(&mut a, 1, FILE, lock(1, Write, 1, 1));
    set(&mut a, 3, FILE, lock(3, Read, 2, 2));
    let first = wait(&mut a, 1, FILE, lock(1, Write, 2, 2));
    let second = wait(&mut a, 2, FILE, lock(2, Write, 1, 1));
    assert_eq!((answer(&a, first), answer(&a, second)), (None, None));
    // A second thread of the waiting process.
    set(&mut a, 2, FILE, lock(2, Read, 2, 2));
    assert_eq!((answer(&a, first), answer(&a, second)), (REFUSED, None));
}

#[test]
fn who_gave_up_closes_no_circle() {
    let mut a = server(1);
    set(&mut a, 1, FILE, lock(1, Write, 1, 1));
    set(&mut a, 2, FILE, lock(2, Write, 2, 2));
    let first = wait(&mut a, 1, FILE, lock(1, Write, 2, 2));
    set(&mut a, 1, FILE, lock(1, Unlock, 3, 9));
    assert_eq!(answer(&a, first), None, "something else was given up");
    // Interrupted: its client says so, and keeps what it has.
    let stopped = wait(&mut a, 1, FILE, lock(1, Unlock, 2, 2));
    assert_eq!((answer(&a, stopped), answer(&a, first)), (DONE, DONE));
    let second = wait(&mut a, 2, FILE, lock(2, Write, 1, 1));
    assert_eq!(answer(&a, second), None);
    let rows = a.tables.view().0.keys().filter(|key| key.first() == Some(&keys::SESSION_LOCK)).count();
    assert_eq!(rows, 2, "nobody lost a lock");
    let close = a.request(SessionId(2), MetaOp::SessionClose);
    assert_eq!(answer(&a, close), DONE);
    assert_eq!(answer(&a, second), DONE, "its session has ended");
    assert!(a.server.state().lock_waits.is_empty());
}

#[test]
fn flock_waits_without_a_search_for_circles() {
    let mut a = server(1);
    let second_file = InodeId(6);
    a.file(second_file);
    let flock = |owner, kind| FileLock { flock: true, ..lock(owner, kind, 0, u64::MAX) };
    set(&mut a, 1, FILE, flock(1, Write));
    set(&mut a, 2, second_file, flock(2, Write));
    let (first, second) = (wait(&mut a, 1, second_file, flock(1, Write)), wait(&mut a, 2, FILE, flock(2, Write)));
    a.later(4_000);
    assert_eq!((answer(&a, first), answer(&a, second)), (None, None));
    assert!(a.asked.is_empty(), "no other server was asked");
    set(&mut a, 1, FILE, flock(1, Unlock));
    assert_eq!(answer(&a, second), DONE);
}

/// One server's questions are answered by the other, until there are none.
fn route(from: &mut Machine, to: &mut Machine) {
    while let Some((ticket, _, request)) = from.asked.pop_front() {
        assert_eq!(request.action, TxAction::LockEdges);
        let edges = to.transaction(request).expect("it answers at once");
        from.heard(ticket, edges);
    }
}

#[test]
fn a_circle_over_two_servers_has_one_victim() {
    for (low_waits_first, low_first) in [(true, true), (true, false), (false, true), (false, false)] {
        let (mut a, mut b) = (server(1), server(2));
        set(&mut a, 2, FILE, lock(2, Write, 0, 0));
        set(&mut b, 1, OTHER, lock(1, Write, 0, 0));
        let low = wait(&mut a, 1, FILE, lock(1, Write, 0, 0));
        if low_waits_first {
            a.later(300);
            b.later(300);
        }
        let high = wait(&mut b, 2, OTHER, lock(2, Write, 0, 0));
        assert_eq!((answer(&a, low), answer(&b, high)), (None, None));
        a.later(1_001);
        b.later(1_001);
        if low_first {
            route(&mut a, &mut b);
            route(&mut b, &mut a);
        } else {
            route(&mut b, &mut a);
            route(&mut a, &mut b);
        }
        assert_eq!((answer(&a, low), answer(&b, high)), (None, REFUSED));
    }
}

#[test]
fn edges_of_different_moments_are_no_circle() {
    let (mut a, mut b) = (server(1), server(2));
    set(&mut a, 1, FILE, lock(1, Write, 0, 0));
    set(&mut b, 2, OTHER, lock(2, Write, 0, 0));
    let other = wait(&mut b, 1, OTHER, lock(1, Write, 0, 0));
    let me = wait(&mut a, 2, FILE, lock(2, Write, 0, 0));
    a.later(1_001);
    b.later(900);
    // While it is asked, the other server's wait ends and another one begins: the circle is not sure.
    let (ticket, _, request) = a.asked.pop_front().expect("it asks");
    let edges = b.transaction(request).expect("it answers at once");
    assert!(matches!(&edges, Ok(TxReply::LockEdges(edges)) if edges.len() == 1));
    wait(&mut b, 1, OTHER, lock(1, Unlock, 0, 0));
    assert_eq!(answer(&b, other), DONE);
    let again = wait(&mut b, 1, OTHER, lock(1, Write, 0, 0));
    a.heard(ticket, edges);
    assert_eq!(a.asked.len(), 1, "asked again to be sure");
    route(&mut a, &mut b);
    assert_eq!((answer(&a, me), answer(&b, again)), (None, None));
    a.later(1_001);
    route(&mut a, &mut b);
    assert_eq!(answer(&a, me), REFUSED, "this time it lasts");
}

#[test]
fn a_client_that_waits_for_its_last_session_is_in_no_circle() {
    let mut a = server(1);
    let (last, next) = (SessionId::of_client(9, 0), SessionId::of_client(9, 1));
    [last, next].into_iter().for_each(|session| a.open_session(session));
    let whole = lock(1, Write, 0, u64::MAX);
    a.change(last, MetaOp::SetLock { inode: FILE, lock: whole }).unwrap();
    let waits = a.request(next, MetaOp::LockWait { inode: FILE, lock: whole });
    assert_eq!(answer(&a, waits), None);
    a.request(last, MetaOp::SessionClose);
    a.later(20);
    assert_eq!(answer(&a, waits), DONE);
}

#[test]
fn owners_are_known_at_another_server_by_their_client() {
    // Sessions with two servers have different ids: edges name what they have in common.
    let edges = |number| {
        let mut a = server(1);
        let (one, two) = (SessionId::of_client(9, number), SessionId::of_client(10, number));
        [one, two].into_iter().for_each(|session| a.open_session(session));
        a.change(one, MetaOp::SetLock { inode: FILE, lock: lock(1, Write, 0, 9) }).unwrap();
        let waits = a.request(two, MetaOp::LockWait { inode: FILE, lock: lock(2, Write, 5, 5) });
        assert_eq!(answer(&a, waits), None);
        let state = a.server.state();
        state.lock_waits.edges(&|inode| nyala_namespace::ns::lock::read(&*state.ground.tables, inode).unwrap())
    };
    assert_eq!(edges(0).len(), 1);
    assert_eq!(edges(0), edges(3));
}

#[test]
fn nobody_waits_for_a_lock_of_its_own() {
    // Whichever of its client's sessions this is: one that reads and wants to write waits for the other readers only.
    for number in [0, 1, 5000] {
        let mut a = server(1);
        let me = SessionId::of_client(9, number);
        a.open_session(me);
        a.change(me, MetaOp::SetLock { inode: FILE, lock: lock(1, Read, 0, 9) }).unwrap();
        assert!(set(&mut a, 2, FILE, lock(2, Read, 0, 9)));
        let waits = a.request(me, MetaOp::LockWait { inode: FILE, lock: lock(1, Write, 0, 9) });
        assert_eq!(answer(&a, waits), None);
        set(&mut a, 2, FILE, lock(2, Unlock, 0, 9));
        assert_eq!(answer(&a, waits), DONE);
    }
}
