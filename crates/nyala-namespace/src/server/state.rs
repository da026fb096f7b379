// SPDX-License-Identifier: Apache-2.0

//! What a metadata server keeps in memory besides its tables, and the tasks that are under way.

use super::considered::Considered;
use super::delays::{Delay, Delays, Waited};
use super::ground::Ground;
use super::io::{Completion, Durability, Effect, Moment, Note, Ticket, Token};
use super::lock_waits::LockWaits;
use super::op_names::OP_NAMES;
use super::reasons;
use super::replays::Replays;
use super::slots::Leaving;
use super::waits::{Event, TaskId, Wait, Waits};
use crate::delegations::Delegations;
use crate::doubts::Doubts;
use crate::listings::Listings;
use crate::lock_checks::LockChecks;
use crate::locks::LockKey;
use crate::sessions::Sessions;
use crate::tx::TX_PER_BOOT;
use crate::tx::participant::Ended;
use nyala_kv::{Batch, ChangeKind};
use nyala_wire::meta_tx::{TxAction, TxId, TxReply, TxRequest};
use nyala_wire::{ErrorCode, InodeId, SessionId, TargetId, WireError};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Something that is under way: it goes on whenever what it waits for has come. Its step looks again at everything, since
/// anything may have changed while it waited.
pub trait Task {
    /// Goes on as far as it can.
    fn step(&mut self, state: &mut State) -> Progress;
}

/// How far a task came.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is over.
    Done,
    /// It goes on when this has come, or something that it asked for is completed.
    Wait(Wait),
}

/// A promise to a coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// When it was made, or found in the tables.
    pub since_ms: u64,
    /// It was made by an earlier process. The coordinator may have been told already that it was kept, by one that lost
    /// power before that was on disk; so next time it has to be.
    pub recovered: bool,
}

/// A request of a session, by its sequence number.
pub type RequestKey = (SessionId, u64);

/// A metadata server at work.
pub struct State {
    /// What operations run on.
    pub ground: Ground,
    /// Number of this run of the server.
    pub boot: u64,
    /// The moment of the current input.
    pub now: Moment,
    /// Sessions.
    pub sessions: Sessions,
    /// Who may cache what.
    pub delegations: Delegations,
    /// Files that storage may have too much of.
    pub doubts: Doubts,
    /// Listings that were begun.
    pub listings: Listings,
    /// Questions to holders of file locks.
    pub lock_checks: LockChecks,
    /// Who waits for which lock of a file.
    pub lock_waits: LockWaits,
    /// What clients do again that a power cut took back.
    pub replays: Replays,
    /// Sessions that poll for what they are to be told.
    pub polls: BTreeSet<SessionId>,
    /// Changing requests under way.
    pub running: HashSet<RequestKey>,
    /// Transactions that this server coordinates and that are not decided.
    pub undecided: BTreeSet<u64>,
    /// Requests whose transactions were decided in an earlier run, and whose participants have not all acknowledged that.
    pub unacknowledged: HashSet<RequestKey>,
    /// Decided transactions that all participants have done, but perhaps not yet on disk.
    pub acknowledged: Vec<(u64, Vec<TargetId>)>,
    /// Transactions prepared here for other coordinators.
    pub prepared: BTreeMap<TxId, Promise>,
    /// Transactions of other coordinators that ended here lately.
    pub ended: Ended,
    /// The slot that is being given to another server.
    pub leaving: Option<Leaving>,
    /// Directories that may have the wrong number of fragments.
    pub considered: Considered,
    /// Replaced files that are being removed.
    pub unlinking: BTreeSet<InodeId>,
    /// Number of operations by their numbers.
    pub ops: [u64; OP_NAMES.len()],
    /// Number of other things by name.
    pub counters: BTreeMap<&'static str, u64>,
    next_tx: u64,
    waits: Waits,
    tasks: HashMap<TaskId, (Box<dyn Task>, Delay)>,
    pub(super) delays: Delays,
    current: TaskId,
    last_task: u64,
    last_ticket: u64,
    tickets: HashMap<Ticket, TaskId>,
    completed: BTreeMap<(TaskId, Ticket), Completion>,
    pub(super) effects: Vec<Effect>,
}

impl State {
    /// A server that knows nothing yet but its tables.
    pub fn new(ground: Ground, boot: u64) -> State {
        State {
            ground,
            boot,
            now: Moment::default(),
            sessions: Sessions::default(),
            delegations: Delegations::default(),
            doubts: Doubts::default(),
            listings: Listings::default(),
            lock_checks: LockChecks::default(),
            lock_waits: LockWaits::default(),
            replays: Replays::default(),
            polls: BTreeSet::new(),
            running: HashSet::new(),
            undecided: BTreeSet::new(),
            unacknowledged: HashSet::new(),
            acknowledged: Vec::new(),
            prepared: BTreeMap::new(),
            ended: Ended::default(),
            leaving: None,
            considered: Considered::default(),
            unlinking: BTreeSet::new(),
            ops: [0; OP_NAMES.len()],
            counters: BTreeMap::new(),
            next_tx: boot * TX_PER_BOOT,
            waits: Waits::default(),
            tasks: HashMap::new(),
            delays: Delays::default(),
            current: TaskId(0),
            last_task: 0,
            last_ticket: 0,
            tickets: HashMap::new(),
            completed: BTreeMap::new(),
            effects: Vec::new(),
        }
    }

    /// A transaction number that was never used before.
    pub fn new_tx(&mut self) -> TxId {
        let number = self.next_tx;
        self.next_tx += 1;
        assert!(number / TX_PER_BOOT == self.boot, "transaction numbers of one run are used up");
        TxId { coordinator: self.ground.me, number }
    }

    /// Counts something.
    pub fn count(&mut self, name: &'static str) {
        *self.counters.entry(name).or_default() += 1;
    }

    // --- tables and locks ---

    /// Applies a batch; it is visible at once.
    pub fn apply(&mut self, batch: &Batch) -> Result<(), WireError> {
        if batch.is_empty() {
            return Ok(());
        }
        if let Some(leaving) = &mut self.leaving {
            leaving.note(batch);
        }
        self.ground.tables.apply(batch)
    }

    /// Takes locks for a transaction; `BUSY` if another one stands in the way.
    pub fn lock(&mut self, tx: TxId, keys: &[LockKey]) -> Result<(), WireError> {
        if self.ground.locks.acquire(tx, keys) { Ok(()) } else { Err(ErrorCode::BUSY.into()) }
    }

    /// Releases a transaction's locks; who waits for some goes on.
    pub fn unlock(&mut self, tx: TxId) {
        self.ground.locks.release(tx);
        self.wake(Event::Released);
    }

    // --- tasks ---

    /// Runs a new task until it is over or has to wait.
    #[inline]
    pub fn run(&mut self, mut task: impl Task + 'static) {
        self.last_task += 1;
        let id = TaskId(self.last_task);
        let outer = std::mem::replace(&mut self.current, id);
        // A task that goes on for another one has waited as long.
        let waited = self.delays.current.clone();
        match task.step(self) {
            Progress::Done => self.end(id),
            Progress::Wait(wait) => self.park(id, Box::new(task), wait),
        }
        self.delays.current = waited;
        self.current = outer;
    }

    /// Has a new task begin after the current one.
    pub fn begin(&mut self, task: impl Task + 'static) {
        self.last_task += 1;
        let id = TaskId(self.last_task);
        let delay = Delay { since_ms: self.now.ms, reason: "begin", waited: Waited::new() };
        self.tasks.insert(id, (Box::new(task), delay));
        self.waits.begin(id);
    }

    fn park(&mut self, id: TaskId, task: Box<dyn Task>, wait: Wait) {
        let (reason, waited) = (reasons::word(wait, self.delays.asked), std::mem::take(&mut self.delays.current));
        self.waits.park(id, wait);
        self.tasks.insert(id, (task, Delay { since_ms: self.now.ms, reason, waited }));
    }

    /// Runs all tasks that may go on.
    #[inline]
    pub(super) fn run_ready(&mut self) {
        while let Some(id) = self.waits.next_ready() {
            let Some((mut task, delay)) = self.tasks.remove(&id) else { continue };
            self.current = id;
            // What it asked for is still under way if it waits for that again.
            self.delays.asked = delay.reason;
            self.delays.current = delay.end(self.now.ms);
            match task.step(self) {
                Progress::Done => self.end(id),
                Progress::Wait(wait) => self.park(id, task, wait),
            }
        }
        self.delays.current.clear();
    }

    fn end(&mut self, id: TaskId) {
        // What it asked for and did not wait to hear.
        while let Some((&key, _)) = self.completed.range((id, Ticket(0))..=(id, Ticket(u64::MAX))).next() {
            self.completed.remove(&key);
        }
    }

    /// An event has come: all who wait for it go on after the current task.
    #[inline]
    pub fn wake(&mut self, event: Event) {
        self.waits.wake_all(event);
    }

    /// These sessions have something to be told: one poll of each goes on.
    pub fn ring(&mut self, sessions: impl IntoIterator<Item = SessionId>) {
        sessions.into_iter().for_each(|session| self.waits.wake_one(Event::Poll(session)));
    }

    /// Whoever waits until now or earlier goes on.
    pub(super) fn pass(&mut self) {
        self.waits.pass(self.now.ms);
    }

    /// The earliest moment that a task waits for.
    pub(super) fn next_ms(&self) -> Option<u64> {
        self.waits.next_ms()
    }

    /// Number of tasks under way.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    // --- effects ---

    /// Answers a client.
    #[inline]
    pub fn reply(&mut self, token: Token, result: Result<Vec<u8>, WireError>) {
        self.delays.answers(token);
        self.effects.push(Effect::Reply(token, result, None));
    }

    /// Answers a change whose record is at this place of the log.
    #[inline]
    pub fn reply_to_change(&mut self, token: Token, result: Result<Vec<u8>, WireError>, position: Option<u64>) {
        self.delays.answers(token);
        self.effects.push(Effect::Reply(token, result, position));
    }

    /// Answers another server.
    pub fn answer(&mut self, token: Token, result: Result<TxReply, WireError>) {
        self.effects.push(Effect::Answer(token, result));
    }

    /// Tells the operator.
    pub fn note(&mut self, note: Note) {
        self.effects.push(Effect::Note(note));
    }

    /// Has everything that is applied made safe.
    pub fn log(&mut self, durability: Durability) -> Ticket {
        self.ask_for(|ticket| Effect::Log(ticket, durability))
    }

    /// Asks for room in the tables.
    pub fn ask_room(&mut self, kind: Option<ChangeKind>) -> Ticket {
        self.ask_for(|ticket| Effect::Room(ticket, kind))
    }

    /// Asks another server.
    pub fn ask(&mut self, target: TargetId, tx: TxId, action: TxAction) -> Ticket {
        self.ask_for(|ticket| Effect::Ask(ticket, target, TxRequest { tx, action }))
    }

    /// Has something done whose outcome the current task waits for.
    pub fn ask_for(&mut self, effect: impl FnOnce(Ticket) -> Effect) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.tickets.insert(ticket, self.current);
        let effect = effect(ticket);
        self.delays.asked = effect.word();
        self.effects.push(effect);
        ticket
    }

    /// Has something done whose outcome nobody waits for.
    pub fn ask_and_forget(&mut self, effect: impl FnOnce(Ticket) -> Effect) {
        let current = std::mem::take(&mut self.current);
        self.ask_for(effect);
        self.current = current;
    }

    /// What the current task's ticket came to, once it is completed.
    pub fn completed(&mut self, ticket: Ticket) -> Option<Completion> {
        self.completed.remove(&(self.current, ticket))
    }

    /// The same where the log was asked for.
    pub fn logged(&mut self, ticket: Ticket) -> Option<Result<(), WireError>> {
        self.completed(ticket).map(|completion| match completion {
            Completion::Logged(result) => result,
            // why: each ticket is completed once, with the kind that belongs to its effect.
            other => unreachable!("the log came to {other:?}"),
        })
    }

    /// The same where another server was asked.
    pub fn heard(&mut self, ticket: Ticket) -> Option<Result<TxReply, WireError>> {
        self.completed(ticket).map(|completion| match completion {
            Completion::Heard(result) => result,
            // why: each ticket is completed once, with the kind that belongs to its effect.
            other => unreachable!("a call came to {other:?}"),
        })
    }

    /// Something that was asked for is completed.
    pub(super) fn complete(&mut self, ticket: Ticket, completion: Completion) {
        let task = self.tickets.remove(&ticket);
        // why: each ticket is completed once, with the kind that belongs to its effect.
        let task = task.unwrap_or_else(|| unreachable!("{ticket:?} was completed, and not asked for"));
        if self.tasks.contains_key(&task) {
            self.completed.insert((task, ticket), completion);
            self.waits.wake(task);
        }
    }
}
