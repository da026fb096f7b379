// SPDX-License-Identifier: Apache-2.0

//! A metadata server without network, clock and disk: the server that ships, on tables in memory.

use crate::check::rows;
use crate::unsynced::Mark;
use crate::world::{Address, Body, Cx, Message};
use nyala_kv::{Batch, Key};
use nyala_namespace::keys;
use nyala_namespace::locks::Locks;
use nyala_namespace::sequences::{go_on_with, known};
use nyala_namespace::server::io::{Completion, Durability, Effect, Input, Moment, Note, Tables, Ticket, Token};
use nyala_namespace::server::memory::MemTables;
use nyala_namespace::server::{Identity, Server};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{Grants, MetaRequest};
use nyala_wire::meta_tx::*;
use nyala_wire::mgmt::SEQUENCES_PER_RANGE;
use nyala_wire::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tasks that never end.
const ALWAYS: usize = 8;

/// Whom an answer is for.
enum Asker {
    Client(SessionId, u64),
    Server(TargetId, u64),
}

pub struct Node {
    pub me: TargetId,
    pub up: bool,
    pub tables: MemTables,
    written: usize,
    durable: usize,
    /// How often it was started: messages to an earlier process are lost with it.
    pub boot: u64,
    /// Only its process died: nothing is missing that it answered for.
    all_answered: bool,
    pub split_above: u64,
    server: Option<Server>,
    now_ms: u64,
    effects: Vec<Effect>,
    askers: BTreeMap<Token, Asker>,
    last_token: u64,
    calls: BTreeMap<u64, Ticket>,
    /// What waits for the log to be written or on disk up to a position.
    logging: Vec<(usize, Durability, Ticket)>,
    /// What leaves once the log is written up to a position.
    held: Vec<(usize, Message)>,
}

impl Node {
    pub fn new(me: TargetId, tables: Batch, map: &ClusterMap, range: u64, split_above: u64) -> Node {
        // Range 1 is that of the tables that it begins with.
        let mut node = Node::down((me, split_above), vec![tables], 1, 1);
        node.restart(map, range);
        node
    }

    fn down((me, split_above): (TargetId, u64), log: Vec<Batch>, durable: usize, boot: u64) -> Node {
        Node {
            me,
            up: false,
            written: log.len(),
            durable,
            tables: MemTables::of(log),
            boot,
            all_answered: false,
            split_above,
            server: None,
            now_ms: 0,
            effects: Vec::new(),
            askers: BTreeMap::new(),
            last_token: 0,
            calls: BTreeMap::new(),
            logging: Vec::new(),
            held: Vec::new(),
        }
    }

    /// The process dies, or the machine does; what is left of the log after a power cut is up to `keep`.
    pub fn crash(&mut self, power: Option<u64>) {
        let left = match power {
            None => self.written,
            Some(keep) => self.durable + keep as usize % (self.written - self.durable + 1),
        };
        let mut log = self.tables.log();
        log.truncate(left);
        let answered = power.is_none();
        *self = Node::down((self.me, self.split_above), log, self.durable, self.boot);
        self.all_answered = answered;
    }

    /// Every start gets a range of inode numbers that no server had before, whatever was lost.
    pub fn restart(&mut self, map: &ClusterMap, range: u64) {
        self.boot = range;
        let mut log = self.tables.log();
        log.push(go_on_with(&self.tables, self.boot).unwrap());
        (self.written, self.durable) = (log.len(), log.len());
        self.tables = MemTables::of(log);
        let identity = Identity { target: self.me, boot: self.boot, seed: self.boot, split_above: self.split_above };
        let mut server = Server::new(identity, Box::new(self.tables.clone()), Arc::new(map.clone()));
        server.start(self.moment(), self.all_answered, &mut self.effects).expect("the tables can be taken up");
        self.server = Some(server);
        self.up = true;
    }

    fn moment(&self) -> Moment {
        Moment { ms: self.now_ms, serving: true }
    }

    fn feed(&mut self, cx: &mut Cx, input: Input) {
        self.now_ms += 1;
        let now = self.moment();
        let server = self.server.as_mut().expect("it is up");
        if server.next_wake().is_some_and(|due_ms| due_ms <= now.ms) {
            server.handle(now, Input::Tick, &mut self.effects);
        }
        server.handle(now, input, &mut self.effects);
        self.carry_out(cx);
    }

    fn carry_out(&mut self, cx: &mut Cx) {
        let applied = self.tables.applied();
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Reply(token, result, position) => {
                    let reply = result.map(|body| codec::decode(Grants::split(&body).unwrap().1).unwrap());
                    let Some(Asker::Client(session, sequence)) = self.askers.remove(&token) else {
                        panic!("a reply to nobody")
                    };
                    let (durable, position) = (self.durable as u64, position.unwrap_or(applied as u64));
                    let mark = Mark { run: self.boot, durable, position };
                    let body = Body::Answer(self.me, session, sequence, reply, mark);
                    self.held.push((applied, Message { to: Address::Client, body }));
                }
                Effect::Answer(token, answer) => {
                    let Some(Asker::Server(from, id)) = self.askers.remove(&token) else { panic!("asked by nobody") };
                    let message = Message { to: Address::Server(from), body: Body::Heard(id, answer) };
                    self.held.push((applied, message));
                }
                Effect::Log(ticket, durability) => self.logging.push((applied, durability, ticket)),
                Effect::Ask(ticket, target, request) => {
                    let id = cx.rng.bits();
                    self.calls.insert(id, ticket);
                    cx.send(Message { to: Address::Server(target), body: Body::Ask(self.me, id, request) });
                }
                Effect::SlotStep(step) => cx.send(Message { to: Address::Mgmt, body: Body::Step(step) }),
                Effect::Note(Note::SlotNotTaken(error)) => panic!("what came can be read: {error}"),
                Effect::Note(Note::CannotEnd(tx, fault)) => panic!("what was prepared cannot fail: {tx:?} {fault}"),
                Effect::Note(_) => {}
                other => panic!("nobody does that here: {other:?}"),
            }
        }
    }

    pub fn flush(&mut self, cx: &mut Cx) {
        self.written = self.tables.applied();
        self.tables.write();
        self.release(cx);
    }

    pub fn sync(&mut self, cx: &mut Cx) {
        self.durable = self.tables.applied();
        self.flush(cx);
    }

    fn release(&mut self, cx: &mut Cx) {
        let (written, durable) = (self.written, self.durable);
        for (_, message) in self.held.extract_if(.., |(at, _)| *at <= written) {
            cx.send(message);
        }
        let safe = |(at, durability, _): &mut (usize, Durability, Ticket)| match durability {
            Durability::Written => *at <= written,
            Durability::OnDisk => *at <= durable,
        };
        for (_, _, ticket) in self.logging.extract_if(.., safe).collect::<Vec<_>>() {
            self.feed(cx, Input::Completed(ticket, Completion::Logged(Ok(()))));
        }
    }

    fn token(&mut self, asker: Asker) -> Token {
        self.last_token += 1;
        self.askers.insert(Token(self.last_token), asker);
        Token(self.last_token)
    }

    pub fn request(&mut self, cx: &mut Cx, request: MetaRequest) {
        let token = self.token(Asker::Client(request.session, request.sequence));
        self.feed(cx, Input::Request(token, request));
    }

    pub fn asked(&mut self, cx: &mut Cx, from: TargetId, id: u64, request: TxRequest) {
        let token = self.token(Asker::Server(from, id));
        self.feed(cx, Input::Transaction(token, request));
    }

    /// An answer to a call, or its time is up.
    pub fn heard(&mut self, cx: &mut Cx, id: u64, answer: Result<TxReply, WireError>) {
        if let Some(ticket) = self.calls.remove(&id) {
            self.feed(cx, Input::Completed(ticket, Completion::Heard(answer)));
        }
    }

    /// The newest map.
    pub fn learn(&mut self, cx: &mut Cx, map: &ClusterMap) {
        if self.server.as_ref().is_some_and(|server| server.map().version < map.version) {
            self.feed(cx, Input::Map(Arc::new(map.clone())));
        }
    }

    /// Whether it knows the newest map, and has nothing of slots that are not its own.
    pub fn is_settled(&self, map: &ClusterMap) -> bool {
        let mine = |key: &Key| keys::parse_slot(key).is_none_or(|slot| map.slot_target(slot) == Some(self.me));
        let knows = self.server.as_ref().is_some_and(|server| server.map().version == map.version);
        knows && self.tables.view().0.keys().all(mine)
    }

    /// Whether it serves a slot, as far as it knows.
    pub fn serves(&self, slot: Slot) -> bool {
        self.server.as_ref().is_some_and(|server| server.map().slot_target(slot) == Some(self.me))
    }

    /// A call whose answer does not come any more.
    pub fn time_out(&mut self, cx: &mut Cx) {
        let at = cx.rng.index(self.calls.len().max(1));
        if let Some(id) = self.calls.keys().nth(at).copied() {
            self.heard(cx, id, Err(ErrorCode::NOT_READY.into()));
        }
    }

    /// Whether its numbers come to their end: slots that came may have used most of them.
    pub fn needs_range(&self) -> bool {
        let known = known(&self.tables).unwrap();
        known.next + SEQUENCES_PER_RANGE / 4 >= known.range * SEQUENCES_PER_RANGE
    }

    /// It gets another range.
    pub fn go_on_with(&mut self, range: u64) {
        self.tables.apply(&go_on_with(&self.tables, range).unwrap()).unwrap();
    }

    /// Time passes.
    pub fn pass(&mut self, cx: &mut Cx) {
        self.now_ms += 100 + cx.rng.index(1_500) as u64;
        self.feed(cx, Input::Tick);
    }

    /// Whether whoever looks is answered.
    pub fn answers(&self) -> bool {
        let state = self.server.as_ref().map(|server| server.state());
        state.is_some_and(|state| state.replays.over() && state.delegations.recovered())
    }

    /// Locks of transactions, while it is up.
    pub fn locks(&self) -> Option<&Locks> {
        self.server.as_ref().map(|server| &server.state().ground.locks)
    }

    /// How often something was counted.
    pub fn counted(&self, name: &str) -> u64 {
        self.server.as_ref().and_then(|server| server.state().counters.get(name)).copied().unwrap_or(0)
    }

    /// What is under way, for a failing test.
    pub fn describe(&self) -> String {
        let Some(server) = &self.server else { return "down".to_owned() };
        let state = server.state();
        let (undecided, prepared, locks) = (&state.undecided, &state.prepared, &state.ground.locks);
        let (tasks, held, calls) = (state.tasks(), self.held.len(), self.calls.len());
        let running = &state.running;
        format!(
            "considered {:?} replays {:?} recovered {} map {:?} leaving {:?} foreign {:?} undecided {undecided:?} prepared {prepared:?} {locks:?} running {running:?}, {tasks} tasks, {calls} calls, \
             {held} held back",
            state.considered,
            state.replays,
            state.delegations.recovered(),
            server.map().version,
            state.leaving,
            self.tables
                .view()
                .0
                .keys()
                .filter_map(|key| keys::parse_slot(key))
                .collect::<std::collections::BTreeSet<_>>(),
        )
    }

    /// Nothing is under way.
    pub fn is_quiet(&self) -> bool {
        let Some(server) = &self.server else { return false };
        let state = server.state();
        let quiet = state.ground.locks.is_empty()
            && state.prepared.is_empty()
            && state.undecided.is_empty()
            && state.running.is_empty()
            && state.unacknowledged.is_empty()
            && state.acknowledged.is_empty()
            && state.considered.is_empty()
            && state.tasks() == ALWAYS
            && self.held.is_empty();
        let view = self.tables.view();
        quiet && rows(&view, keys::PREPARED).is_empty() && rows(&view, keys::COMMITTED).is_empty()
    }
}
