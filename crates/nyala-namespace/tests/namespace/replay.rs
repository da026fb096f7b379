// SPDX-License-Identifier: Apache-2.0

//! What clients were told is done, and a power cut took back, is done again.

use crate::machine::{Machine, map_of};
use nyala_namespace::keys;
use nyala_namespace::server::io::Token;
use nyala_namespace::server::memory::MemTables;
use nyala_namespace::view::View;
use nyala_wire::meta::*;
use nyala_wire::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const A: SessionId = SessionId(1);
const B: SessionId = SessionId(2);

/// What a client keeps of its changes.
type Unsynced = BTreeMap<SessionId, Vec<Acknowledged>>;

/// A server, and what its clients were told.
struct World {
    machine: Machine,
    told: Unsynced,
    boot: u64,
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn new_entry(text: &str) -> NewEntry {
    NewEntry { parent: InodeId::ROOT, name: name(text), perm: 0o600, umask: 0 }
}

fn create(text: &str) -> MetaOp {
    MetaOp::Create { entry: new_entry(text), exclusive: false }
}

fn rename(from: &str, to: &str) -> MetaOp {
    let (from_parent, to_parent) = (InodeId::ROOT, InodeId::ROOT);
    let (from_name, to_name) = (name(from), name(to));
    MetaOp::Rename(Rename { from_parent, from_name, to_parent, to_name, no_replace: false, exchange: false })
}

fn chmod(inode: InodeId, perm: u16) -> MetaOp {
    MetaOp::SetAttr { inode, set: SetAttr { perm: Some(perm), ..SetAttr::default() } }
}

fn put(inode: InodeId, base_version: u64, data: &[u8]) -> PutInline {
    let mtime = Time { seconds: 5, nanos: 0 };
    PutInline {
        inode,
        base_version,
        data: data.to_vec().into(),
        mtime,
        size: None,
        set: None,
        sync: false,
        close: false,
    }
}

impl World {
    fn new(want: Want) -> World {
        let mut machine = Machine::new(TargetId(1), map_of(1));
        [A, B].into_iter().for_each(|session| machine.open_session_wanting(session, want));
        World { machine, told: Unsynced::new(), boot: 1 }
    }

    fn position(&self) -> usize {
        self.machine.tables.applied()
    }

    fn change(&mut self, session: SessionId, op: MetaOp) -> Result<MetaReply, WireError> {
        let request = self.machine.numbered(session, op, Want::NOTHING);
        let token = self.machine.send(request.clone());
        let reply = self.machine.answer(token).expect("it is answered at once");
        if let Ok(reply) = &reply {
            let position = self.machine.position(token).unwrap_or(self.position() as u64);
            let (request, reply) = (codec::encode(&request).into(), codec::encode(reply).into());
            self.told.entry(session).or_default().push(Acknowledged { position, request, reply });
        }
        reply
    }

    fn made(&mut self, session: SessionId, op: MetaOp) -> InodeId {
        match self.change(session, op).unwrap() {
            MetaReply::Created { inode, .. } => inode,
            MetaReply::Entry(entry) => entry.inode,
            other => panic!("{other:?}"),
        }
    }

    /// Power fails when so much of the log is on disk.
    fn cut(&mut self, durable: usize) {
        let mut log = self.machine.tables.log();
        log.truncate(durable);
        self.boot += 1;
        self.machine = Machine::on(MemTables::of(log), TargetId(1), map_of(1), self.boot);
    }

    fn say(&mut self, session: SessionId, changes: Vec<Acknowledged>, last: bool) -> Token {
        self.say_to(self.boot as u32, session, changes, last)
    }

    fn say_to(&mut self, run: u32, session: SessionId, changes: Vec<Acknowledged>, last: bool) -> Token {
        self.machine.request(session, MetaOp::Replay(Replay { changes, last, open: Vec::new(), run: Some(run) }))
    }

    /// What a client says of the changes behind a position.
    fn say_all(&mut self, session: SessionId, durable: usize) -> Token {
        let lost = |change: &&Acknowledged| change.position > durable as u64;
        let changes = self.told.get(&session).into_iter().flatten().filter(lost).cloned().collect();
        self.say(session, changes, true)
    }

    fn lost(&self, token: Token) -> Vec<u64> {
        match self.machine.answer(token) {
            Some(Ok(MetaReply::Replayed { lost })) => lost,
            other => panic!("{other:?}"),
        }
    }

    /// Sequence numbers of what a client was told, in order.
    fn numbers(&self, session: SessionId) -> Vec<u64> {
        let number = |change: &Acknowledged| codec::decode::<MetaRequest>(&change.request).unwrap().sequence;
        self.told[&session].iter().map(number).collect()
    }

    /// All rows but those of the run itself.
    fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut rows = BTreeMap::new();
        let own = [keys::NEXT, keys::sequence_range()[0], keys::run_prefix()[0]];
        self.machine
            .tables
            .scan(&[0], &[255], &mut |key, value| {
                if !own.contains(&key[0]) || *key == *keys::inode_count() {
                    rows.insert(key.to_vec(), value.to_vec());
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    }
}

/// A mixed history of two clients that use each other's files.
fn history(world: &mut World, seed: u64, steps: usize) {
    let mut random = SplitMix64::new(seed);
    let mut files: Vec<(InodeId, String)> = Vec::new();
    for step in 0..steps {
        let session = if random.bits().is_multiple_of(2) { A } else { B };
        let fresh = format!("n{step}");
        let at = random.bits() as usize % files.len().max(1);
        let known = files.get(at).cloned();
        match (random.bits() % 10, known) {
            (0 | 1, _) | (_, None) => files.push((world.made(session, create(&fresh)), fresh)),
            (2, Some((inode, text))) => {
                world.change(session, MetaOp::Unlink { parent: InodeId::ROOT, name: name(&text) }).unwrap();
                let _ = world.change(session, MetaOp::Close { inode });
                files.remove(at);
            }
            (3, Some((_, text))) => {
                world.change(session, rename(&text, &fresh)).unwrap();
                files[at].1 = fresh;
            }
            (4, Some((inode, _))) => drop(world.change(session, chmod(inode, 0o600 + step as u16 % 64)).unwrap()),
            (5, Some((inode, _))) => {
                let info = world.change(session, MetaOp::Open { inode }).unwrap();
                let MetaReply::Opened(file) = info else { panic!("{info:?}") };
                let base = file.inline.unwrap().version;
                let one = put(inode, base, fresh.as_bytes());
                let op = if step % 2 == 0 { MetaOp::PutInline(one) } else { MetaOp::PutInlines { puts: vec![one] } };
                world.change(session, op).unwrap();
            }
            (6, Some((inode, _))) => {
                let lock = FileLock { owner: 1, pid: 1, start: 0, end: 9, kind: LockKind::Write, flock: false };
                let _ = world.change(session, MetaOp::SetLock { inode, lock });
            }
            (7, Some((inode, _))) => drop(world.change(session, MetaOp::Close { inode }).unwrap()),
            (8, _) => drop(world.made(session, MetaOp::Mkdir { entry: new_entry(&fresh) })),
            (_, Some((inode, _))) => {
                let link = MetaOp::Link { inode, parent: InodeId::ROOT, name: name(&fresh) };
                world.change(session, link).unwrap();
            }
        }
    }
}

#[test]
fn after_a_cut_at_any_point_everything_is_as_clients_were_told() {
    for seed in 0..6 {
        let mut world = World::new(Want::DELEGATIONS);
        let began = world.position();
        history(&mut world, seed, 40);
        let (before, log, told) = (world.rows(), world.machine.tables.log(), world.told.clone());
        for durable in began..=log.len() {
            let tables = MemTables::of(log.clone());
            let mut world =
                World { machine: Machine::on(tables, TargetId(1), map_of(1), 2), told: told.clone(), boot: 2 };
            world.cut(durable);
            let first = world.say_all(if durable % 2 == 0 { A } else { B }, durable);
            assert_eq!(world.machine.answer(first), None, "the other client has not said anything yet");
            let second = world.say_all(if durable % 2 == 0 { B } else { A }, durable);
            assert_eq!((world.lost(first), world.lost(second)), (vec![], vec![]), "seed {seed}, cut at {durable}");
            assert_eq!(world.rows(), before, "seed {seed}, cut at {durable}");
        }
    }
}

#[test]
fn nothing_else_is_answered_before_and_everything_afterwards() {
    let mut world = World::new(Want::DELEGATIONS);
    let durable = world.position();
    let inode = world.made(A, create("a"));
    world.change(B, chmod(inode, 0o640)).unwrap();
    world.cut(durable);
    let machine = &mut world.machine;
    let early = machine.request(A, MetaOp::GetAttr { inode });
    assert_eq!(
        machine.answer(early).unwrap().unwrap_err().code,
        ErrorCode::NOT_READY,
        "a client that has yet to say it"
    );
    let poll = machine.request(A, MetaOp::DelegationPoll { boot: 1, kept: vec![], moving: vec![] });
    assert!(matches!(machine.answer(poll), Some(Ok(MetaReply::Revocations { boot: 2, .. }))));
    machine.open_session(SessionId(9));
    let other = machine.request(SessionId(9), MetaOp::GetAttr { inode });
    let said = world.say_all(A, durable);
    let commit = world.machine.request(A, chmod(inode, 0o644));
    assert_eq!((world.machine.answer(said), world.machine.answer(other)), (None, None));
    assert_eq!(world.machine.answer(commit).unwrap().unwrap_err().code, ErrorCode::NOT_READY);
    let also = world.say_all(B, durable);
    assert_eq!((world.lost(said), world.lost(also)), (vec![], vec![]));
    assert_eq!(world.machine.answer(other), None, "what clients cache is not known yet");
    for session in [A, B] {
        world.machine.request(session, MetaOp::DelegationPoll { boot: 2, kept: vec![], moving: vec![] });
    }
    world.machine.later(300);
    let Some(Ok(MetaReply::Attr(attr))) = world.machine.answer(other) else { panic!("it is not answered") };
    assert_eq!((attr.inode, attr.perm), (inode, 0o640));
    // The answer was lost: it is said again.
    let again = world.say_all(A, durable);
    assert_eq!(world.lost(again), []);
}

#[test]
fn what_rests_on_the_changes_of_a_dead_client_is_lost_and_the_rest_is_not() {
    let mut world = World::new(Want::DELEGATIONS);
    let durable = world.position();
    let theirs = world.made(A, create("theirs"));
    world.change(B, chmod(theirs, 0o640)).unwrap();
    let own = world.made(B, create("own"));
    world.cut(durable);
    let said = world.say_all(B, durable);
    assert_eq!(world.machine.answer(said), None);
    for _ in 0..60 {
        world.machine.later(1_000);
        world.machine.request(B, MetaOp::DelegationReturn { delegations: Vec::new() });
    }
    assert_eq!(world.lost(said), [world.numbers(B)[0]]);
    let tables = &world.machine.tables;
    let there = |inode| tables.get(&keys::inode(inode)).unwrap().is_some();
    assert!(there(own) && !there(theirs));
}

#[test]
fn a_second_cut_while_it_is_done_again_loses_nothing() {
    let mut world = World::new(Want::DELEGATIONS);
    let durable = world.position();
    history(&mut world, 77, 30);
    let before = world.rows();
    world.cut(durable);
    let first = [world.say_all(A, durable), world.say_all(B, durable)];
    assert!(first.iter().all(|token| world.lost(*token).is_empty()));
    for left in (world.position() - 25)..world.position() {
        let mut log = world.machine.tables.log();
        log.truncate(left);
        let (machine, told) = (Machine::on(MemTables::of(log), TargetId(1), map_of(1), 3), world.told.clone());
        let mut again = World { machine, told, boot: 3 };
        let tokens = [again.say_all(A, durable), again.say_all(B, durable)];
        assert!(tokens.iter().all(|token| again.lost(*token).is_empty()), "{left}");
        assert_eq!(again.rows(), before, "{left}");
    }
}

#[test]
fn what_was_cut_at_storage_is_not_cut_again() {
    let mut world = World::new(Want::DELEGATIONS);
    let file = InodeId::new(Slot(0), 7).unwrap();
    world.machine.file(file);
    let durable = world.position();
    let longer = MetaOp::SetAttr { inode: file, set: SetAttr { size: Some(1 << 20), ..SetAttr::default() } };
    world.change(A, longer).unwrap();
    assert_eq!(world.machine.truncated.len(), 1);
    let before = world.rows();
    world.cut(durable);
    let said = [world.say_all(A, durable), world.say_all(B, durable)];
    assert_eq!(world.lost(said[0]), []);
    assert!(world.machine.truncated.is_empty(), "clients have written there since");
    assert_eq!(world.rows(), before);
}

#[test]
fn a_client_that_caches_nothing_is_waited_for_as_well() {
    let mut world = World::new(Want::NOTHING);
    let durable = world.position();
    let mine = world.made(A, create("mine"));
    world.change(B, chmod(mine, 0o640)).unwrap();
    world.cut(durable);
    let first = world.say_all(A, durable);
    assert_eq!(world.machine.answer(first), None, "what the other one says late would undo what is done meanwhile");
    let second = world.say_all(B, durable);
    assert_eq!((world.lost(first), world.lost(second)), (vec![], vec![]));
    let Ok(MetaReply::Attr(attr)) = world.change(A, MetaOp::GetAttr { inode: mine }) else { panic!() };
    assert_eq!(attr.perm, 0o640);
}

#[test]
fn what_comes_to_something_else_is_not_done() {
    let mut world = World::new(Want::DELEGATIONS);
    let old = world.made(A, create("file"));
    world.change(A, MetaOp::Close { inode: old }).unwrap();
    let durable = world.position();
    world.change(A, MetaOp::Unlink { parent: InodeId::ROOT, name: name("file") }).unwrap();
    let new = world.made(B, create("file"));
    assert_ne!(old, new);
    world.cut(durable);
    // The first client knows of nothing that it did: the file that it removed is there again.
    let empty = world.say(A, Vec::new(), true);
    assert_eq!(world.machine.answer(empty), None);
    let before = world.rows();
    let said = world.say_all(B, durable);
    assert_eq!(world.lost(said), world.numbers(B));
    assert_eq!(world.rows(), before, "neither is the old file open now, nor is a reply kept");
}

#[test]
fn what_is_said_to_another_run_is_not_taken_for_all_there_is() {
    let mut world = World::new(Want::DELEGATIONS);
    let durable = world.position();
    let file = world.made(A, create("a"));
    world.cut(durable);
    world.cut(durable);
    let late = world.say_to(2, A, Vec::new(), true);
    assert_eq!(world.machine.answer(late).unwrap().unwrap_err().code, ErrorCode::NOT_READY);
    world.say_all(B, durable);
    let said = world.say_all(A, durable);
    assert_eq!(world.lost(said), []);
    assert!(world.machine.tables.get(&keys::inode(file)).unwrap().is_some());
    let late = world.say_to(2, A, Vec::new(), true);
    assert_eq!(world.machine.answer(late).unwrap().unwrap_err().code, ErrorCode::NOT_READY);
}

#[test]
fn a_client_whose_session_ends_while_it_waits_is_not_told_that_all_is_done() {
    let mut world = World::new(Want::DELEGATIONS);
    let durable = world.position();
    world.made(A, create("a"));
    world.cut(durable);
    let said = world.say_all(A, durable);
    for _ in 0..60 {
        world.machine.later(1_000);
        world.machine.request(B, MetaOp::GetAttr { inode: InodeId::ROOT });
    }
    assert_eq!(world.machine.answer(said).unwrap().unwrap_err().code, ErrorCode::STALE_SESSION);
}

#[test]
fn a_session_is_not_closed_before_its_client_has_said_what_it_was_told() {
    let mut world = World::new(Want::DELEGATIONS);
    let durable = world.position();
    let file = world.made(A, create("a"));
    world.cut(durable);
    let code = world.machine.change(A, MetaOp::SessionClose).unwrap_err().code;
    assert_eq!(code, ErrorCode::NOT_READY);
    let said = [world.say_all(A, durable), world.say_all(B, durable)];
    assert!(said.iter().all(|token| world.lost(*token).is_empty()));
    world.machine.change(A, MetaOp::SessionClose).unwrap();
    assert!(world.machine.tables.get(&keys::inode(file)).unwrap().is_some());
}

#[test]
fn a_truncation_that_nobody_was_told_is_over_is_done_whatever_else_was_said_of_the_file_before() {
    let mut world = World::new(Want::DELEGATIONS);
    let file = InodeId::new(Slot(0), 7).unwrap();
    world.machine.file(file);
    let size = |size| MetaOp::SetAttr { inode: file, set: SetAttr { size: Some(size), ..SetAttr::default() } };
    let durable = world.position();
    world.change(A, chmod(file, 0o640)).unwrap();
    world.change(A, size(1 << 20)).unwrap();
    world.cut(durable);
    let said = [world.say_all(A, durable), world.say_all(B, durable)];
    assert!(said.iter().all(|token| world.lost(*token).is_empty()));
    // Both are there now, and the answer that says so is lost. Power fails while another truncation is under way.
    for session in [A, B] {
        world.machine.request(session, MetaOp::DelegationPoll { boot: 2, kept: vec![], moving: vec![] });
    }
    world.machine.slow_storage = true;
    let shorter = world.machine.request(B, size(10));
    assert_eq!((world.machine.answer(shorter), world.machine.truncated.len()), (None, 1));
    world.cut(world.position());
    let said = [world.say_all(A, durable), world.say_all(B, world.position())];
    assert!(said.iter().all(|token| world.lost(*token).is_empty()));
    assert_eq!(world.machine.truncated.len(), 1, "the chunk file is still as long as it was");
}

#[test]
fn a_file_that_is_open_again_outlives_its_last_name_though_it_was_closed_before() {
    let mut world = World::new(Want::DELEGATIONS);
    let file = world.made(A, create("file"));
    let durable = world.position();
    world.change(A, MetaOp::Close { inode: file }).unwrap();
    // Opened under a delegation, which is said when that is returned.
    let back = Returned { inode: file, keep: DelegationMode::None, seq: 0, open: true };
    world.machine.change(A, MetaOp::DelegationReturn { delegations: vec![back] }).unwrap();
    world.change(B, MetaOp::Unlink { parent: InodeId::ROOT, name: name("file") }).unwrap();
    let before = world.rows();
    world.cut(durable);
    let run = world.machine.run();
    world.machine.request(A, MetaOp::Replay(Replay { changes: vec![], last: false, open: vec![file], run: Some(run) }));
    let said = [world.say_all(A, durable), world.say_all(B, durable)];
    assert!(said.iter().all(|token| world.lost(*token).is_empty()));
    assert_eq!(world.rows(), before);
}

#[test]
fn content_that_was_refused_is_not_taken_the_second_time() {
    let mut world = World::new(Want::DELEGATIONS);
    let files = ["one", "two"].map(|text| world.made(A, create(text)));
    let durable = world.position();
    let puts = files.iter().map(|file| put(*file, 0, b"content")).collect();
    let told = world.change(A, MetaOp::PutInlines { puts }).unwrap();
    let MetaReply::Inlines(mut told) = told else { panic!("{told:?}") };
    assert!(told.iter().all(|told| matches!(told, PutOutcome::Taken { .. })), "{told:?}");
    told[0] = PutOutcome::Refused(ErrorCode::BUSY.into());
    world.told.get_mut(&A).unwrap().last_mut().unwrap().reply = codec::encode(&MetaReply::Inlines(told)).into();
    world.cut(durable);
    let said = [world.say_all(A, durable), world.say_all(B, durable)];
    assert!(said.iter().all(|token| world.lost(*token).is_empty()));
    let there = files.map(|file| world.machine.tables.get(&keys::data(file)).unwrap().is_some());
    assert_eq!(there, [false, true]);
}

#[test]
fn what_nobody_was_told_is_not_done() {
    let mut world = World::new(Want::DELEGATIONS);
    let durable = world.position();
    world.made(A, create("a"));
    world.cut(durable);
    let told = world.told[&A][0].clone();
    let request: MetaRequest = codec::decode(&told.request).unwrap();
    let code = |world: &mut World, request: MetaRequest| {
        let change = Acknowledged { request: codec::encode(&request).into(), ..told.clone() };
        let token = world.say(A, vec![change], false);
        world.machine.answer(token).unwrap().map_err(|error| error.code)
    };
    let bad = Err(ErrorCode::BAD_MESSAGE);
    assert_eq!(code(&mut world, MetaRequest { session: B, ..request.clone() }), bad, "another client's");
    assert_eq!(code(&mut world, MetaRequest { sequence: 0, ..request.clone() }), bad, "no change");
    assert_eq!(code(&mut world, MetaRequest { op: MetaOp::Sync, ..request.clone() }), bad);
    // An inode number that this run gives out, and a layout on a target that is not there.
    let MetaReply::Created { new, kind, file, .. } = codec::decode(&told.reply).unwrap() else { panic!() };
    let number = InodeId::new(Slot(0), keys::first_sequence(2) + 5).unwrap();
    let reply = MetaReply::Created { new, kind, inode: number, file: file.clone() };
    world.say(A, vec![Acknowledged { reply: codec::encode(&reply).into(), ..told.clone() }], false);
    let mut file = file.unwrap();
    file.layout.targets = vec![TargetId(77)];
    let reply = MetaReply::Created { new, kind, inode: file.attr.inode, file: Some(file) };
    let second = MetaRequest { sequence: request.sequence + 1, ..request.clone() };
    let second = Acknowledged {
        request: codec::encode(&second).into(),
        reply: codec::encode(&reply).into(),
        position: told.position,
    };
    let said = world.say(A, vec![second], true);
    world.say_all(B, durable);
    assert_eq!(world.lost(said), [request.sequence, request.sequence + 1]);
}
