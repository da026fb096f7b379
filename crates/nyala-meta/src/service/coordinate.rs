// SPDX-License-Identifier: Apache-2.0

//! Drives [`Coordinator`]: sends what it asks for, logs its decision, tells the participants. `nyala_namespace::tx` has the
//! failure model and the recovery table.

use super::execute::Body;
use super::leases::Passage;
use super::participate;
use super::state::{Caller, State};
use nyala_kv::Batch;
use nyala_namespace::change::Fault;
use nyala_namespace::keys;
use nyala_namespace::leases::Need;
use nyala_namespace::locks::LockKey;
use nyala_namespace::sessions::Leave;
use nyala_namespace::tx::coordinator::{Ask, Coordinator, Heard, decide};
use nyala_namespace::tx::{Plan, parts};
use nyala_wire::meta::{MetaReply, MetaRequest};
use nyala_wire::meta_tx::{PartResult, TxAction, TxId, TxPart, TxReply, TxRequest};
use nyala_wire::{ErrorCode, InodeId, TargetId, WireError};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Pause before participants are asked whether their commits are on disk; by then they mostly are.
const FORGET_PAUSE: Duration = Duration::from_secs(1);
/// Most questions of that kind under way.
const FORGET_AT_ONCE: usize = 32;
/// So long a transaction that holds its locks waits for clients to let go of leases.
const LEASE_PATIENCE: Duration = Duration::from_millis(300);

/// Why an attempt came to nothing.
#[derive(Debug)]
pub enum Failed {
    /// The operation is refused; this is the answer.
    Refused(WireError),
    /// Something stood in the way or changed meanwhile: start over.
    Again,
    /// The decision was made, but the log is closing or broken: whether it holds, the next start will see. Nobody may be
    /// told anything.
    Unknown(WireError),
}

impl From<WireError> for Failed {
    fn from(error: WireError) -> Self {
        match error.code {
            ErrorCode::BUSY | ErrorCode::NO_TRANSACTION => Failed::Again,
            _ => Failed::Refused(error),
        }
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(error) => error.into(),
            Fault::Blocked | Fault::Elsewhere(_) => Failed::Again,
        }
    }
}

/// How long a server tries an operation again before the client is asked to.
pub struct Patience {
    since: Instant,
    pause: Duration,
}

impl Patience {
    const LIMIT: Duration = Duration::from_secs(10);

    /// Starts now.
    pub fn new() -> Patience {
        Patience { since: Instant::now(), pause: Duration::from_micros(200) }
    }

    /// `BUSY` when patience has run out.
    pub fn check(&self) -> Result<(), WireError> {
        if self.since.elapsed() > Self::LIMIT {
            return Err(ErrorCode::BUSY.with("a conflicting transaction does not end"));
        }
        Ok(())
    }

    /// Waits a random, growing time; `BUSY` when patience has run out.
    pub async fn wait(&mut self, state: &State) -> Result<(), WireError> {
        self.check()?;
        tokio::time::sleep(self.pause.mul_f64((state.random() % 1000) as f64 / 1000.0)).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(50));
        Ok(())
    }
}

/// Tries once to do the operation as a transaction.
pub async fn attempt(state: &Rc<State>, plan: Plan, request: &MetaRequest, leave: Leave) -> Result<Body, Failed> {
    let tx = state.new_tx();
    state.undecided.borrow_mut().insert(tx.number);
    let mut coordinator = Coordinator::new(plan);
    let result = drive(state, tx, &mut coordinator, request, leave).await;
    state.unlock(tx);
    if !matches!(result, Err(Failed::Unknown(_))) {
        state.undecided.borrow_mut().remove(&tx.number);
    }
    let participants = coordinator.participants();
    match &result {
        // The client hears of it when every server shows it.
        Ok(_) => tell_committed(state, tx.number, participants).await,
        Err(Failed::Unknown(_)) => {}
        Err(_) => abort(state, tx, participants),
    }
    result
}

async fn drive(
    state: &Rc<State>,
    tx: TxId,
    coordinator: &mut Coordinator,
    request: &MetaRequest,
    leave: Leave,
) -> Result<Body, Failed> {
    let caller = Caller { session: request.session, unsaid: false, owner: request.owner, now: request.now };
    let mut heard = Heard::Ready;
    loop {
        let ask = state.with_change(&caller, Some(tx), |mut c, env| coordinator.step(&mut c, env, heard))?;
        heard = match ask {
            Ask::Prepare(list) => Heard::Prepared(prepare(state, tx, request, list).await?),
            Ask::Parent(target, dir) => Heard::Parent(parent(state, tx, target, dir).await?),
            Ask::LockRenames => {
                state.lock(tx, &[LockKey::Rename])?;
                Heard::Ready
            }
            Ask::Decide { here, reply } => {
                return log_decision(state, tx, coordinator.participants(), request, leave, (here, reply)).await;
            }
        };
    }
}

/// Has parts prepared, all servers at once.
async fn prepare(
    state: &Rc<State>,
    tx: TxId,
    request: &MetaRequest,
    list: Vec<(TargetId, u8, Vec<TxPart>)>,
) -> Result<Vec<PartResult>, WireError> {
    let ask = |(target, stage, parts)| {
        let action = TxAction::Prepare { now: request.now, parts, stage };
        let state = state.clone();
        tokio::task::spawn_local(async move { state.peers.tx(&state.map(), target, &TxRequest { tx, action }).await })
    };
    let asked: Vec<_> = list.into_iter().map(ask).collect();
    let mut results = Vec::new();
    for answer in asked {
        match answer.await.unwrap_or_else(|_| Err(ErrorCode::NOT_READY.with("the service stops")))? {
            TxReply::Prepared(prepared) => results.extend(prepared),
            _ => return Err(ErrorCode::BAD_MESSAGE.into()),
        }
    }
    Ok(results)
}

async fn parent(state: &State, tx: TxId, target: TargetId, dir: InodeId) -> Result<InodeId, WireError> {
    let request = TxRequest { tx, action: TxAction::GetParent { dir } };
    match state.peers.tx(&state.map(), target, &request).await? {
        TxReply::Parent(parent) => Ok(parent),
        _ => Err(ErrorCode::BAD_MESSAGE.into()),
    }
}

/// Logs the decision with the parts that are here. It is on disk before a participant hears of it: a power cut that took
/// it back here, but not there, would leave a name twice or nowhere.
async fn log_decision(
    state: &Rc<State>,
    tx: TxId,
    participants: Vec<TargetId>,
    request: &MetaRequest,
    leave: Leave,
    (here, reply): (Vec<TxPart>, MetaReply),
) -> Result<Body, Failed> {
    state.sessions.borrow().check(leave)?;
    let caller = Caller { session: request.session, unsaid: false, owner: request.owner, now: request.now };
    let alone = participants.is_empty();
    participate::room_for_parts(state, &here).await?;
    let mut passage = Passage::new(state, request.session);
    clear_leases(state, &mut passage, &caller, tx, &here).await?;
    state.sessions.borrow().check(leave)?;
    let (body, batch) = state
        .with_change(&caller, Some(tx), |change, env| decide(change, env, request, tx, participants, &here, &reply))?;
    state.apply(&batch)?;
    state.flusher.flushed().await.map_err(Failed::Unknown)?;
    if !alone {
        state.durable().await.map_err(Failed::Unknown)?;
    }
    Ok(body)
}

/// Has clients let go of what the parts here change. Not for long: one that has to write something first cannot while
/// the transaction holds its locks, so it gives them up and comes again.
async fn clear_leases(
    state: &State,
    passage: &mut Passage<'_>,
    caller: &Caller,
    tx: TxId,
    here: &[TxPart],
) -> Result<(), Failed> {
    let began = Instant::now();
    loop {
        let news = state.lease_news.notified();
        let (touched, gone) = state.with_change(caller, Some(tx), |mut change, env| {
            for part in here {
                let result = parts::check(&mut change, part, env.now)?;
                parts::perform(&mut change, part, &result, env.now)?;
            }
            Ok::<_, Fault>((change.touched(), change.destroyed()))
        })?;
        if passage.clear(&touched, Need::Change) && passage.clear(&gone, Need::Remove) {
            return Ok(());
        }
        if began.elapsed() > LEASE_PATIENCE {
            return Err(Failed::Again);
        }
        passage.wait(news).await;
    }
}

/// Tells participants of a decided transaction until all have done it. It is forgotten later, see [`forget`].
pub async fn tell_committed(state: &Rc<State>, number: u64, participants: Vec<TargetId>) {
    if participants.is_empty() {
        return;
    }
    let told = |target| {
        let state = state.clone();
        tokio::task::spawn_local(async move { tell(&state, number, target).await })
    };
    for telling in participants.iter().copied().map(told).collect::<Vec<_>>() {
        if telling.await.is_err() {
            return; // The service stops; the next run tells them.
        }
    }
    state.told.borrow_mut().push((number, participants));
}

async fn tell(state: &State, number: u64, target: TargetId) {
    let mut pause = Duration::from_millis(10);
    while let Err(error) = commit(state, number, target).await {
        tracing::debug!(number, %target, %error, "commit not confirmed yet");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

async fn commit(state: &State, number: u64, target: TargetId) -> Result<(), WireError> {
    let tx = TxId { coordinator: state.me, number };
    let request = TxRequest { tx, action: TxAction::Commit };
    state.peers.tx(&state.map(), target, &request).await.map(drop)
}

/// Forgets transactions that all participants have on disk: a second Commit is answered when the first one's change is.
/// Until then the decision has to be kept, because a participant that loses power is in doubt again. Runs until the
/// service stops.
pub async fn forget(state: Rc<State>) {
    loop {
        tokio::time::sleep(FORGET_PAUSE).await;
        let told = std::mem::take(&mut *state.told.borrow_mut());
        for some in told.chunks(FORGET_AT_ONCE) {
            let asked = some.iter().cloned().map(|(number, participants)| {
                let state = state.clone();
                tokio::task::spawn_local(async move {
                    for target in participants {
                        commit(&state, number, target).await?;
                    }
                    Ok::<u64, WireError>(number)
                })
            });
            let mut batch = Batch::new();
            for (answer, kept) in asked.collect::<Vec<_>>().into_iter().zip(some) {
                match answer.await {
                    Ok(Ok(number)) => drop(batch.delete(keys::committed(number))),
                    _ => state.told.borrow_mut().push(kept.clone()),
                }
            }
            if let Err(error) = state.apply(&batch) {
                tracing::warn!(%error, "finished transactions are not forgotten; they are told again after a restart");
            }
        }
    }
}

fn abort(state: &Rc<State>, tx: TxId, participants: Vec<TargetId>) {
    for target in participants {
        let state = state.clone();
        tokio::task::spawn_local(async move {
            let request = TxRequest { tx, action: TxAction::Abort };
            // If this gets lost, the participant asks for the outcome and hears the same.
            if let Err(error) = state.peers.tx(&state.map(), target, &request).await {
                tracing::debug!(%target, %error, "abort not confirmed");
            }
        });
    }
}
