// SPDX-License-Identifier: Apache-2.0

//! A metadata server without network, clock and disk: the pure steps, driven as `nyala_meta::service` drives them.

use crate::check::rows;
use crate::world::{Address, Body, Cx, Message};
use nyala_kv::Batch;
use nyala_namespace::change::{Change, Fault};
use nyala_namespace::locks::{LockKey, Locks};
use nyala_namespace::ns::{self, Env};
use nyala_namespace::records::{CommittedRecord, PreparedRecord};
use nyala_namespace::sequences::go_on_with;
use nyala_namespace::tx::Plan;
use nyala_namespace::tx::TX_PER_BOOT;
use nyala_namespace::tx::coordinator::{Ask, Coordinator, Heard, decide};
use nyala_namespace::tx::participant::{self, Ended, Prepare};
use nyala_namespace::view::MemView;
use nyala_namespace::{keys, replies};
use nyala_wire::meta::{MetaReply, MetaRequest, Owner};
use nyala_wire::meta_tx::*;
use nyala_wire::*;
use std::collections::{BTreeMap, BTreeSet};

type Key = (SessionId, u64);

/// What a call to another server was for.
enum Call {
    Prepare(u64, usize),
    Parent(u64),
    Tell(u64, TargetId),
    Forget(u64, TargetId),
    Doubt(TxId),
    Abort,
}

/// Who has not confirmed a decision yet, all who have to, and the client's answer that waits for it.
type Telling = (BTreeSet<TargetId>, Vec<TargetId>, Option<Message>);

struct Attempt {
    request: MetaRequest,
    coordinator: Coordinator,
    answers: Vec<Option<Vec<PartResult>>>,
}

/// What happens once the log is written or on disk up to a position.
enum After {
    Send(Message),
    Decided(u64, Key, Vec<TargetId>, MetaReply),
}

pub struct Node {
    pub me: TargetId,
    pub up: bool,
    pub view: MemView,
    log: Vec<Batch>,
    written: usize,
    durable: usize,
    pub locks: Locks,
    pub prepared: BTreeSet<TxId>,
    /// Those of `prepared` that an earlier process prepared.
    taken_up: BTreeSet<TxId>,
    ended: Ended,
    /// How often it was started: messages to an earlier process are lost with it.
    pub boot: u64,
    attempts: BTreeMap<u64, Attempt>,
    undecided: BTreeSet<u64>,
    running: BTreeSet<Key>,
    untold: BTreeMap<u64, Key>,
    telling: BTreeMap<u64, Telling>,
    forgetting: BTreeMap<u64, BTreeSet<TargetId>>,
    calls: BTreeMap<u64, Call>,
    held: Vec<(usize, bool, After)>,
    next_tx: u64,
}

impl Node {
    pub fn new(me: TargetId, tables: Batch) -> Node {
        let mut node = Node {
            me,
            up: false,
            view: MemView::default(),
            log: vec![tables],
            written: 1,
            durable: 1,
            locks: Locks::default(),
            prepared: BTreeSet::new(),
            taken_up: BTreeSet::new(),
            ended: Ended::default(),
            // Range 1 is that of the tables that it begins with.
            boot: 1,
            attempts: BTreeMap::new(),
            undecided: BTreeSet::new(),
            running: BTreeSet::new(),
            untold: BTreeMap::new(),
            telling: BTreeMap::new(),
            forgetting: BTreeMap::new(),
            calls: BTreeMap::new(),
            held: Vec::new(),
            next_tx: 0,
        };
        node.restart();
        node
    }

    /// The process dies, or the machine does; what is left of the log after a power cut is up to `keep`.
    pub fn crash(&mut self, power: Option<u64>) {
        let left = match power {
            None => self.written,
            Some(keep) => self.durable + keep as usize % (self.written - self.durable + 1),
        };
        let (me, mut log) = (self.me, std::mem::take(&mut self.log));
        log.truncate(left);
        let (boot, durable) = (self.boot, self.durable);
        *self = Node { log, written: left, durable, boot, ..Node::empty(me) };
    }

    fn empty(me: TargetId) -> Node {
        let mut node = Node::new(me, Batch::new());
        node.up = false;
        node
    }

    pub fn restart(&mut self) {
        let mut view = MemView::default();
        self.log.iter().for_each(|batch| view.apply(batch));
        // Every start gets a range of its own, whatever was lost.
        let boot = self.boot + 1;
        let batch = go_on_with(&view, boot).unwrap();
        view.apply(&batch);
        self.log.push(batch);
        (self.written, self.durable) = (self.log.len(), self.log.len());
        self.next_tx = boot * TX_PER_BOOT;
        self.boot = boot;
        for (key, value) in rows(&view, keys::PREPARED) {
            let record: PreparedRecord = codec::decode(&value).unwrap();
            let number = u64::from_be_bytes(key[3..].try_into().unwrap());
            let tx = TxId { coordinator: TargetId(u16::from_be_bytes([key[1], key[2]])), number };
            assert!(self.locks.acquire(tx, &participant::locks(&record)), "two prepared transactions in conflict");
            self.prepared.insert(tx);
            self.taken_up.insert(tx);
        }
        for (key, value) in rows(&view, keys::COMMITTED) {
            let record: CommittedRecord = codec::decode(&value).unwrap();
            let number = keys::parse_committed(&key).unwrap();
            self.untold.insert(number, (record.session, record.sequence));
            self.telling.insert(number, (record.participants.iter().copied().collect(), record.participants, None));
        }
        self.view = view;
        self.up = true;
    }

    pub fn flush(&mut self, cx: &mut Cx) {
        self.written = self.log.len();
        self.release(cx);
    }

    pub fn sync(&mut self, cx: &mut Cx) {
        self.durable = self.log.len();
        self.flush(cx);
    }

    fn release(&mut self, cx: &mut Cx) {
        let (written, durable) = (self.written, self.durable);
        let ready = |(at, disk, _): &mut (usize, bool, After)| *at <= if *disk { durable } else { written };
        let ready: Vec<_> = self.held.extract_if(.., ready).collect();
        for (_, _, after) in ready {
            match after {
                After::Send(message) => cx.send(message),
                After::Decided(number, key, participants, reply) => self.decided(cx, number, key, participants, reply),
            }
        }
    }

    fn apply(&mut self, batch: Batch) {
        self.view.apply(&batch);
        self.log.push(batch);
    }

    fn hold(&mut self, disk: bool, after: After) {
        self.held.push((self.log.len(), disk, after));
    }

    fn with<T>(
        &self,
        cx: &mut Cx,
        request: Option<&MetaRequest>,
        tx: Option<TxId>,
        f: impl FnOnce(Change, &Env) -> T,
    ) -> T {
        let random = cx.rng.next();
        let env = Env {
            me: self.me,
            map: cx.map,
            placement: cx.placement,
            session: request.map_or(SessionId(0), |request| request.session),
            unsaid: false,
            owner: Owner { uid: 1, gid: 1 },
            now: request.map_or(Time::default(), |request| request.now),
            random,
        };
        f(Change::new(&self.view, &self.locks, tx), &env)
    }

    fn tx(&self, number: u64) -> TxId {
        TxId { coordinator: self.me, number }
    }

    // --- requests of clients, as in `service::execute` ---

    pub fn request(&mut self, cx: &mut Cx, request: MetaRequest) {
        let key = (request.session, request.sequence);
        if self.running.contains(&key) {
            return; // The client asks again.
        }
        match self.with(cx, None, None, |change, _| replies::kept(&change, &request)) {
            Ok(None) => {}
            Ok(Some(_)) if self.untold.values().any(|untold| *untold == key) => return,
            Ok(Some(body)) => return self.answer(&request, Ok(codec::decode(&body).unwrap())),
            other => panic!("{other:?}"),
        }
        let outcome = self.with(cx, Some(&request), None, |mut change, env| {
            let reply = ns::run(&mut change, env, &request.op)?;
            replies::keep(&mut change, &request, &codec::encode(&reply));
            Ok((reply, change.finish()))
        });
        match outcome {
            Ok((reply, batch)) => {
                self.apply(batch);
                self.answer(&request, Ok(reply));
            }
            Err(Fault::Refused(error)) => self.answer(&request, Err(error)),
            Err(Fault::Blocked) => {}
            Err(Fault::Elsewhere(plan)) => self.attempt(cx, *plan, request),
        }
    }

    fn answer(&mut self, request: &MetaRequest, reply: Result<MetaReply, WireError>) {
        let body = Body::Answer(self.me, request.session, request.sequence, reply);
        self.hold(false, After::Send(Message { to: Address::Client, body }));
    }

    // --- the coordinator, as in `service::coordinate` ---

    fn attempt(&mut self, cx: &mut Cx, plan: Plan, request: MetaRequest) {
        let number = self.next_tx;
        self.next_tx += 1;
        self.undecided.insert(number);
        self.running.insert((request.session, request.sequence));
        self.attempts.insert(number, Attempt { request, coordinator: Coordinator::new(plan), answers: Vec::new() });
        self.step(cx, number, Heard::Ready);
    }

    fn step(&mut self, cx: &mut Cx, number: u64, heard: Heard) {
        let Some(mut attempt) = self.attempts.remove(&number) else { return };
        let tx = self.tx(number);
        let ask = self.with(cx, Some(&attempt.request), Some(tx), |mut change, env| {
            attempt.coordinator.step(&mut change, env, heard)
        });
        match ask {
            Err(fault) => self.failed(cx, number, attempt, fault),
            Ok(Ask::Prepare(list)) => {
                attempt.answers = vec![None; list.len()];
                for (index, (target, stage, parts)) in list.into_iter().enumerate() {
                    let action = TxAction::Prepare { now: attempt.request.now, parts, stage };
                    self.call(cx, target, tx, action, Call::Prepare(number, index));
                }
                self.attempts.insert(number, attempt);
            }
            Ok(Ask::Parent(target, dir)) => {
                self.call(cx, target, tx, TxAction::GetParent { dir }, Call::Parent(number));
                self.attempts.insert(number, attempt);
            }
            Ok(Ask::LockRenames) => {
                if self.locks.acquire(tx, &[LockKey::Rename]) {
                    self.attempts.insert(number, attempt);
                    self.step(cx, number, Heard::Ready);
                } else {
                    self.failed(cx, number, attempt, Fault::Blocked);
                }
            }
            Ok(Ask::Decide { here, reply }) => {
                let participants = attempt.coordinator.participants();
                let disk = !participants.is_empty();
                let (request, all) = (&attempt.request, participants.clone());
                let decided = self.with(cx, Some(request), Some(tx), |change, env| {
                    decide(change, env, request, tx, all, &here, &reply)
                });
                match decided {
                    Err(fault) => self.failed(cx, number, attempt, fault),
                    Ok((_, batch)) => {
                        self.apply(batch);
                        let key = (attempt.request.session, attempt.request.sequence);
                        self.hold(disk, After::Decided(number, key, participants, reply));
                    }
                }
            }
        }
    }

    fn failed(&mut self, cx: &mut Cx, number: u64, attempt: Attempt, fault: Fault) {
        let tx = self.tx(number);
        self.locks.release(tx);
        self.undecided.remove(&number);
        self.running.remove(&(attempt.request.session, attempt.request.sequence));
        for target in attempt.coordinator.participants() {
            self.call(cx, target, tx, TxAction::Abort, Call::Abort);
        }
        match fault {
            Fault::Refused(error) if !matches!(error.code, ErrorCode::BUSY | ErrorCode::NO_TRANSACTION) => {
                self.answer(&attempt.request, Err(error))
            }
            _ => {} // The client asks again; the service would.
        }
    }

    fn decided(&mut self, cx: &mut Cx, number: u64, key: Key, participants: Vec<TargetId>, reply: MetaReply) {
        self.locks.release(self.tx(number));
        self.undecided.remove(&number);
        let body = Body::Answer(self.me, key.0, key.1, Ok(reply));
        let message = Message { to: Address::Client, body };
        if participants.is_empty() {
            self.running.remove(&key);
            return cx.send(message);
        }
        self.telling.insert(number, (participants.iter().copied().collect(), participants, Some(message)));
        self.untold.insert(number, key);
        self.tell(cx, number);
    }

    fn tell(&mut self, cx: &mut Cx, number: u64) {
        let Some((left, ..)) = self.telling.get(&number) else { return };
        for target in left.clone() {
            self.call(cx, target, self.tx(number), TxAction::Commit, Call::Tell(number, target));
        }
    }

    fn call(&mut self, cx: &mut Cx, target: TargetId, tx: TxId, action: TxAction, call: Call) {
        let id = cx.rng.next();
        self.calls.insert(id, call);
        cx.send(Message { to: Address::Server(target), body: Body::Ask(self.me, id, TxRequest { tx, action }) });
    }

    /// An answer to a call, or its time is up.
    pub fn heard(&mut self, cx: &mut Cx, id: u64, answer: Result<TxReply, WireError>) {
        let Some(call) = self.calls.remove(&id) else { return };
        match (call, answer) {
            (Call::Prepare(number, index), Ok(TxReply::Prepared(results))) => {
                let Some(attempt) = self.attempts.get_mut(&number) else { return };
                attempt.answers[index] = Some(results);
                if attempt.answers.iter().all(Option::is_some) {
                    let all = std::mem::take(&mut attempt.answers).into_iter().flatten().flatten().collect();
                    self.step(cx, number, Heard::Prepared(all));
                }
            }
            (Call::Parent(number), Ok(TxReply::Parent(parent))) => self.step(cx, number, Heard::Parent(parent)),
            (Call::Prepare(number, _) | Call::Parent(number), Err(error)) => {
                if let Some(attempt) = self.attempts.remove(&number) {
                    self.failed(cx, number, attempt, Fault::Refused(error));
                }
            }
            (Call::Tell(number, target), Ok(_)) => {
                let Some((left, _, _)) = self.telling.get_mut(&number) else { return };
                left.remove(&target);
                if left.is_empty()
                    && let Some((_, participants, answer)) = self.telling.remove(&number)
                {
                    self.forgetting.insert(number, participants.into_iter().collect());
                    if let Some(key) = self.untold.remove(&number) {
                        self.running.remove(&key);
                    }
                    answer.into_iter().for_each(|message| cx.send(message));
                }
            }
            (Call::Forget(number, target), Ok(_)) => {
                let Some(left) = self.forgetting.get_mut(&number) else { return };
                left.remove(&target);
                if left.is_empty() {
                    self.forgetting.remove(&number);
                    let mut batch = Batch::new();
                    batch.delete(keys::committed(number));
                    self.apply(batch);
                }
            }
            (Call::Doubt(tx), Ok(TxReply::Outcome(outcome))) if outcome != Outcome::Pending => {
                self.end(cx, tx, outcome == Outcome::Committed);
            }
            _ => {}
        }
    }

    // --- the participant, as in `service::participate` ---

    pub fn asked(&mut self, cx: &mut Cx, from: TargetId, id: u64, request: TxRequest) {
        let tx = request.tx;
        let refusal = |fault| match fault {
            Fault::Refused(error) => error,
            _ => ErrorCode::BUSY.into(),
        };
        let (disk, answer) = match request.action {
            TxAction::Prepare { now, parts, stage } => {
                let prepared = self.with(cx, None, Some(tx), |change, _| {
                    participant::prepare(change, &self.ended, tx, now, &parts, stage)
                });
                let results = match prepared {
                    Ok(Prepare::Repeated(results)) => Ok(results),
                    Ok(Prepare::New { batch, locks, results }) => {
                        self.apply(batch);
                        assert!(self.locks.acquire(tx, &locks), "what was free is taken");
                        self.prepared.insert(tx);
                        Ok(results)
                    }
                    Err(fault) => Err(refusal(fault)),
                };
                (true, results.map(TxReply::Prepared))
            }
            TxAction::Commit => {
                let taken_up = self.taken_up.contains(&tx);
                (!self.end(cx, tx, true) || taken_up, Ok(TxReply::Done))
            }
            TxAction::Abort => {
                self.end(cx, tx, false);
                (false, Ok(TxReply::Done))
            }
            TxAction::Status => {
                let undecided = self.undecided.contains(&tx.number);
                let outcome =
                    self.with(cx, None, Some(tx), |change, _| participant::outcome(&change, tx.number, undecided));
                (false, outcome.map(TxReply::Outcome).map_err(refusal))
            }
            // Nobody takes a lock here.
            TxAction::LockEdges => (false, Ok(TxReply::LockEdges(Vec::new()))),
            TxAction::GetParent { dir } => {
                let parent =
                    self.with(cx, None, Some(tx), |mut change, _| change.dir(dir).map(|(_, part)| part.parent));
                (false, parent.map(TxReply::Parent).map_err(refusal))
            }
        };
        let message = Message { to: Address::Server(from), body: Body::Heard(id, answer) };
        self.hold(disk, After::Send(message));
    }

    /// Whether there was something to end.
    fn end(&mut self, cx: &mut Cx, tx: TxId, commit: bool) -> bool {
        let ended = self.with(cx, None, Some(tx), |change, _| participant::end(change, tx, commit));
        let ended = ended.expect("what was prepared cannot fail to be done");
        self.ended.note(tx);
        let Some(batch) = ended else { return false };
        self.apply(batch);
        self.locks.release(tx);
        self.prepared.remove(&tx);
        true
    }

    // --- what runs by itself ---

    /// A call whose answer does not come any more.
    pub fn time_out(&mut self, cx: &mut Cx) {
        let at = cx.rng.below(self.calls.len().max(1));
        if let Some(id) = self.calls.keys().nth(at).copied() {
            self.heard(cx, id, Err(ErrorCode::NOT_READY.into()));
        }
    }

    /// Tells again, forgets, and asks about what is in doubt.
    pub fn tidy(&mut self, cx: &mut Cx) {
        for number in self.telling.keys().copied().collect::<Vec<_>>() {
            self.tell(cx, number);
        }
        for (number, left) in self.forgetting.clone() {
            for target in left {
                self.call(cx, target, self.tx(number), TxAction::Commit, Call::Forget(number, target));
            }
        }
        for tx in self.prepared.clone() {
            self.call(cx, tx.coordinator, tx, TxAction::Status, Call::Doubt(tx));
        }
    }

    /// What is under way, for a failing test.
    pub fn describe(&self) -> String {
        let (undecided, prepared, locks) = (&self.undecided, &self.prepared, &self.locks);
        let telling: Vec<_> = self.telling.iter().map(|(number, (left, ..))| (number, left)).collect();
        let held = self.held.len();
        format!("undecided {undecided:?} telling {telling:?} prepared {prepared:?} {locks:?}, {held} held back")
    }

    /// Nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.locks.is_empty()
            && self.prepared.is_empty()
            && self.attempts.is_empty()
            && self.undecided.is_empty()
            && self.telling.is_empty()
            && self.forgetting.is_empty()
            && rows(&self.view, keys::PREPARED).is_empty()
            && rows(&self.view, keys::COMMITTED).is_empty()
    }
}
