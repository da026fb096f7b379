// SPDX-License-Identifier: Apache-2.0

//! The metadata servers as they ship (`nyala_namespace::server`), on tables in memory: a thread that owns them all feeds them what
//! happens and carries out their effects.

use super::Inner;
use nyala_kv::Batch;
use nyala_namespace::server::io::{Completion, Durability, Effect, Input, Moment, Tables, Ticket, Token};
use nyala_namespace::server::memory::MemTables;
use nyala_namespace::server::{Identity, Server};
use nyala_namespace::view::View;
use nyala_namespace::{keys, runs, sequences};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::MetaRequest;
use nyala_wire::*;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

pub const SESSION_TIMEOUT_MS: u32 = 1200;

/// What a reply's header says of the log.
#[derive(Clone, Copy, Default)]
pub struct LogState {
    pub run: u32,
    pub durable: u64,
    pub unsynced: u32,
}

/// A reply and what its header says.
pub type Replied = (Result<Vec<u8>, WireError>, LogState);

/// What the thread is told.
pub enum Command {
    Request(usize, MetaRequest, oneshot::Sender<Replied>),
    /// An effect of a run of a server is carried out.
    Completed(usize, u64, Ticket, Completion),
    Do(Box<dyn FnOnce(&mut Machines) + Send>),
}

/// Whom an answer is for.
enum Asker {
    Client(oneshot::Sender<Replied>),
    Server(usize, u64, Ticket),
}

pub struct Machine {
    server: Server,
    pub tables: MemTables,
    pub boot: u64,
    /// So many changes are on disk.
    durable: usize,
    /// Its clock is ahead of the thread's.
    ahead_ms: u64,
    askers: HashMap<Token, Asker>,
    last_token: u64,
    /// Sessions that were made to end and are still there.
    ending: HashSet<SessionId>,
}

impl Machine {
    fn on(log: Vec<Batch>, target: TargetId, map: &Arc<ClusterMap>, boot: u64) -> Machine {
        let (found, tables) = (log.len() as u64, MemTables::of(log));
        let mut batch = sequences::go_on_with(&tables, boot).unwrap();
        runs::begin(&tables, &mut batch, boot, found, None).unwrap();
        tables.apply(&batch).unwrap();
        let identity = Identity { target, boot, seed: boot, split_above: 0 };
        let mut server = Server::new(identity, Box::new(tables.clone()), map.clone());
        server.make_root(Time::default()).unwrap();
        tables.write();
        let (durable, askers, ending) = (tables.applied(), HashMap::new(), HashSet::new());
        Machine { server, tables, boot, durable, ahead_ms: 0, askers, last_token: 0, ending }
    }

    fn log_state(&self, position: Option<u64>) -> LogState {
        let rests_on = position.unwrap_or(self.tables.applied() as u64);
        let unsynced = rests_on.saturating_sub(self.durable as u64) as u32;
        LogState { run: runs::number(self.boot), durable: self.durable as u64, unsynced }
    }

    fn token(&mut self, asker: Asker) -> Token {
        self.last_token += 1;
        self.askers.insert(Token(self.last_token), asker);
        Token(self.last_token)
    }

    /// Sessions that were made to end are gone.
    pub fn has_ended(&self) -> bool {
        self.ending.is_empty()
    }

    fn moment(&self, since: Instant) -> Moment {
        Moment { ms: since.elapsed().as_millis() as u64 + self.ahead_ms, serving: true }
    }
}

/// All metadata servers of a cluster.
pub struct Machines {
    pub list: Vec<Machine>,
    map: Arc<ClusterMap>,
    since: Instant,
    inputs: VecDeque<(usize, Input)>,
    /// Where storage is.
    cluster: Weak<Mutex<Inner>>,
}

/// Serves until nobody is left who could ask.
pub fn serve(commands: &Receiver<Command>, map: ClusterMap, servers: u16, cluster: Weak<Mutex<Inner>>) {
    let map = Arc::new(map);
    let list = (0..servers).map(|i| Machine::on(Vec::new(), TargetId(i + 1), &map, 1)).collect();
    let mut machines = Machines { list, map, since: Instant::now(), inputs: VecDeque::new(), cluster };
    (0..machines.list.len()).for_each(|at| machines.start(at));
    loop {
        match commands.recv_timeout(machines.pause()) {
            Ok(Command::Request(at, request, reply)) => {
                let token = machines.list[at].token(Asker::Client(reply));
                machines.feed(at, Input::Request(token, request));
            }
            Ok(Command::Completed(at, boot, ticket, completion)) => {
                if machines.list[at].boot == boot {
                    machines.feed(at, Input::Completed(ticket, completion));
                }
            }
            Ok(Command::Do(what)) => what(&mut machines),
            Err(RecvTimeoutError::Timeout) => machines.wake(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Machines {
    /// How long nobody is to be woken.
    fn pause(&self) -> Duration {
        let due_ms = |machine: &Machine| {
            let due_ms = machine.server.next_wake()?;
            Some(due_ms.saturating_sub(machine.moment(self.since).ms))
        };
        Duration::from_millis(self.list.iter().filter_map(due_ms).min().unwrap_or(1_000))
    }

    fn wake(&mut self) {
        for at in 0..self.list.len() {
            let machine = &self.list[at];
            if machine.server.next_wake().is_some_and(|due_ms| due_ms <= machine.moment(self.since).ms) {
                self.feed(at, Input::Tick);
            }
        }
    }

    fn start(&mut self, at: usize) {
        let mut effects = Vec::new();
        let machine = &mut self.list[at];
        let now = machine.moment(self.since);
        machine.server.start(now, false, &mut effects).unwrap();
        effects.into_iter().for_each(|effect| self.carry_out(at, effect));
        self.run();
    }

    fn feed(&mut self, at: usize, input: Input) {
        self.inputs.push_back((at, input));
        self.run();
    }

    fn run(&mut self) {
        let mut effects = Vec::new();
        while let Some((at, input)) = self.inputs.pop_front() {
            let machine = &mut self.list[at];
            let now = machine.moment(self.since);
            machine.server.handle(now, input, &mut effects);
            machine.tables.write();
            let tables = &machine.tables;
            machine.ending.retain(|session| tables.get(&keys::session(*session)).unwrap().is_some());
            effects.drain(..).for_each(|effect| self.carry_out(at, effect));
        }
    }

    fn carry_out(&mut self, at: usize, effect: Effect) {
        let machine = &mut self.list[at];
        let boot = machine.boot;
        match effect {
            Effect::Reply(token, result, position) => match machine.askers.remove(&token) {
                // Whoever is gone does not want to know.
                Some(Asker::Client(reply)) => drop(reply.send((result, machine.log_state(position)))),
                _ => panic!("{token:?} is no client's"),
            },
            Effect::Answer(token, result) => match machine.askers.remove(&token) {
                Some(Asker::Server(from, run, ticket)) => self.heard(from, run, ticket, result),
                _ => panic!("{token:?} is no server's"),
            },
            Effect::Log(ticket, durability) => {
                if durability == Durability::OnDisk {
                    machine.durable = machine.tables.applied();
                }
                self.inputs.push_back((at, Input::Completed(ticket, Completion::Logged(Ok(())))));
            }
            Effect::Room(ticket, _) => self.inputs.push_back((at, Input::Completed(ticket, Completion::Room(Ok(()))))),
            Effect::Ask(ticket, target, request) => {
                let asked = usize::from(target.0 - 1);
                let token = self.list[asked].token(Asker::Server(at, boot, ticket));
                self.inputs.push_back((asked, Input::Transaction(token, request)));
            }
            Effect::Truncate(ticket, location, file, len) => self.at_storage(at, ticket, move |inner| {
                let target = if let DataLocation::Target(target) = location { target } else { TargetId(0) };
                if let Some(chunk) = inner.storage.chunks.get_mut(&(target.0, file.inode, file.index)) {
                    chunk.truncate(len as usize);
                }
                Completion::Truncated
            }),
            Effect::Fence(ticket, session) => self.at_storage(at, ticket, move |inner| {
                inner.storage.fenced.insert(session);
                Completion::Fenced(Ok(()))
            }),
            // There is no management.
            Effect::SlotStep(_) => {}
            Effect::Note(_) => {}
        }
    }

    fn heard(&mut self, at: usize, run: u64, ticket: Ticket, result: Result<meta_tx::TxReply, WireError>) {
        if self.list[at].boot == run {
            self.inputs.push_back((at, Input::Completed(ticket, Completion::Heard(result))));
        }
    }

    /// By another thread: whoever looks at a server may hold the lock on storage meanwhile.
    fn at_storage(&self, at: usize, ticket: Ticket, work: impl FnOnce(&mut Inner) -> Completion + Send + 'static) {
        let (cluster, boot) = (self.cluster.clone(), self.list[at].boot);
        std::thread::spawn(move || {
            let Some(cluster) = cluster.upgrade() else { return };
            let mut inner = cluster.lock();
            let completion = work(&mut inner);
            inner.metas.tell(Command::Completed(at, boot, ticket, completion));
        });
    }

    /// Management has a newer map.
    pub fn take_map(&mut self, map: ClusterMap) {
        self.map = Arc::new(map);
        for at in 0..self.list.len() {
            self.feed(at, Input::Map(self.map.clone()));
        }
    }

    /// All sessions are silent for too long.
    pub fn end_sessions(&mut self, at: usize) {
        let machine = &mut self.list[at];
        let mut known = HashSet::new();
        let scanned = machine.tables.scan(&[keys::SESSION], &[keys::SESSION + 1], &mut |key, _| {
            known.extend(keys::parse_session(key));
            ControlFlow::Continue(())
        });
        scanned.unwrap();
        machine.ending = known;
        machine.ahead_ms += u64::from(SESSION_TIMEOUT_MS) + 100;
        self.feed(at, Input::Tick);
    }

    /// The process dies and starts anew; with `power` the machine loses what is not on disk.
    pub fn restart(&mut self, at: usize, power: bool) {
        let machine = &mut self.list[at];
        let mut log = machine.tables.log();
        if power {
            log.truncate(machine.durable);
        }
        let askers = std::mem::take(&mut machine.askers);
        let ahead_ms = machine.ahead_ms;
        *machine = Machine::on(log, TargetId(at as u16 + 1), &self.map, machine.boot + 1);
        machine.ahead_ms = ahead_ms;
        for asker in askers.into_values() {
            if let Asker::Server(from, run, ticket) = asker {
                self.heard(from, run, ticket, Err(ErrorCode::NOT_READY.into()));
            }
        }
        self.start(at);
    }
}
