// SPDX-License-Identifier: Apache-2.0

//! One metadata server on tables in memory: a log that is always at once on disk, storage that does what it is told, other
//! servers that the test plays.

#![allow(dead_code, reason = "each test program uses its own part")]

use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::records::{DirPart, FilePart, InodeRecord};
use nyala_namespace::sequences::go_on_with;
use nyala_namespace::server::io::{Completion, Effect, Input, Moment, Note, Ticket, Token};
use nyala_namespace::server::memory::MemTables;
use nyala_namespace::server::{Identity, Server, Waited};
use nyala_wire::map::*;
use nyala_wire::meta::*;
use nyala_wire::meta_tx::{TxReply, TxRequest};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Metadata servers 1 to `servers`, each with one slot, and a storage target.
pub fn map_of(servers: u16) -> ClusterMap {
    let target = |id: u16, kind| Target {
        id: TargetId(id),
        alias: format!("t{id}"),
        kind,
        node: NodeId(id.into()),
        pool: PoolId(1),
        reachability: Reachability::Online,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let mut targets: Vec<Target> = (1..=servers).map(|id| target(id, TargetKind::Meta)).collect();
    targets.push(target(101, TargetKind::Storage));
    ClusterMap {
        version: MapVersion(1),
        targets,
        pools: vec![Pool { id: PoolId(1), alias: "default".into() }],
        slots: (1..=servers).map(|id| SlotRange { first: Slot(id - 1), count: 1, target: TargetId(id) }).collect(),
        ..ClusterMap::default()
    }
}

pub struct Machine {
    pub server: Server,
    pub tables: MemTables,
    pub now_ms: u64,
    /// What other servers were asked and the test has not answered.
    pub asked: VecDeque<(Ticket, TargetId, TxRequest)>,
    /// Other servers do not answer.
    pub silent_peers: bool,
    /// Chunk files that storage was told to truncate, and sessions that it was told to fence.
    pub truncated: Vec<(ChunkFileId, u64)>,
    pub fenced: Vec<SessionId>,
    /// Truncations and fences take time: the test completes them.
    pub slow_storage: bool,
    pub storage: VecDeque<(Ticket, Completion)>,
    /// The log is not written until the test says so.
    pub slow_log: bool,
    pub logging: VecDeque<Ticket>,
    pub notes: Vec<Note>,
    clients: BTreeMap<Token, Result<MetaReply, WireError>>,
    grants: BTreeMap<Token, Grants>,
    positions: BTreeMap<Token, Option<u64>>,
    waited: BTreeMap<Token, Waited>,
    servers: BTreeMap<Token, Result<TxReply, WireError>>,
    last_token: u64,
    sequence: u64,
    boot: u64,
}

impl Machine {
    pub fn new(target: TargetId, map: ClusterMap) -> Machine {
        Machine::on(MemTables::default(), target, map, 1)
    }

    /// On tables that another run left.
    pub fn on(tables: MemTables, target: TargetId, map: ClusterMap, boot: u64) -> Machine {
        Machine::start(tables, (target, boot), map, false)
    }

    /// The same for another member of a mirror group, which has everything that the run before answered for.
    pub fn taking_over(tables: MemTables, target: TargetId, map: ClusterMap, boot: u64) -> Machine {
        Machine::start(tables, (target, boot), map, true)
    }

    fn start(tables: MemTables, (target, boot): (TargetId, u64), map: ClusterMap, all_answered: bool) -> Machine {
        let batch = go_on_with(&tables, boot).unwrap();
        nyala_namespace::server::io::Tables::apply(&tables, &batch).unwrap();
        let identity = Identity { target, boot, seed: 7, split_above: 0 };
        let server = Server::new(identity, Box::new(tables.clone()), Arc::new(map));
        let mut machine = Machine {
            server,
            tables,
            now_ms: 0,
            asked: VecDeque::new(),
            silent_peers: false,
            truncated: Vec::new(),
            fenced: Vec::new(),
            slow_storage: false,
            storage: VecDeque::new(),
            slow_log: false,
            logging: VecDeque::new(),
            notes: Vec::new(),
            clients: BTreeMap::new(),
            grants: BTreeMap::new(),
            positions: BTreeMap::new(),
            waited: BTreeMap::new(),
            servers: BTreeMap::new(),
            last_token: 0,
            sequence: boot << 32,
            boot,
        };
        machine.server.make_root(Time::default()).unwrap();
        let mut effects = Vec::new();
        machine.server.start(machine.moment(), all_answered, &mut effects).unwrap();
        machine.carry_out(effects);
        machine
    }

    /// Number of this run of the server.
    pub fn run(&self) -> u32 {
        nyala_namespace::runs::number(self.boot)
    }

    fn moment(&self) -> Moment {
        Moment { ms: self.now_ms, serving: true }
    }

    pub fn feed(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.server.handle(self.moment(), input, &mut effects);
        self.carry_out(effects);
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Reply(token, result, position) => {
                    self.positions.insert(token, position);
                    self.waited.insert(token, self.server.take_waited(token));
                    let reply = result.map(|body| {
                        let (grants, reply) = Grants::split(&body).unwrap();
                        self.grants.insert(token, grants);
                        codec::decode(reply).unwrap()
                    });
                    assert!(self.clients.insert(token, reply).is_none(), "answered twice");
                }
                Effect::Answer(token, result) => {
                    assert!(self.servers.insert(token, result).is_none(), "answered twice");
                }
                Effect::Log(ticket, _) if self.slow_log => self.logging.push_back(ticket),
                Effect::Log(ticket, _) => {
                    self.tables.write();
                    self.feed(Input::Completed(ticket, Completion::Logged(Ok(()))));
                }
                Effect::Room(ticket, _) => self.feed(Input::Completed(ticket, Completion::Room(Ok(())))),
                Effect::Ask(ticket, ..) if self.silent_peers => {
                    self.heard(ticket, Err(ErrorCode::NOT_READY.into()));
                }
                Effect::Ask(ticket, target, request) => self.asked.push_back((ticket, target, request)),
                Effect::Truncate(ticket, _, file, len) => {
                    self.truncated.push((file, len));
                    self.stored(ticket, Completion::Truncated);
                }
                Effect::Fence(ticket, session) => {
                    self.fenced.push(session);
                    self.stored(ticket, Completion::Fenced(Ok(())));
                }
                // There is no management.
                Effect::SlotStep(_) => {}
                Effect::Note(note) => self.notes.push(note),
            }
        }
    }

    fn stored(&mut self, ticket: Ticket, completion: Completion) {
        match self.slow_storage {
            true => self.storage.push_back((ticket, completion)),
            false => self.feed(Input::Completed(ticket, completion)),
        }
    }

    /// Storage has done what it was told.
    pub fn storage_is_done(&mut self) {
        while let Some((ticket, completion)) = self.storage.pop_front() {
            self.feed(Input::Completed(ticket, completion));
        }
    }

    /// The log is on disk.
    pub fn log_is_done(&mut self) {
        self.tables.write();
        while let Some(ticket) = self.logging.pop_front() {
            self.feed(Input::Completed(ticket, Completion::Logged(Ok(()))));
        }
    }

    /// Time passes; the server is woken whenever it is due.
    pub fn later(&mut self, ms: u64) {
        let until_ms = self.now_ms + ms;
        while let Some(due_ms) = self.server.next_wake().filter(|due_ms| *due_ms <= until_ms) {
            self.now_ms = self.now_ms.max(due_ms);
            self.feed(Input::Tick);
        }
        self.now_ms = until_ms;
    }

    pub fn heard(&mut self, ticket: Ticket, answer: Result<TxReply, WireError>) {
        self.feed(Input::Completed(ticket, Completion::Heard(answer)));
    }

    fn token(&mut self) -> Token {
        self.last_token += 1;
        Token(self.last_token)
    }

    /// Another server's request; its answer, if there is one already.
    pub fn transaction(&mut self, request: TxRequest) -> Option<Result<TxReply, WireError>> {
        let token = self.token();
        self.feed(Input::Transaction(token, request));
        self.servers.get(&token).cloned()
    }

    pub fn send(&mut self, request: MetaRequest) -> Token {
        let token = self.token();
        self.feed(Input::Request(token, request));
        token
    }

    /// A request of a client, with a sequence number of its own.
    pub fn numbered(&mut self, session: SessionId, op: MetaOp, want: Want) -> MetaRequest {
        self.sequence += 1;
        let now = Time { seconds: 1_000_000 + self.sequence as i64, nanos: 0 };
        let owner = Owner { uid: 1, gid: 1 };
        MetaRequest { session, sequence: self.sequence, acked_below: 0, owner, now, op, want, caller: None, user: None }
    }

    /// Sends a request that caches nothing.
    pub fn request(&mut self, session: SessionId, op: MetaOp) -> Token {
        let request = self.numbered(session, op, Want::NOTHING);
        self.send(request)
    }

    /// The same where the answer comes at once.
    pub fn change(&mut self, session: SessionId, op: MetaOp) -> Result<MetaReply, WireError> {
        let token = self.request(session, op);
        self.answer(token).expect("it is answered at once")
    }

    pub fn answer(&self, token: Token) -> Option<Result<MetaReply, WireError>> {
        self.clients.get(&token).cloned()
    }

    /// Place in the log of the change that it answers.
    pub fn position(&self, token: Token) -> Option<u64> {
        self.positions[&token]
    }

    /// What was waited for until it was answered.
    pub fn waited(&self, token: Token) -> &[(&'static str, u64)] {
        &self.waited[&token]
    }

    pub fn granted(&self, token: Token) -> Grants {
        self.grants[&token]
    }

    pub fn open_session(&mut self, session: SessionId) {
        self.open_session_wanting(session, Want::NOTHING);
    }

    pub fn open_session_wanting(&mut self, session: SessionId, want: Want) {
        let op = MetaOp::SessionOpen { client: format!("client {session}") };
        let request = self.numbered(session, op, want);
        let token = self.send(request);
        assert!(self.answer(token).is_some_and(|answer| answer.is_ok()));
    }

    /// A file without a name, as far as locks and attributes need one.
    pub fn file(&mut self, inode: InodeId) {
        let record = InodeRecord {
            kind: FileKind::File,
            perm: 0o644,
            nlink: 1,
            uid: 1,
            gid: 1,
            size: 0,
            atime: Time::default(),
            mtime: Time::default(),
            ctime: Time::default(),
            btime: Time::default(),
            rdev: None,
            dir: None::<DirPart>,
            file: Some(FilePart {
                layout: Layout {
                    pattern: Pattern::Raid0,
                    chunk_bytes: 1 << 16,
                    targets: vec![TargetId(101)],
                    moves: 0,
                    code: None,
                },
                inline_version: None,
                inline_limit: 0,
                allocated: None,
                unnamed: None,
                tail: None,
            }),
            xattr_bytes: None,
        };
        let mut batch = Batch::new();
        batch.put(keys::inode(inode), codec::encode(&record));
        nyala_namespace::server::io::Tables::apply(&self.tables, &batch).unwrap();
    }
}
