// SPDX-License-Identifier: Apache-2.0

//! The thread of one member: what happens goes in, what the member wants done is begun. Failure model: see the parent module.

use super::entry::{Answered, Event, Mirrors};
use super::fencing::Fenced;
use super::parse::{Payload, ReadKind, Sent};
use super::supervisor::Ask;
use crate::service::inline_path::InlinePath;
use crate::service::mirror_rows::Turn;
use crate::service::target::Target;
use nyala_cluster::Command;
use nyala_replica::{Config, Effect, Envelope, FlushSet, Input, Job, Member as Replica, Question, QuestionsUnderWay};
use nyala_replica::{Refusals, Silence, Ticket, Token, View};
use nyala_transport::member::{Member, monotonic_us};
use nyala_transport::{HandshakeConfig, Pool, PoolOptions};
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::{GroupId, MapVersion, SessionId, TargetId, WireError};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Between looks at the clock.
const TICK: Duration = Duration::from_millis(20);
/// Of so many, one is for what is not urgent.
const SELDOM: u32 = 25;
/// A member that is alive and does not answer for so long is left behind. Longer than a lease: one whose host vanished is
/// declared offline before, one that cannot be reached from here is left behind earlier (`silence`), and a slow disk is no reason.
const GIVE_UP_MS: u64 = 8000;

/// What a shell is made of.
pub(super) struct Setup {
    pub me: TargetId,
    pub group: GroupId,
    pub target: Arc<Target>,
    pub member: Member,
    pub handshake: HandshakeConfig,
    pub mirrors: Weak<Mirrors>,
    pub asks: mpsc::UnboundedSender<Ask>,
}

/// A member of a group at work.
pub(super) struct Shell {
    pub setup: Setup,
    pub pool: Pool,
    pub inline_path: InlinePath,
    /// As whom the member orders changes of its own.
    pub client: u64,
    /// The turn of what is remembered.
    pub rows: Turn,
    pub state: RefCell<State>,
}

/// A request that waits for its answer.
pub(super) struct Waiting {
    pub answer: oneshot::Sender<Result<Answered, WireError>>,
    pub read: Option<ReadKind>,
    /// Client and number.
    pub origin: (u64, u64),
}

pub(super) struct State {
    pub replica: Replica,
    pub map: Arc<ClusterMap>,
    pub buffers: HashMap<Ticket, Payload>,
    pub waiting: HashMap<Token, Waiting>,
    /// What reads brought.
    pub data: HashMap<Job, Result<Answered, WireError>>,
    /// Why clients' changes were not done as asked.
    pub refusals: Refusals,
    /// Members that wait for our answer.
    pub askers: HashMap<Question, oneshot::Sender<Envelope>>,
    /// Questions of ours on their way.
    pub under_way: QuestionsUnderWay,
    pub silence: Silence,
    /// Files with changes that no flush has ended for.
    pub flushes: FlushSet,
    /// Who waits until no write of a session is under way.
    pub quiet: Vec<(SessionId, Fenced)>,
    /// When the free room was looked at, and what there was.
    pub room: (u64, u64),
    lease: (u64, MapVersion),
    last: u64,
}

impl State {
    /// A number for a buffer or request.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }
}

/// Runs the member until it is told to stop, on a thread of its own.
pub(super) fn run(setup: Setup, events: mpsc::UnboundedReceiver<Event>) {
    let group = setup.group;
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tracing::error!(%group, %error, "no runtime for a mirror group; it is not served here"),
    };
    let rows = match setup.target.mirror_rows(group) {
        Ok(rows) => rows,
        Err(error) => return tracing::error!(%group, %error, "what is remembered of a mirror group cannot be read"),
    };
    let flushes = FlushSet::new(rows.iter().map(|row| row.file()));
    let config = Config { give_up_ms: GIVE_UP_MS, ..Config::default() };
    let replica = Replica::open(setup.me, group, config, rows);
    let state = State {
        replica,
        map: Arc::default(),
        buffers: HashMap::new(),
        waiting: HashMap::new(),
        data: HashMap::new(),
        refusals: Refusals::default(),
        askers: HashMap::new(),
        under_way: QuestionsUnderWay::default(),
        silence: Silence::default(),
        flushes,
        quiet: Vec::new(),
        room: (0, 0),
        lease: (0, MapVersion(0)),
        last: 0,
    };
    let options = PoolOptions { connections_per_peer: 2, ..PoolOptions::default() };
    let pool = Pool::new(setup.handshake.clone(), options);
    let (rows, state) = (Turn::new(group), RefCell::new(state));
    // Without randomness two runs may look like one to the group, which takes the later one's requests for repeated ones.
    let client = getrandom::u64().unwrap_or(1).max(1);
    let shell = Rc::new(Shell { setup, pool, inline_path: InlinePath::default(), client, rows, state });
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, shell.clone().serve(events));
    drop((local, runtime, shell));
}

impl Shell {
    async fn serve(self: Rc<Self>, mut events: mpsc::UnboundedReceiver<Event>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut count = 0_u32;
        loop {
            tokio::select! {
                biased;
                _ = ticks.tick() => {
                    count = count.wrapping_add(1);
                    self.tick(count.is_multiple_of(SELDOM));
                }
                event = events.recv() => match event {
                    None | Some(Event::Stop) => return,
                    Some(event) => self.happens(event),
                },
            }
        }
    }

    fn happens(self: &Rc<Self>, event: Event) {
        match event {
            Event::Request(incoming) => self.asked(*incoming),
            Event::Message { from, envelope, sent, answer } => self.hear_member(from, envelope, *sent, answer),
            Event::Map(map, done) => {
                let view = View::of(&map, self.setup.group);
                self.state.borrow_mut().map = map;
                view.into_iter().for_each(|view| self.input(Input::Map(view)));
                self.renew();
                // An error means that the supervisor has gone.
                let _ = done.send(());
            }
            Event::Fence(session, done) => self.fence(session, done),
            Event::Stop => {}
        }
    }

    fn hear_member(self: &Rc<Self>, from: TargetId, envelope: Envelope, sent: Sent, answer: oneshot::Sender<Envelope>) {
        let payload = {
            let mut state = self.state.borrow_mut();
            let ticket = Ticket(state.number());
            let buffer = match sent {
                Sent::Nothing => None,
                Sent::Change(change) => Some(Payload::Change(Rc::new(change))),
                Sent::Region(region) => Some(Payload::Region(region)),
            };
            buffer.into_iter().for_each(|buffer| drop(state.buffers.insert(ticket, buffer)));
            // One who asks again gets the answer at its newest question.
            if let Some(question) = Question::to(&state.replica, from, &envelope) {
                state.askers.insert(question, answer);
            }
            ticket
        };
        self.input(Input::Message { from, envelope, payload });
    }

    /// Something happens to the member; what it wants done is begun.
    pub fn input(self: &Rc<Self>, input: Input) {
        let effects = self.state.borrow_mut().replica.handle(monotonic_us(), input);
        effects.into_iter().for_each(|effect| self.carry_out(effect));
    }

    fn carry_out(self: &Rc<Self>, effect: Effect) {
        match effect {
            Effect::Reply(token, answer) => self.reply(token, answer),
            Effect::Send(to, envelope, payload) => self.send(to, envelope, payload),
            Effect::Drop(ticket) => {
                let mut state = self.state.borrow_mut();
                state.buffers.remove(&ticket);
                state.refusals.untrack(ticket);
                drop(state);
                self.tell_quiet();
            }
            Effect::Ask(command) => self.ask(&command),
            Effect::FetchMap => {
                let version = self.state.borrow().map.version;
                self.tell(Ask::Behind(version));
            }
            disk => self.begin(disk),
        }
    }

    /// To management, by the supervisor.
    pub fn tell(&self, ask: Ask) {
        // An error means that the service stops.
        let _ = self.setup.asks.send(ask);
    }

    fn ask(&self, command: &Command) {
        let Some((member, news)) = nyala_cluster::group::member_news::news(command) else {
            return tracing::error!(?command, "a member asks management for something else");
        };
        let (group, epoch, target, by) = (member.group, member.epoch, member.target, self.setup.me);
        tracing::debug!(%group, %target, epoch, ?news, "asking management");
        self.tell(Ask::News(MgmtRequest::Member { group, epoch, target, by, news }));
    }

    fn tick(self: &Rc<Self>, seldom: bool) {
        self.renew();
        self.input(Input::Tick);
        if seldom {
            let mut state = self.state.borrow_mut();
            state.waiting.retain(|_, waiting| !waiting.answer.is_closed());
            state.askers.retain(|_, answer| !answer.is_closed());
            drop(state);
            self.tell_quiet();
            self.publish();
            self.look_for_silence();
        }
    }

    /// The member learns of a renewed lease.
    fn renew(self: &Rc<Self>) {
        let lease = self.setup.member.lease();
        let news = std::mem::replace(&mut self.state.borrow_mut().lease, lease) != lease;
        if news && lease.0 > 0 {
            self.input(Input::Lease { until_ms: lease.0, version: lease.1 });
        }
    }

    /// Figures of resyncs, for statistics.
    fn publish(&self) {
        let Some(mirrors) = self.setup.mirrors.upgrade() else { return };
        let progress = self.state.borrow().replica.progress();
        let mut figures = mirrors.figures.lock();
        let prefix = format!("mirror.{}.", self.setup.group);
        figures.retain(|name, _| !(name.starts_with(&prefix) && name.contains("left")));
        for (target, progress) in progress {
            let mut put = |name: &str, value| {
                figures.insert(format!("{prefix}{target}.{name}"), value);
            };
            put("copied_bytes", progress.copied_bytes);
            put("left_bytes", progress.left_bytes);
            put("bytes_per_s", progress.bytes_per_s);
            put("left_s", progress.estimate_ms.map_or(u64::MAX, |ms| ms / 1000));
        }
    }
}
