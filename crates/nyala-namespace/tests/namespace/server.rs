// SPDX-License-Identifier: Apache-2.0

//! What a metadata server does with requests that cannot be answered at once.

use crate::machine::{Machine, map_of};
use nyala_namespace::keys;
use nyala_namespace::recall_report::recall_report;
use nyala_namespace::server::io::Token;
use nyala_namespace::server::memory::MemTables;
use nyala_namespace::view::View;
use nyala_wire::meta::*;
use nyala_wire::meta_tx::{Outcome, TxAction, TxId, TxPart, TxReply, TxRequest};
use nyala_wire::mgmt::{MAX_REPORTED_CLIENTS, RecallReport};
use nyala_wire::*;

const A: SessionId = SessionId(1);
const B: SessionId = SessionId(2);
const FILE: InodeId = InodeId(5);

fn caching() -> Machine {
    let mut machine = Machine::new(TargetId(1), map_of(2));
    machine.file(FILE);
    [A, B].into_iter().for_each(|session| machine.open_session_wanting(session, Want::DELEGATIONS));
    machine
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn create(text: &str) -> MetaOp {
    let entry = NewEntry { parent: InodeId::ROOT, name: name(text), perm: 0o600, umask: 0 };
    MetaOp::Create { entry, exclusive: true }
}

fn truncate(size: u64) -> MetaOp {
    MetaOp::SetAttr { inode: FILE, set: SetAttr { size: Some(size), ..SetAttr::default() } }
}

fn poll(machine: &mut Machine, session: SessionId) -> Token {
    machine.request(session, MetaOp::DelegationPoll { boot: 1, kept: Vec::new(), moving: Vec::new() })
}

fn acquire(machine: &mut Machine, session: SessionId) -> Token {
    let request = machine.numbered(session, MetaOp::Acquire { inode: FILE }, Want::DELEGATIONS.and(Want::WRITE));
    machine.send(request)
}

#[test]
fn a_copy_of_a_request_waits_for_the_first_and_both_get_one_answer() {
    let mut machine = caching();
    machine.slow_storage = true;
    machine.change(A, MetaOp::Commit(commit(100_000))).unwrap();
    let request = machine.numbered(A, truncate(10), Want::NOTHING);
    let (first, copy) = (machine.send(request.clone()), machine.send(request.clone()));
    assert_eq!((machine.answer(first), machine.answer(copy)), (None, None));
    machine.storage_is_done();
    let answer = machine.answer(first).expect("storage is done").unwrap();
    assert_eq!(machine.answer(copy), Some(Ok(answer.clone())), "the kept reply");
    let late = machine.send(request);
    assert_eq!(machine.answer(late), Some(Ok(answer)));
    assert_eq!(machine.truncated.len(), 1, "once");
}

fn commit(end: u64) -> Commit {
    let mtime = Some(Time { seconds: 1_000_000, nanos: 0 });
    Commit {
        inode: FILE,
        end: Some(end),
        mtime,
        spilled: None,
        sync: false,
        close: false,
        allocated: None,
        encoded: None,
    }
}

#[test]
fn a_change_recalls_what_others_cache_and_goes_on_when_it_is_back() {
    let mut machine = caching();
    let granted = acquire(&mut machine, A);
    assert_eq!(machine.granted(granted).inodes, DelegationMode::Exclusive);
    let news = poll(&mut machine, A);
    assert_eq!(machine.answer(news), None, "there is nothing to tell");
    let read = machine.request(B, MetaOp::GetAttr { inode: FILE });
    assert_eq!(machine.answer(read), None);
    let Some(Ok(MetaReply::Revocations { list, .. })) = machine.answer(news) else { panic!("it was not told") };
    assert_eq!((list[0].inode, list[0].keep), (FILE, DelegationMode::Shared));
    machine.slow_log = true;
    let back = Returned { inode: FILE, keep: DelegationMode::Shared, seq: list[0].seq, open: true };
    let returned = machine.request(A, MetaOp::DelegationReturn { delegations: vec![back] });
    assert_eq!((machine.answer(returned), machine.answer(read)), (None, None), "that it is open is not written");
    machine.log_is_done();
    assert!(matches!(machine.answer(read), Some(Ok(MetaReply::Attr(_)))));
    assert!(machine.tables.get(&keys::open(FILE, A)).unwrap().is_some());
}

#[test]
fn a_client_that_does_not_let_go_is_reported_until_it_does() {
    let mut machine = caching();
    acquire(&mut machine, A);
    let news = poll(&mut machine, A);
    assert_eq!(recall_report(machine.server.state()), RecallReport::default());
    let read = machine.request(B, MetaOp::GetAttr { inode: FILE });
    let Some(Ok(MetaReply::Revocations { list, .. })) = machine.answer(news) else { panic!("it was not told") };
    machine.later(6000);
    let report = recall_report(machine.server.state());
    let [client] = &report.oldest[..] else { panic!("one client: {report:?}") };
    assert_eq!((client.session, client.client.as_str(), client.inodes), (A, "client 1", 1));
    assert!((5000..=6000).contains(&client.age_ms), "by the clock of the last look: {report:?}");
    assert_eq!((report.more, report.outstanding, machine.answer(read)), (0, 1, None));
    let back = Returned { inode: FILE, keep: DelegationMode::Shared, seq: list[0].seq, open: false };
    machine.request(A, MetaOp::DelegationReturn { delegations: vec![back] });
    assert!(matches!(machine.answer(read), Some(Ok(MetaReply::Attr(_)))));
    let state = machine.server.state();
    assert_eq!(recall_report(state), RecallReport::default());
    assert!(matches!(state.delegations.answer_times(), (1, 5000..=6000)), "{:?}", state.delegations.answer_times());
}

#[test]
fn a_report_has_the_clients_that_were_asked_first_and_counts_the_others() {
    let mut machine = caching();
    let clients = 3 + MAX_REPORTED_CLIENTS as u64;
    for client in 0..clients {
        let (session, inode) = (SessionId(10 + client), InodeId(10 + client));
        machine.file(inode);
        machine.open_session_wanting(session, Want::DELEGATIONS);
        let request = machine.numbered(session, MetaOp::Acquire { inode }, Want::DELEGATIONS.and(Want::WRITE));
        machine.send(request);
    }
    for client in (0..clients).rev() {
        machine.request(B, MetaOp::GetAttr { inode: InodeId(10 + client) });
        machine.later(10);
    }
    let report = recall_report(machine.server.state());
    let sessions: Vec<u64> = report.oldest.iter().map(|client| client.session.0).collect();
    assert_eq!(sessions, (13..10 + clients).rev().collect::<Vec<_>>());
    assert_eq!((report.more, report.outstanding), (3, clients));
}

#[test]
fn what_a_request_waited_for_is_told_with_its_answer() {
    let mut machine = caching();
    acquire(&mut machine, A);
    let news = poll(&mut machine, A);
    let read = machine.request(B, MetaOp::GetAttr { inode: FILE });
    let Some(Ok(MetaReply::Revocations { list, .. })) = machine.answer(news) else { panic!("it was not told") };
    machine.later(700);
    let back = Returned { inode: FILE, keep: DelegationMode::Shared, seq: list[0].seq, open: false };
    machine.request(A, MetaOp::DelegationReturn { delegations: vec![back] });
    assert!(matches!(machine.answer(read), Some(Ok(MetaReply::Attr(_)))));
    assert_eq!(machine.waited(read), [("delegations", 700)]);
    machine.slow_log = true;
    let sync = machine.request(B, MetaOp::Sync);
    machine.later(30);
    machine.log_is_done();
    assert_eq!(machine.answer(sync), Some(Ok(MetaReply::Done)));
    assert_eq!(machine.waited(sync), [("sync", 30)]);
    machine.slow_log = false;
    let (at_once, later) = (machine.request(B, MetaOp::StatFs), machine.request(B, MetaOp::Sync));
    assert!(machine.waited(at_once).is_empty() && machine.waited(later).is_empty());
    machine.slow_storage = true;
    machine.change(A, MetaOp::Commit(commit(100_000))).unwrap();
    let cut = machine.request(A, truncate(10));
    machine.later(40);
    machine.storage_is_done();
    assert!(machine.answer(cut).is_some_and(|answer| answer.is_ok()));
    assert_eq!(machine.waited(cut), [("storage", 40)]);
}

#[test]
fn a_client_that_keeps_silent_is_fenced_before_others_go_on() {
    let mut machine = caching();
    acquire(&mut machine, A);
    machine.slow_storage = true;
    let mut read = machine.request(B, MetaOp::GetAttr { inode: FILE });
    for _ in 0..40 {
        machine.later(1_000);
        if machine.answer(read).is_some_and(|answer| answer.is_err_and(|error| error.code == ErrorCode::BUSY)) {
            read = machine.request(B, MetaOp::GetAttr { inode: FILE });
        }
    }
    assert_eq!(machine.fenced, [A], "only the silent one");
    assert_eq!(machine.answer(read), None, "storage may still take what it writes");
    machine.storage_is_done();
    assert!(matches!(machine.answer(read), Some(Ok(MetaReply::Attr(_)))));
    assert!(machine.tables.get(&keys::session(A)).unwrap().is_none());
    assert_eq!(machine.change(A, create("late")).unwrap_err().code, ErrorCode::STALE_SESSION);
}

#[test]
fn after_a_restart_nobody_is_answered_before_all_have_said_what_they_keep() {
    let mut machine = caching();
    acquire(&mut machine, A);
    let mut again = Machine::on(MemTables::of(machine.tables.log()), TargetId(1), map_of(2), 2);
    let confirm = |machine: &mut Machine, session, kept| {
        machine.request(session, MetaOp::DelegationPoll { boot: 2, kept, moving: Vec::new() })
    };
    [A, B].into_iter().for_each(|session| nothing_is_lost(&mut again, session));
    let read = again.request(B, MetaOp::GetAttr { inode: FILE });
    confirm(&mut again, B, Vec::new());
    again.later(1_000);
    assert_eq!(again.answer(read), None, "the other one may have written");
    let kept = Returned { inode: FILE, keep: DelegationMode::Exclusive, seq: 0, open: false };
    confirm(&mut again, A, vec![kept]);
    assert_eq!(again.answer(read), None, "it is asked for what it has written");
    let back = Returned { keep: DelegationMode::None, seq: u64::MAX, ..kept };
    again.change(A, MetaOp::DelegationReturn { delegations: vec![back] }).unwrap();
    assert!(matches!(again.answer(read), Some(Ok(MetaReply::Attr(_)))));
    let patient = Machine::on(MemTables::of(machine.tables.log()), TargetId(1), map_of(2), 2);
    refused_in_the_end(patient);
}

fn nothing_is_lost(machine: &mut Machine, session: SessionId) {
    let run = Some(machine.run());
    machine.request(session, MetaOp::Replay(Replay { changes: Vec::new(), last: true, open: Vec::new(), run }));
}

fn refused_in_the_end(mut machine: Machine) {
    [A, B].into_iter().for_each(|session| nothing_is_lost(&mut machine, session));
    let read = machine.request(B, MetaOp::GetAttr { inode: FILE });
    machine.later(10_300);
    assert_eq!(machine.answer(read).unwrap().unwrap_err().code, ErrorCode::NOT_READY);
}

#[test]
fn a_promise_is_on_disk_before_the_coordinator_hears_of_it() {
    let mut machine = caching();
    machine.slow_log = true;
    let tx = TxId { coordinator: TargetId(2), number: 9 };
    let part = TxPart::PeekEntry { dir: InodeId::ROOT, name: name("x") };
    let (now, parts) = (Time::default(), vec![part]);
    let action = TxAction::Prepare { now, parts, stage: 0, caller: None, owned: None, session: None };
    assert_eq!(machine.transaction(TxRequest { tx, action }), None);
    assert!(machine.server.state().prepared.contains_key(&tx));
    machine.log_is_done();
    // The coordinator keeps silent: it is asked, and knows nothing of it.
    machine.slow_log = false;
    machine.later(2_000);
    let (ticket, target, request) = machine.asked.pop_front().expect("it asks");
    assert_eq!((target, request), (TargetId(2), TxRequest { tx, action: TxAction::Status }));
    machine.heard(ticket, Ok(TxReply::Outcome(Outcome::Aborted)));
    assert!(machine.server.state().prepared.is_empty() && machine.server.state().ground.locks.is_empty());
}

/// A client that removes a directory whose name is at another server forgets it with the answer: it is not asked for it first. Others are.
#[test]
fn who_removes_a_directory_need_not_give_it_back_first() {
    for other_holds_it in [false, true] {
        let mut machine = caching();
        // Some are made at the other server, which says nothing.
        let made_here = (0..50).find_map(|n| {
            let entry = NewEntry { parent: InodeId::ROOT, name: name(&format!("d{n}")), perm: 0o755, umask: 0 };
            let asked = machine.request(A, MetaOp::Mkdir { entry });
            match machine.answer(asked) {
                Some(Ok(MetaReply::Entry(made))) => Some(made.inode),
                _ => None,
            }
        });
        let dir = made_here.expect("one of fifty is made here");
        let holds = |machine: &Machine, session| machine.server.state().delegations.mode(dir, session);
        let mut holders = vec![A];
        holders.extend(Some(B).filter(|_| other_holds_it));
        for session in &holders {
            let look = MetaOp::ReadDir { dir, after: 0, max_entries: 10, plus: false };
            let look = machine.numbered(*session, look, Want::DELEGATIONS);
            let look = machine.send(look);
            assert!(machine.answer(look).is_some_and(|answer| answer.is_ok()));
            assert_eq!(holds(&machine, *session), DelegationMode::Shared);
        }
        // Another session of the same client.
        let elsewhere = SessionId::of_client(A.0, 7);
        assert!(elsewhere != A && elsewhere.client() == A.client());
        let tx = TxId { coordinator: TargetId(2), number: 9 };
        let (now, parts) = (Time::default(), vec![TxPart::RemoveDir { inode: dir }]);
        let action = TxAction::Prepare { now, parts, stage: 0, caller: None, owned: None, session: Some(elsewhere) };
        let prepared = machine.transaction(TxRequest { tx, action });
        if other_holds_it {
            assert_eq!(prepared, None, "the other one is asked first");
            let back = Returned { inode: dir, keep: DelegationMode::None, seq: u64::MAX, open: false };
            machine.change(B, MetaOp::DelegationReturn { delegations: vec![back] }).unwrap();
            machine.later(100);
        } else {
            assert!(matches!(prepared, Some(Ok(TxReply::Prepared(_)))), "{prepared:?}");
        }
        assert!(machine.server.state().prepared.contains_key(&tx));
        assert_eq!(holds(&machine, A), DelegationMode::Shared, "until it is decided");
        let done = machine.transaction(TxRequest { tx, action: TxAction::Commit });
        assert_eq!(done, Some(Ok(TxReply::Done)));
        assert_eq!(holds(&machine, A), DelegationMode::None, "there is nothing to hold");
    }
}

#[test]
fn the_same_inputs_have_the_same_effects() {
    let run = || {
        let mut machine = caching();
        (0..20).for_each(|n| drop(machine.change(A, create(&format!("file {n}")))));
        acquire(&mut machine, A);
        let read = machine.request(B, MetaOp::GetAttr { inode: FILE });
        machine.later(12_000);
        let log: Vec<Vec<u8>> = machine.tables.log().iter().map(|batch| batch.as_bytes().to_vec()).collect();
        (log, machine.answer(read), machine.server.next_wake())
    };
    assert_eq!(run(), run());
}

#[test]
fn only_the_holder_of_the_exclusive_delegation_moves_data_and_it_is_on_disk_when_answered() {
    let mut machine = caching();
    machine.change(A, MetaOp::Commit(commit(100_000))).unwrap();
    let layout =
        Layout { pattern: Pattern::Raid0, chunk_bytes: 1 << 16, targets: vec![TargetId(101)], moves: 1, code: None };
    let moved = || MetaOp::MoveData { inode: FILE, layout: layout.clone() };
    assert_eq!(machine.change(A, moved()).unwrap_err().code, ErrorCode::AGAIN, "without one");
    let granted = acquire(&mut machine, A);
    assert_eq!(machine.granted(granted).inodes, DelegationMode::Exclusive);
    assert_eq!(machine.change(B, moved()).unwrap_err().code, ErrorCode::AGAIN, "with another's");
    let set = SetAttr { size: Some(0), emptied: Some(Box::new(layout.clone())), ..SetAttr::default() };
    let emptied = MetaOp::SetAttr { inode: FILE, set };
    assert_eq!(machine.change(A, emptied).unwrap_err().code, ErrorCode::STALE, "it is not encoded");
    machine.slow_log = true;
    let token = machine.request(A, moved());
    assert_eq!(machine.answer(token), None);
    machine.log_is_done();
    assert_eq!(machine.answer(token), Some(Ok(MetaReply::Done)));
}
