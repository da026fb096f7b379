// SPDX-License-Identifier: Apache-2.0

//! The server at work: feeds [`Server`] what happens, and carries out its effects.
//!
//! Failure model: requests run to their end whatever happens to the connection that they came by. A reply is handed to the
//! transport at once, which sends it when the log is written (`Service::settle`), so that a crash takes nothing back that somebody
//! was told. An effect that cannot be carried out is tried again here, or completed with its error; each is completed once,
//! unless the service stops.

use super::fence;
use super::logged_tables::LoggedTables;
use super::notes;
use super::state::State;
use super::until_done::until_done;
use crate::store_error::store_error;
use nyala_kv::ChangeKind;
use nyala_namespace::server::io::{Completion, Durability, Effect, Input, Moment, Ticket, Token};
use nyala_namespace::server::{Identity, Server, Waited};
use nyala_transport::trace::measured_part;
use nyala_wire::meta::MetaRequest;
use nyala_wire::meta_tx::{TxReply, TxRequest};
use nyala_wire::mgmt::{MgmtRequest, SlotStep};
use nyala_wire::storage::StorageOp;
use nyala_wire::{ErrorCode, Time, WireError};
use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// An answer to a client (with the place of the change's record in the log, and what it waited for), or to another metadata service.
enum Answer {
    Client(Result<Vec<u8>, WireError>, Option<u64>, Waited),
    Server(Result<TxReply, WireError>),
}

/// Drives a metadata server. One thread owns it all.
pub struct Driver {
    state: Rc<State>,
    server: RefCell<Server>,
    /// Memory of the effects that are being carried out.
    effects: RefCell<Vec<Effect>>,
    /// The request that is being fed, and its answer if it has one already.
    current: Cell<Option<Token>>,
    answered: Cell<Option<Answer>>,
    waiting: RefCell<HashMap<Token, oneshot::Sender<Answer>>>,
    last_token: Cell<u64>,
    /// Tickets of the next write of the log.
    logging: RefCell<Vec<(Ticket, Durability)>>,
    started: Instant,
    /// When the request came that is being fed, and the last moment that was.
    came: Cell<Option<Instant>>,
    last_ms: Cell<u64>,
    /// When the server is to be woken, and until when the clock sleeps, milliseconds since it started.
    due_ms: Cell<Option<u64>>,
    asleep_until_ms: Cell<Option<u64>>,
    clock: Notify,
}

impl Driver {
    /// A server that has just opened its tables. `seed`: entropy; `split_above`: see [`Identity`].
    pub fn new(state: Rc<State>, seed: u64, split_above: u64) -> Driver {
        let identity = Identity { target: state.me, boot: state.boot, seed, split_above };
        let server = Server::new(identity, Box::new(LoggedTables(state.clone())), state.map());
        Driver {
            state,
            server: RefCell::new(server),
            effects: RefCell::default(),
            current: Cell::default(),
            answered: Cell::default(),
            waiting: RefCell::default(),
            last_token: Cell::default(),
            logging: RefCell::default(),
            started: Instant::now(),
            came: Cell::default(),
            last_ms: Cell::default(),
            due_ms: Cell::default(),
            asleep_until_ms: Cell::default(),
            clock: Notify::new(),
        }
    }

    /// Makes the root directory, if it is to be here and is not, and takes up what the last run left ([`Server::start`]).
    pub async fn start(self: &Rc<Self>, time: Time, all_answered: bool) -> Result<(), WireError> {
        let made = self.server.borrow_mut().make_root(time)?;
        if made {
            self.state.flusher.flushed().await?;
            self.state.durable().await?;
        }
        let mut effects = Vec::new();
        self.server.borrow_mut().start(self.moment(), all_answered, &mut effects)?;
        self.due_ms.set(self.server.borrow().next_wake());
        self.carry_out(effects.drain(..));
        Ok(())
    }

    /// The server, to look at.
    pub fn server(&self) -> Ref<'_, Server> {
        self.server.borrow()
    }

    /// Number of requests that wait for something.
    pub fn waiting(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Answers a client's request; of a change that was made for it, with the place of its record in the log.
    pub async fn request(
        self: &Rc<Self>,
        request: MetaRequest,
        came: Instant,
    ) -> Result<(Vec<u8>, Option<u64>), WireError> {
        self.came.set(Some(came));
        match self.answer(|token| Input::Request(token, request)).await? {
            Answer::Client(result, position, waited) => {
                self.tell_waited(waited);
                result.map(|body| (body, position))
            }
            // why: the server answers each token by the kind of its request.
            Answer::Server(_) => unreachable!("a client's request was answered as another server's"),
        }
    }

    /// Answers a step of a transaction.
    pub async fn transaction(self: &Rc<Self>, request: TxRequest) -> Result<TxReply, WireError> {
        match self.answer(|token| Input::Transaction(token, request)).await? {
            Answer::Server(result) => result,
            // why: the server answers each token by the kind of its request.
            Answer::Client(..) => unreachable!("another server's request was answered as a client's"),
        }
    }

    async fn answer(self: &Rc<Self>, input: impl FnOnce(Token) -> Input) -> Result<Answer, WireError> {
        let token = Token(self.last_token.get() + 1);
        self.last_token.set(token.0);
        self.current.set(Some(token));
        self.feed(input(token));
        self.current.set(None);
        if let Some(answer) = self.answered.take() {
            return Ok(answer);
        }
        let (sender, receiver) = oneshot::channel();
        self.waiting.borrow_mut().insert(token, sender);
        receiver.await.map_err(|_| ErrorCode::NOT_READY.with("the service stops"))
    }

    /// Says to whoever measures the request what it waited for.
    fn tell_waited(&self, waited: Waited) {
        for (reason, ms) in waited {
            let name = if reason == "log" { self.state.flusher.name() } else { reason };
            measured_part(name, Duration::from_millis(ms));
        }
    }

    fn answered(&self, token: Token, answer: Answer) {
        if self.current.get() == Some(token) {
            self.answered.set(Some(answer));
        } else if let Some(waiting) = self.waiting.borrow_mut().remove(&token) {
            // Whoever is gone does not want to know.
            let _ = waiting.send(answer);
        }
    }

    /// Now; when a request came is near enough, and known.
    fn moment(&self) -> Moment {
        let since = self.came.take().unwrap_or_else(Instant::now).saturating_duration_since(self.started);
        let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX).max(self.last_ms.get());
        self.last_ms.set(ms);
        Moment { ms, serving: self.state.serves() }
    }

    /// Has the server take something in, and does what it wants done.
    pub fn feed(self: &Rc<Self>, input: Input) {
        let mut effects = self.effects.take();
        let (now, map) = (self.moment(), self.state.map());
        {
            let mut server = self.server.borrow_mut();
            if map.version != server.map().version {
                server.handle(now, Input::Map(map), &mut effects);
            }
            server.handle(now, input, &mut effects);
            self.due_ms.set(server.next_wake());
        }
        self.carry_out(effects.drain(..));
        self.effects.replace(effects);
        if let Some(due_ms) = self.due_ms.get()
            && self.asleep_until_ms.get().is_none_or(|until_ms| due_ms < until_ms)
        {
            self.clock.notify_one();
        }
    }

    fn carry_out(self: &Rc<Self>, effects: impl Iterator<Item = Effect>) {
        for effect in effects {
            match effect {
                Effect::Reply(token, result, position) => {
                    let waited = self.server.borrow_mut().take_waited(token);
                    self.answered(token, Answer::Client(result, position, waited));
                }
                Effect::Answer(token, result) => self.answered(token, Answer::Server(result)),
                Effect::Log(ticket, durability) => self.log(ticket, durability),
                Effect::Room(ticket, kind) => self.complete(ticket, wait_room(self.state.clone(), kind)),
                Effect::Ask(ticket, target, request) => {
                    let state = self.state.clone();
                    let ask = async move { Completion::Heard(state.peers.tx(&state.map(), target, &request).await) };
                    self.complete(ticket, ask);
                }
                Effect::Truncate(ticket, location, file, len) => {
                    let state = self.state.clone();
                    self.complete(ticket, async move {
                        until_done(&state, location, file, StorageOp::Truncate { len }).await;
                        Completion::Truncated
                    });
                }
                Effect::Fence(ticket, session) => {
                    let state = self.state.clone();
                    let fence = async move { Completion::Fenced(fence::everywhere(&state, session).await) };
                    self.complete(ticket, fence);
                }
                Effect::SlotStep(step) => drop(tokio::task::spawn_local(slot_step(self.state.clone(), step))),
                Effect::Note(note) => notes::write(&note),
            }
        }
    }

    fn complete(self: &Rc<Self>, ticket: Ticket, work: impl Future<Output = Completion> + 'static) {
        let driver = self.clone();
        tokio::task::spawn_local(async move {
            let completion = work.await;
            driver.feed(Input::Completed(ticket, completion));
        });
    }

    /// All who want the log written in one turn of the reactor share a write, and a sync.
    fn log(self: &Rc<Self>, ticket: Ticket, durability: Durability) {
        let mut logging = self.logging.borrow_mut();
        logging.push((ticket, durability));
        if logging.len() == 1 {
            tokio::task::spawn_local(self.clone().log_all());
        }
    }

    async fn log_all(self: Rc<Self>) {
        let tickets = self.logging.take();
        let mut safe = self.state.flusher.flushed().await;
        for (ticket, _) in tickets.iter().filter(|(_, durability)| *durability == Durability::Written) {
            self.feed(Input::Completed(*ticket, Completion::Logged(safe.clone())));
        }
        let on_disk = |(_, durability): &&(Ticket, Durability)| *durability == Durability::OnDisk;
        if safe.is_ok() && tickets.iter().any(|ticket| on_disk(&ticket)) {
            safe = self.state.durable().await;
        }
        for (ticket, _) in tickets.iter().filter(on_disk) {
            self.feed(Input::Completed(*ticket, Completion::Logged(safe.clone())));
        }
    }

    /// Wakes the server whenever it is due. Runs until the service stops.
    pub async fn keep_time(self: Rc<Self>) {
        loop {
            let due_ms = self.due_ms.get();
            self.asleep_until_ms.set(due_ms);
            let Some(due_ms) = due_ms else {
                self.clock.notified().await;
                continue;
            };
            tokio::select! {
                biased;
                () = self.clock.notified() => {}
                () = tokio::time::sleep_until(self.started + Duration::from_millis(due_ms)) => self.feed(Input::Tick),
            }
        }
    }
}

/// Says to management how far a slot is. What came of it is in the map, and it is said again if that does not show it.
async fn slot_step(state: Rc<State>, step: SlotStep) {
    if let Err(error) = state.member.mgmt().call(&MgmtRequest::SlotStep(step)).await {
        tracing::debug!(?step, %error, "management does not carry out a step of a slot");
    }
}

async fn wait_room(state: Rc<State>, kind: Option<ChangeKind>) -> Completion {
    Completion::Room(match kind {
        Some(kind) => state.store.wait_to(kind).await.map_err(store_error),
        None => {
            state.store.wait_room().await;
            Ok(())
        }
    })
}
