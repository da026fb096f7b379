// SPDX-License-Identifier: Apache-2.0

//! What a group's member and its shell remember, and what follows from a step of the member: worked out here, while nobody else
//! may take one, and carried out by [`super::shell`] when others may. Failure model: see the parent module.

use super::action::{Action, Answered, Fenced, Main, OutboundMessage, Waiting, Work, lost};
use super::parse::Payload;
use crate::service::mirror_rows::RowLog;
use nyala_replica::{
    Answer, ByNumber, Effect, Envelope, FlushSet, Job, Member as Replica, Question, QuestionsUnderWay,
};
use nyala_replica::{Refusals, Silence, Ticket, Token};
use nyala_transport::member::monotonic_ms;
use nyala_wire::map::ClusterMap;
use nyala_wire::{ErrorCode, MapVersion, SessionId, TargetId, WireError};
use std::sync::Arc;
use tokio::sync::oneshot;

pub(super) struct State {
    pub replica: Replica,
    /// No step is taken any more.
    pub stopped: bool,
    pub map: Arc<ClusterMap>,
    pub buffers: ByNumber<Ticket, Payload>,
    pub waiting: ByNumber<Token, Waiting>,
    /// What the read brought whose end is the step under way.
    pub data: Option<(Job, Result<Answered, WireError>)>,
    /// Why clients' changes were not done as asked.
    pub refusals: Refusals,
    /// Members that wait for our answer.
    pub askers: ByNumber<Question, oneshot::Sender<Envelope>>,
    /// Questions of ours on their way.
    pub under_way: QuestionsUnderWay,
    pub silence: Silence,
    /// Files with changes that no flush has ended for.
    pub flushes: FlushSet,
    /// Who waits until a session has no write under way.
    pub quiet: Vec<(SessionId, Fenced)>,
    /// When the free room was looked at, and what there was.
    pub room: (u64, u64),
    pub lease: (u64, MapVersion),
    /// Memory of the step under way.
    pub effects: Vec<Effect>,
    last: u64,
}

impl State {
    /// Of a member that has done nothing yet.
    pub fn new(replica: Replica, flushes: FlushSet) -> State {
        State {
            replica,
            stopped: false,
            map: Arc::default(),
            buffers: ByNumber::default(),
            waiting: ByNumber::default(),
            data: None,
            refusals: Refusals::default(),
            askers: ByNumber::default(),
            under_way: QuestionsUnderWay::default(),
            silence: Silence::default(),
            flushes,
            quiet: Vec::new(),
            room: (0, 0),
            lease: (0, MapVersion(0)),
            effects: Vec::new(),
            last: 0,
        }
    }

    /// For a buffer or request.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// What an effect of the newest step asks of this server. Rows take their place in the log's order here.
    pub fn resolve(&mut self, effect: Effect, rows: &RowLog) -> Option<Action> {
        Some(match effect {
            Effect::Reply(token, answer) => {
                let waiting = self.waiting.remove(&token)?;
                let result = self.result(&waiting, answer);
                Action::Reply(waiting.answer, result)
            }
            Effect::Send(to, envelope, payload) => return self.addressed(to, envelope, payload),
            Effect::Drop(ticket) => {
                self.refusals.untrack(ticket);
                Action::Discard(self.buffers.remove(&ticket)?)
            }
            Effect::Ask(command) => Action::Ask(command),
            Effect::FetchMap => Action::FetchMap(self.map.version),
            Effect::Persist { job, rows: changed, durable } => {
                rows.push(job, changed, durable);
                Action::Work(Work::WriteRows)
            }
            Effect::Apply { job, change, payload } => {
                let (file, request) = (change.file, self.buffers.get(&payload).cloned());
                Action::Main(Main::Apply { job, file, ticket: payload, request })
            }
            Effect::Read { job, token, file, .. } => {
                Action::Main(Main::Read { job, file, kind: self.waiting.get(&token).and_then(|waiting| waiting.read) })
            }
            Effect::ReadRegion { job, file, span, into, as_is } => {
                Action::Work(Work::ReadRegion { job, file, span, into, as_is })
            }
            Effect::WriteRegion { job, file, span, from } => {
                Action::Work(Work::WriteRegion { job, file, end: span.end, region: self.buffers.get(&from).cloned() })
            }
            Effect::Flush { job } => Action::Work(Work::Flush { job, files: self.flushes.begin() }),
            Effect::ListFiles { of, after } => Action::Work(Work::ListFiles { of, after }),
        })
    }

    /// A message: an answer where somebody waits for it, nothing if the same question is on its way already.
    fn addressed(&mut self, to: TargetId, envelope: Envelope, payload: Option<Ticket>) -> Option<Action> {
        let waits = Question::answered_by(to, &envelope.body).and_then(|question| self.askers.remove(&question));
        if let Some(waits) = waits.filter(|waits| !waits.is_closed()) {
            return Some(Action::Answer(waits, envelope));
        }
        self.map.node_of(to)?;
        let (question, epoch) = (Question::asked_by(to, &envelope.body), envelope.epoch);
        question.is_none_or(|question| self.under_way.begin(question, epoch, monotonic_ms())).then_some(())?;
        let payload = payload.and_then(|ticket| self.buffers.get(&ticket).cloned());
        Some(Action::Send(OutboundMessage { to, map: self.map.clone(), envelope, question, trace: None, payload }))
    }

    /// What a client is told.
    fn result(&mut self, waiting: &Waiting, answer: Answer) -> Result<Answered, WireError> {
        let refusal = || self.refusals.of(waiting.origin).cloned();
        match answer {
            Answer::Done if waiting.read.is_none() => refusal().map_or(Ok(Answered::Done), Err),
            Answer::Data(job) => match self.data.take_if(|(read, _)| *read == job) {
                Some((_, result)) => result,
                None => Err(lost()),
            },
            Answer::WrongEpoch => Err(ErrorCode::WRONG_EPOCH.with("this member does not serve that in that epoch")),
            Answer::NotReady => Err(ErrorCode::NOT_READY.with("this member cannot serve at the moment")),
            Answer::AskPrimary => Err(ErrorCode::ASK_PRIMARY.with("a change there is under way")),
            Answer::Done | Answer::Failed => Err(refusal().unwrap_or_else(lost)),
        }
    }
}
