// SPDX-License-Identifier: Apache-2.0

//! A changing request, from its arrival to its reply.
//!
//! Failure model: it may be repeated, also while the first copy runs or after this server was restarted; its session may end, or
//! its client give it up, while it waits. Its reply is logged in the same record as its change, and a repetition gets that reply.
//! Between the last look at sessions, locks and delegations and the change itself nothing else runs.
//! After a power cut it may be a change that its client was told is done, which is done again ([`super::replay`]): nobody holds anything then,
//! and what it asked of storage was done the first time.

use super::adopt;
use super::backoff::{Backoff, look_again};
use super::consider::consider;
use super::exclusive;
use super::grants;
use super::ground::Caller;
use super::implicit_open;
use super::io::{Durability, Ticket, Token};
use super::lock_wait;
use super::recall::Recall;
use super::replay_compare::{is_same, was_done};
use super::room_gate::RoomGate;
use super::slots::gate;
use super::state::{Progress, State, Task};
use super::transaction::{Failed, Transaction, Turn};
use super::truncation::{self, Truncation};
use super::waits::{Event, Wait};
use crate::change::{Fault, Made};
use crate::delegations::Need;
use crate::growth;
use crate::keys;
use crate::ns;
use crate::replies;
use crate::sessions::Leave;
use crate::tx::Plan;
use nyala_kv::{Batch, ChangeKind};
use nyala_wire::meta::{
    ANSWER_HEAD_BYTES, DelegationMode, Grants, MetaOp, MetaReply, MetaRequest, PutOutcome, SetAttr, add_dirs,
};
use nyala_wire::{Attr, ErrorCode, InodeId, SessionId, WireError};

/// A repetition looks so often whether the first copy has ended.
const COPY_LOOK_MS: u64 = 1_000;

/// What has to happen next.
enum Phase {
    /// No copy of it may be under way.
    Admission,
    /// It was done before, with this reply.
    Repeated(Vec<u8>),
    /// There has to be memory for changes, and then room for this one.
    Memory(RoomGate),
    Room(RoomGate),
    /// It is tried.
    Attempt,
    Pause(u64),
    Transaction(Box<Transaction>),
    /// It is applied; storage has to follow.
    Truncating(Box<Truncation>, Vec<u8>),
    /// It is done; some have to be on disk before they are answered.
    Done(Vec<u8>),
    Syncing(Vec<u8>, Ticket),
}

/// A change is done again.
pub struct Again {
    /// What its client was told; if it comes to anything else now, it is not made.
    pub acknowledged: MetaReply,
    /// What it made the first time.
    pub made: Option<Made>,
}

/// One such request.
pub struct ChangeRequest {
    token: Token,
    request: MetaRequest,
    leave: Leave,
    again: Option<Again>,
    /// It is done again, and had not been lost.
    pub was_there: bool,
    /// Place of its record in the log.
    position: Option<u64>,
    /// It is among those under way.
    admitted: bool,
    backoff: Backoff,
    recall: Recall,
    /// What to answer if the operation would make full tables larger.
    room: Result<(), WireError>,
    phase: Phase,
}

/// A change that may be made if nobody is in the way.
struct Ready {
    reply: MetaReply,
    body: Vec<u8>,
    touched: Vec<InodeId>,
    gone: Vec<InodeId>,
    /// Directories that change and that the session has delegations on.
    dirs: Vec<Attr>,
    /// Directories that may have outgrown this server.
    large: Vec<InodeId>,
    batch: Batch,
}

impl Task for ChangeRequest {
    fn step(&mut self, state: &mut State) -> Progress {
        let result = match self.advance(state) {
            Ok(Turn::Wait(wait)) => return Progress::Wait(wait),
            Ok(Turn::Done(body)) => Ok(body),
            // why: `advance` turns failures into errors.
            Ok(Turn::Failed(_)) => unreachable!("failures are errors here"),
            Err(error) => Err(error),
        };
        self.end(state);
        state.reply_to_change(self.token, result, self.position);
        Progress::Done
    }
}

impl ChangeRequest {
    /// Begins.
    pub fn new(state: &State, token: Token, request: MetaRequest, leave: Leave) -> ChangeRequest {
        let (recall, backoff) = (Recall::of(&request), Backoff::new(state.now.ms));
        ChangeRequest {
            token,
            request,
            leave,
            again: None,
            was_there: false,
            position: None,
            admitted: false,
            backoff,
            recall,
            room: Ok(()),
            phase: Phase::Admission,
        }
    }

    /// Does a change again; nobody waits for its reply.
    pub fn again(state: &State, request: MetaRequest, leave: Leave, again: Again) -> ChangeRequest {
        ChangeRequest { again: Some(again), ..ChangeRequest::new(state, Token(0), request, leave) }
    }

    /// Whose request it is, and its sequence number, as in a truncation's record.
    pub fn key(&self) -> (Option<SessionId>, Option<u64>) {
        (Some(self.request.session), Some(self.request.sequence))
    }

    /// Files that its session closed with it.
    pub fn closed(&self) -> Vec<InodeId> {
        match &self.request.op {
            MetaOp::Close { inode } => vec![*inode],
            MetaOp::Commit(commit) if commit.close => vec![commit.inode],
            MetaOp::PutInline(put) if put.close => vec![put.inode],
            MetaOp::PutInlines { puts } => puts.iter().filter(|put| put.close).map(|put| put.inode).collect(),
            _ => Vec::new(),
        }
    }

    /// The inode that nothing can have been truncating when this was done.
    pub fn locked_inode(&self) -> Option<InodeId> {
        match &self.request.op {
            MetaOp::SetAttr { inode, .. } | MetaOp::SetXattr { inode, .. } | MetaOp::RemoveXattr { inode, .. } => {
                Some(*inode)
            }
            MetaOp::Commit(commit) => Some(commit.inode),
            MetaOp::Open { inode } => Some(*inode),
            _ => None,
        }
    }

    /// Tries once more what was given up.
    pub fn begin_again(&mut self, state: &State) {
        (self.admitted, self.phase) = (false, Phase::Admission);
        self.backoff = Backoff::new(state.now.ms);
    }

    /// It is over.
    pub fn end(&mut self, state: &mut State) {
        self.recall.end(state);
        if self.admitted {
            state.running.remove(&(self.request.session, self.request.sequence));
            state.wake(Event::Finished);
        }
    }

    /// Goes on as far as it can.
    pub fn advance(&mut self, state: &mut State) -> Result<Turn, WireError> {
        loop {
            let wait = match std::mem::replace(&mut self.phase, Phase::Admission) {
                Phase::Admission => self.admit(state)?,
                Phase::Repeated(kept) => self.answer_again(state, kept)?,
                Phase::Memory(mut gate) => match gate.pass(state, None) {
                    Some(_) => self.next(Phase::Room(RoomGate::default())),
                    None => self.waits(Phase::Memory(gate), Wait::COMPLETION),
                },
                Phase::Room(mut gate) => {
                    let kind = growth::of_op(&self.request.op, &|inode| inline_len(state, inode));
                    match gate.pass(state, Some(kind)) {
                        Some(room) => {
                            (self.room, self.backoff) = (room, Backoff::new(state.now.ms));
                            self.next(Phase::Attempt)
                        }
                        None => self.waits(Phase::Room(gate), Wait::COMPLETION),
                    }
                }
                Phase::Attempt => self.attempt(state)?,
                Phase::Pause(until_ms) if state.now.ms < until_ms => {
                    self.waits(Phase::Pause(until_ms), Wait::until(until_ms))
                }
                Phase::Pause(_) => self.next(Phase::Attempt),
                Phase::Transaction(mut transaction) => match transaction.advance(state, &self.request) {
                    Turn::Wait(wait) => self.waits(Phase::Transaction(transaction), wait),
                    Turn::Done(kept) => {
                        self.position = transaction.position;
                        let body = super::transaction_reply::body(state, &self.request, &kept);
                        self.done(state, body)
                    }
                    Turn::Failed(Failed::Refused(error) | Failed::Unknown(error)) => {
                        if error.code == ErrorCode::OTHER_FRAGMENT {
                            state.sessions.refuse(self.leave);
                        }
                        return Err(error);
                    }
                    Turn::Failed(Failed::Again) => {
                        let random = state.ground.random();
                        let until_ms = self.backoff.pause(state.now.ms, random)?;
                        self.waits(Phase::Pause(until_ms), Wait::until(until_ms))
                    }
                },
                Phase::Truncating(mut truncation, body) => match truncation.advance(state)? {
                    Some(wait) => self.waits(Phase::Truncating(truncation, body), wait),
                    None => {
                        // A power cut that takes the end back has the cut done again, unless its client says that it heard of it.
                        self.position = truncation.ended.or(self.position);
                        self.done(state, body)
                    }
                },
                Phase::Done(body) if !wants_sync(&self.request.op) => return Ok(Turn::Done(body)),
                Phase::Done(body) => {
                    let ticket = state.log(Durability::OnDisk);
                    self.waits(Phase::Syncing(body, ticket), Wait::COMPLETION)
                }
                Phase::Syncing(body, ticket) => match state.logged(ticket) {
                    Some(logged) => return logged.map(|()| Turn::Done(body)),
                    None => self.waits(Phase::Syncing(body, ticket), Wait::COMPLETION),
                },
            };
            if let Some(wait) = wait {
                return Ok(Turn::Wait(wait));
            }
        }
    }

    fn next(&mut self, phase: Phase) -> Option<Wait> {
        self.phase = phase;
        None
    }

    fn waits(&mut self, phase: Phase, wait: Wait) -> Option<Wait> {
        self.phase = phase;
        Some(wait)
    }

    /// Only now others may be given something again: what they see then is what this operation made.
    fn done(&mut self, state: &mut State, body: Vec<u8>) -> Option<Wait> {
        self.recall.end(state);
        self.next(Phase::Done(body))
    }

    fn admit(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        if !state.running.insert((self.request.session, self.request.sequence)) {
            // The same request, sent again while the first copy runs: wait for that one.
            self.backoff.check(state.now.ms)?;
            let wait = Wait::on(Event::Finished).or_until(state.now.ms + COPY_LOOK_MS);
            return Ok(self.waits(Phase::Admission, wait));
        }
        self.admitted = true;
        let kept = match self.leave.is_new() {
            true => None,
            false => {
                if self.again.is_some() {
                    self.was_there = was_done(state, &self.request);
                    return Ok(self.next(match self.was_there {
                        true => Phase::Done(Vec::new()),
                        false => Phase::Memory(RoomGate::default()),
                    }));
                }
                let kept = state.ground.run(&Caller::of(&self.request), None, |c, _| replies::find(&c, &self.request));
                kept.map_err(settled_fault)?
            }
        };
        Ok(match kept {
            Some(kept) => {
                implicit_open::reply_again(state, &self.request, self.leave, &kept)?;
                self.next(Phase::Repeated(kept))
            }
            None => self.next(Phase::Memory(RoomGate::default())),
        })
    }

    /// Sends the kept reply again. If it is that of a truncation, taken up after a restart, waits until that is over, so that it
    /// cannot cut what the client writes next; if it is that of a transaction of an earlier run, until that is known everywhere.
    fn answer_again(&mut self, state: &mut State, kept: Vec<u8>) -> Result<Option<Wait>, WireError> {
        let truncates = match &self.request.op {
            MetaOp::SetAttr { inode, .. } => truncation::is_under_way(state, *inode),
            _ => false,
        };
        if truncates || state.unacknowledged.contains(&(self.request.session, self.request.sequence)) {
            let wait = self.backoff.wait(Event::Released, state.now.ms)?;
            return Ok(self.waits(Phase::Repeated(kept), wait));
        }
        Ok(self.next(Phase::Done(grants::kept_body(&kept))))
    }

    fn attempt(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        // Its session may have ended, or its client given it up, while it waited.
        state.sessions.check(self.leave)?;
        if self.again.is_none() && !self.is_open_here(state)? {
            return self.try_again(state, Event::Released);
        }
        let State { ground, doubts, delegations, .. } = state;
        let keeps = |dir| {
            matches!(delegations.mode(dir, self.request.session), DelegationMode::Shared | DelegationMode::Exclusive)
        };
        let (request, made) = (&self.request, self.again.as_ref().and_then(|again| again.made.clone()));
        let split_above = ground.split_above;
        let outcome = ground.run(&Caller::of(request), None, |mut change, env| {
            if let Some(made) = made {
                change = change.again(made);
            }
            let mut reply = ns::run(&mut change, env, &request.op)?;
            doubts.tell(&mut reply);
            let body = grants::plain(&reply);
            replies::keep(&mut change, request, &body[ANSWER_HEAD_BYTES..]);
            let (touched, gone) = (change.touched(), change.destroyed());
            let dirs = change.changed_dirs(keeps);
            let large = change.to_consider(split_above);
            Ok(Ready { reply, body, touched, gone, dirs, large, batch: change.finish() })
        });
        match outcome {
            Ok(ready) => self.ready(state, ready),
            Err(Fault::Refused(error)) => {
                if error.code == ErrorCode::OTHER_FRAGMENT {
                    // Its client does it there.
                    state.sessions.refuse(self.leave);
                }
                Err(error)
            }
            Err(Fault::Blocked) => self.try_again(state, Event::Released),
            Err(Fault::Elsewhere(plan)) => self.elsewhere(state, *plan),
        }
    }

    /// Whether its slot may be used; an error, if it is another server's: then it was not done here, and is not done any more.
    fn is_open_here(&self, state: &mut State) -> Result<bool, WireError> {
        match gate::pass(&state.ground, &self.request.op) {
            Ok(()) => Ok(true),
            Err(Fault::Refused(error)) => {
                state.sessions.refuse(self.leave);
                Err(error)
            }
            Err(Fault::Blocked | Fault::Elsewhere(_)) => Ok(false),
        }
    }

    fn try_again(&mut self, state: &State, event: Event) -> Result<Option<Wait>, WireError> {
        self.backoff.check(state.now.ms)?;
        Ok(self.waits(Phase::Attempt, look_again(event, state.now.ms)))
    }

    fn elsewhere(&mut self, state: &mut State, plan: Plan) -> Result<Option<Wait>, WireError> {
        // Before it takes locks: who has to write something first can do that now.
        let dirs = state.ground.dirs_here(&self.request.op);
        if self.again.is_none() && !self.recall.clear(state, &dirs, Need::Change) {
            return self.try_again(state, Event::Delegations);
        }
        let transaction = Transaction::new(state, plan, &self.request, self.leave);
        Ok(self.next(Phase::Transaction(Box::new(transaction))))
    }

    fn ready(&mut self, state: &mut State, ready: Ready) -> Result<Option<Wait>, WireError> {
        if let Some(answer) = self.no_room(state, &ready) {
            return answer.map(|body| self.done(state, body));
        }
        if let Some(again) = &self.again {
            is_same(state, &again.acknowledged, &ready.body)?;
            return self.make_again(state, ready);
        }
        exclusive::check(state, &self.request)?;
        let opens = matches!(self.request.op, MetaOp::Open { .. });
        if !self.recall.clear(state, &ready.touched, Need::Change)
            || !self.recall.clear(state, &ready.gone, Need::Remove)
            || (opens && !self.recall.clear(state, &grants::shown(&ready.reply), Need::Read))
        {
            if let MetaOp::PutInlines { puts } = &self.request.op {
                let body = none_taken(puts.len(), &ErrorCode::BUSY.into());
                return Ok(self.done(state, body));
            }
            return self.try_again(state, Event::Delegations);
        }
        self.make(state, ready)
    }

    /// Applies a change that nothing stands in the way of any more, and completes its answer.
    fn make(&mut self, state: &mut State, ready: Ready) -> Result<Option<Wait>, WireError> {
        let Ready { mut reply, mut body, gone, dirs, large, mut batch, .. } = ready;
        let request = &self.request;
        let truncation = truncation::begin(state, request, &mut batch)?;
        if let Err(error) = state.apply(&batch) {
            if let Some(truncation) = truncation {
                truncation.cancel(state);
            }
            return Err(error);
        }
        let given = grants::grant(state, request, &mut reply, None);
        implicit_open::granted(state, request, &reply, given)?;
        self.position = Some(state.ground.tables.position());
        grants::set_grants(&mut body, given);
        if !dirs.is_empty() {
            add_dirs(&mut body, &dirs);
        }
        large.into_iter().for_each(|dir| consider(state, dir));
        for inode in &gone {
            state.delegations.end_inode(*inode);
            state.doubts.forget(*inode);
        }
        match &request.op {
            // What has moved to storage is all that storage has.
            MetaOp::Commit(commit) if commit.spilled.is_some() => state.doubts.settle(commit.inode),
            MetaOp::SetLock { inode, lock } => lock_wait::applied(state, request.session, *inode, lock),
            MetaOp::SessionAdopt(session) => adopt::adopted(state, *session),
            _ => {}
        }
        Ok(match truncation {
            Some(truncation) => self.next(Phase::Truncating(Box::new(truncation), body)),
            None => self.done(state, body),
        })
    }

    /// The same of one that is done again. What it granted is not held any more; what it cut at storage is cut.
    fn make_again(&mut self, state: &mut State, ready: Ready) -> Result<Option<Wait>, WireError> {
        let Ready { body, gone, mut batch, .. } = ready;
        if let MetaOp::SetAttr { inode, set: SetAttr { size: Some(_), .. } } = &self.request.op {
            batch.delete(keys::truncate(*inode));
        }
        state.apply(&batch)?;
        gone.iter().for_each(|inode| state.doubts.forget(*inode));
        match &self.request.op {
            MetaOp::SetLock { inode, lock } => lock_wait::applied(state, self.request.session, *inode, lock),
            MetaOp::SessionAdopt(session) => adopt::adopted(state, *session),
            _ => {}
        }
        Ok(self.done(state, body))
    }

    /// The answer to an operation that would make full tables larger.
    fn no_room(&self, state: &State, ready: &Ready) -> Option<Result<Vec<u8>, WireError>> {
        let error = self.room.as_ref().err()?;
        match &self.request.op {
            MetaOp::PutInlines { puts } => Some(Ok(none_taken(puts.len(), error))),
            op => {
                // What cannot be read was read a moment ago: the next request says what is wrong with it.
                let is_there = |key: &[u8]| state.ground.tables.get(key).is_ok_and(|row| row.is_some());
                let kind = growth::of_outcome(op, &ready.reply, &ready.batch, &is_there);
                (kind != ChangeKind::Maintains).then(|| Err(error.clone()))
            }
        }
    }
}

fn settled_fault(fault: Fault) -> WireError {
    match fault {
        Fault::Refused(error) => error,
        Fault::Blocked | Fault::Elsewhere(_) => ErrorCode::BUSY.into(),
    }
}

/// Bytes of inline content that an inode has.
fn inline_len(state: &State, inode: InodeId) -> usize {
    // What cannot be read is refused by whoever reads it to change it.
    state.ground.tables.get(&keys::data(inode)).ok().flatten().map_or(0, |data| data.len())
}

/// The answer to many contents of which one has to wait for another client, or does not fit: that one is then sent in a request
/// of its own, so that the others do not fare like it.
fn none_taken(count: usize, why: &WireError) -> Vec<u8> {
    let refused = || PutOutcome::Refused(why.clone());
    grants::body(Grants::default(), &MetaReply::Inlines(std::iter::repeat_with(refused).take(count).collect()))
}

fn wants_sync(op: &MetaOp) -> bool {
    match op {
        MetaOp::Commit(commit) => commit.sync || commit.encoded.is_some(),
        MetaOp::PutInline(put) => put.sync,
        MetaOp::PutInlines { puts } => puts.iter().any(|put| put.sync),
        // Who is given the file next may write to where it is now.
        op => exclusive::moved(op).is_some(),
    }
}
