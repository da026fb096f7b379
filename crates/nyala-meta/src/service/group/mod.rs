// SPDX-License-Identifier: Apache-2.0

//! The shell around a member of a mirror group of metadata targets ([`nyala_replica::log`]): carries messages and timers, applies
//! records, reads and writes the rows of copies. `docs/replication.md` has the whole.
//!
//! Failure model: that of the member; what it asks for is done in its order. A message may not arrive, or its answer; the member
//! sends again. When the store fails, the service ends. A primary that loses its role ends this run of the service: what it had
//! applied and not written is forgotten with it.

mod compare;
mod copy;
mod effects;
pub mod rows;
mod sending;
pub mod wire;

use super::flusher::Flusher;
use crate::tables::Tables;
use compare::{Comparing, RANGE_BYTES, answers, sum_up};
use nyala_kv::Batch;
use nyala_replica::log::{LogConfig, LogEffect, LogEnvelope, LogInput, LogMember, LogState, RangeSum, Record};
use nyala_replica::{Progress, Silence, View};
use nyala_store::{Lsn, StoreError};
use nyala_transport::member::{Member, monotonic_ms, monotonic_us};
use nyala_transport::{HandshakeConfig, Pool, PoolOptions};
use nyala_wire::check::MemberCompared;
use nyala_wire::map::ClusterMap;
use nyala_wire::{ErrorCode, GroupId, MapVersion, TargetId, WireError};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot, watch};

/// Between looks at the clock.
const TICK: Duration = Duration::from_millis(40);
/// Of so many, one is for what is not urgent.
const SELDOM: u32 = 12;

/// What the service has to hear.
#[derive(Debug)]
pub enum News {
    /// Serve as the group's primary.
    Lead,
    /// It is another one's turn.
    StepDown,
    /// The store has failed.
    Failed(StoreError),
}

/// What a shell is made of.
pub struct Setup {
    /// The target.
    pub me: TargetId,
    /// Its group.
    pub group: GroupId,
    /// Its tables.
    pub tables: Tables,
    /// The log.
    pub flusher: Rc<Flusher>,
    /// Membership.
    pub member: Member,
    /// How to greet other members.
    pub handshake: HandshakeConfig,
    /// Who hears what became of it.
    pub news: mpsc::UnboundedSender<News>,
    /// The run of a server at work that the group is made of.
    pub run: Option<u64>,
}

/// A member at work.
pub struct GroupShell {
    setup: Setup,
    pool: Pool,
    state: RefCell<State>,
    durable: watch::Sender<u64>,
    /// A client has asked for something since the last look at the clock.
    asked: Cell<bool>,
    /// Memory of the record that is being applied.
    applying: RefCell<Batch>,
}

struct State {
    replica: LogMember,
    map: Arc<ClusterMap>,
    /// Members that wait for our answer.
    askers: HashMap<TargetId, oneshot::Sender<(LogEnvelope, Vec<Record>)>>,
    /// What has to be done in order.
    queue: VecDeque<LogEffect>,
    working: bool,
    /// Places in the store's log that records were written up to, until they are on disk.
    marks: VecDeque<(Lsn, u64)>,
    lease: (u64, MapVersion),
    silence: Silence,
    /// Members that owe an answer, since when.
    owing: BTreeMap<TargetId, Instant>,
    comparing: Comparing,
}

impl GroupShell {
    /// A member that does nothing before it gets a map.
    pub fn new(setup: Setup, found: LogState) -> Rc<GroupShell> {
        let last = found.last;
        let replica = LogMember::open(setup.me, setup.group, LogConfig::default(), found);
        setup.flusher.number_from(last + 1);
        let pool = Pool::new(setup.handshake.clone(), PoolOptions::default());
        let state = State {
            replica,
            map: Arc::default(),
            askers: HashMap::new(),
            queue: VecDeque::new(),
            working: false,
            marks: VecDeque::new(),
            lease: (0, MapVersion(0)),
            silence: Silence::default(),
            owing: BTreeMap::new(),
            comparing: Comparing::default(),
        };
        Rc::new(GroupShell {
            setup,
            pool,
            state: RefCell::new(state),
            durable: watch::Sender::new(0),
            asked: Cell::new(false),
            applying: RefCell::default(),
        })
    }

    /// Looks at the clock. Runs until it is dropped.
    pub async fn keep_time(self: Rc<Self>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut count = 0_u32;
        loop {
            let late = ticks.tick().await.elapsed();
            // What only reads is answered at once: it waits as long as everything on this thread does.
            if self.asked.take() {
                self.note_latency(
                    false,
                    monotonic_us().saturating_sub(u64::try_from(late.as_micros()).unwrap_or(u64::MAX)),
                );
            }
            count = count.wrapping_add(1);
            self.renew();
            self.look_at_disk();
            self.input(LogInput::Tick);
            if count.is_multiple_of(SELDOM) {
                self.state.borrow_mut().askers.retain(|_, answer| !answer.is_closed());
                self.look_for_silence();
            }
        }
    }

    /// A newer map.
    pub fn take_map(self: &Rc<Self>, map: &Arc<ClusterMap>) {
        self.state.borrow_mut().map = map.clone();
        if let Some(view) = View::of(map, self.setup.group) {
            self.input(LogInput::Map(view));
        }
        self.renew();
    }

    /// The group.
    pub fn group(&self) -> GroupId {
        self.setup.group
    }

    /// Whether it may answer clients now: it is primary by the newest map that it handled, and its lease is one for whoever has that.
    pub fn serves(&self) -> bool {
        self.state.borrow().replica.serves(monotonic_ms())
    }

    /// Whether nothing is missing here that primaries before this one have answered for.
    pub fn has_all_answered(&self) -> bool {
        self.state.borrow().replica.has_all_answered()
    }

    /// The map by which it is primary, if it [`serves`](Self::serves).
    pub fn leads_by(&self) -> Option<Arc<ClusterMap>> {
        self.serves().then(|| self.state.borrow().map.clone())
    }

    /// Number of the last record, of those that the member knows.
    pub fn last(&self) -> u64 {
        self.state.borrow().replica.last()
    }

    /// How far the copies are of members that are being given everything.
    pub fn progress(&self) -> Vec<(TargetId, Progress)> {
        let stats = self.setup.tables.store.stats();
        self.state.borrow().replica.progress(stats.used_bytes + stats.active_bytes + stats.frozen_bytes)
    }

    /// A client asks for something.
    pub fn asked(&self) {
        self.asked.set(true);
    }

    /// A client's request that came at `began_us` ([`monotonic_us`]) is answered for. What requests take decides how fast members that
    /// lack everything are given it.
    fn note_latency(self: &Rc<Self>, change: bool, began_us: u64) {
        let mut state = self.state.borrow_mut();
        // Nothing follows from it but numbers.
        state.replica.handle(monotonic_us(), LogInput::Served { change, began_us }, &mut Vec::new());
    }

    /// All up to this record is on disk at every good member.
    pub fn durable(&self) -> u64 {
        *self.durable.borrow()
    }

    /// Returns when all up to a record is on disk at every good member.
    pub async fn durable_up_to(self: &Rc<Self>, index: u64) -> Result<(), WireError> {
        self.input(LogInput::WantDurable(index));
        self.sync();
        let mut durable = self.durable.subscribe();
        let reached = durable.wait_for(|durable| *durable >= index).await;
        reached.map(drop).map_err(|_| ErrorCode::NOT_READY.with("the service stops"))
    }

    /// A message of another member's; the answer, if it asks for one and there is one soon. What a primary has to say by itself does
    /// not go out as an answer: answers of a server wait until everything is everywhere, and its records would wait for themselves.
    pub async fn hear(
        self: &Rc<Self>,
        from: TargetId,
        envelope: LogEnvelope,
        records: Vec<Record>,
    ) -> Option<(LogEnvelope, Vec<Record>)> {
        if !envelope.body.is_question() {
            self.input(LogInput::Message(from, envelope, records));
            return None;
        }
        let (asker, mut answer) = oneshot::channel();
        self.state.borrow_mut().askers.insert(from, asker);
        self.input(LogInput::Message(from, envelope, records));
        // Mostly it is there at once, and needs no timer.
        match answer.try_recv() {
            Ok(answer) => return Some(answer),
            Err(TryRecvError::Closed) => return None,
            Err(TryRecvError::Empty) => {}
        }
        tokio::time::timeout(sending::ANSWER_WITHIN, answer).await.ok()?.ok()
    }

    /// Compares at most so many rows from a key on with all good members; and the key behind them, absent if there are no more.
    pub async fn compare(
        self: &Rc<Self>,
        from: &[u8],
        most: u32,
    ) -> Result<(Vec<MemberCompared>, Option<Vec<u8>>), WireError> {
        let begun = self.state.borrow_mut().comparing.begin();
        let (number, heard) = begun.ok_or_else(|| ErrorCode::BUSY.with("another comparison is under way"))?;
        // Nothing may be applied between the sum and the question: so nothing waits here.
        let summed = sum_up(&self.setup.tables, (from, &[]), most, RANGE_BYTES);
        let (mine, next) = summed.map_err(crate::store_error::store_error)?;
        let good = self.state.borrow().replica.comparable();
        let mut members: Vec<_> = good.into_iter().map(|target| MemberCompared { target, equal: None }).collect();
        let (from, to, most) = (from.to_vec(), next.clone(), mine.rows + 1);
        self.input(LogInput::Compare(RangeSum { number, from, to, most }));
        answers(heard, mine, &mut members).await;
        Ok((members, Some(next).filter(|next| !next.is_empty())))
    }

    /// Has everything that is applied go to the other members. Returns the last record that every good one has.
    pub fn replicate(self: &Rc<Self>) -> u64 {
        self.step(None);
        self.state.borrow().replica.committed()
    }

    /// Something happens to the member; what it wants done is begun. What was applied before is handed over before.
    pub fn input(self: &Rc<Self>, input: LogInput) {
        self.step(Some(input));
    }

    fn step(self: &Rc<Self>, input: Option<LogInput>) {
        let applied = self.setup.flusher.hand_over();
        let mut effects = Vec::new();
        {
            let (now_us, mut state) = (monotonic_us(), self.state.borrow_mut());
            if !applied.is_empty() {
                state.replica.handle(now_us, LogInput::Append(applied), &mut effects);
                let last = state.replica.last();
                state.marks.push_back((self.setup.tables.store.applied(), last));
            }
            if let Some(input) = input {
                state.replica.handle(now_us, input, &mut effects);
            }
        }
        effects.into_iter().for_each(|effect| self.carry_out(effect));
    }

    /// The member learns of a renewed lease.
    fn renew(self: &Rc<Self>) {
        let lease = self.setup.member.lease();
        let news = std::mem::replace(&mut self.state.borrow_mut().lease, lease) != lease;
        if news && lease.0 > 0 {
            self.input(LogInput::Lease { until_ms: lease.0, version: lease.1 });
        }
    }

    /// To the service, which may have stopped.
    fn tell(&self, news: News) {
        let _ = self.setup.news.send(news);
    }
}
