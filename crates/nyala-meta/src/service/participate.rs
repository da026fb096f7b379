// SPDX-License-Identifier: Apache-2.0

//! The participant's side of a transaction: receives, logs, locks. The logic is `nyala_namespace::tx::participant`; `nyala_namespace::tx`
//! has the failure model and the recovery table.

use super::leases::Passage;
use super::state::{Caller, Promise, State};
use nyala_kv::{Batch, ChangeKind};
use nyala_namespace::change::Fault;
use nyala_namespace::growth;
use nyala_namespace::leases::Need;
use nyala_namespace::locks::LockKey;
use nyala_namespace::tx::participant::{self, Prepare};
use nyala_wire::meta_tx::{Outcome, PartResult, TxAction, TxId, TxPart, TxReply, TxRequest};
use nyala_wire::{ErrorCode, SessionId, TargetId, Time, WireError};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// After so long without a word from the coordinator a participant asks.
const DOUBT: Duration = Duration::from_secs(1);
/// A coordinator waits so long for clients to let go; less than its timeout for one step.
const LEASE_PATIENCE: Duration = Duration::from_secs(2);

/// Answers a step of a transaction.
pub async fn request(state: &Rc<State>, request: TxRequest) -> Result<TxReply, WireError> {
    if !state.member.lease_valid() {
        return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease"));
    }
    let tx = request.tx;
    match request.action {
        TxAction::Prepare { now, parts, stage } => prepare(state, tx, now, parts, stage).await.map(TxReply::Prepared),
        TxAction::Commit => end(state, tx, true).await.map(|()| TxReply::Done),
        TxAction::Abort => end(state, tx, false).await.map(|()| TxReply::Done),
        TxAction::Status => status(state, tx).map(TxReply::Outcome),
        TxAction::LockEdges => Ok(TxReply::LockEdges(super::lock_wait::edges(state))),
        TxAction::GetParent { dir } => {
            let caller = Caller::service(Time::default());
            let parent =
                state.with_change(&caller, Some(tx), |mut change, _| change.dir(dir).map(|(_, part)| part.parent));
            parent.map(TxReply::Parent).map_err(refusal)
        }
    }
}

/// What a participant answers when it cannot do a part: it never waits.
fn refusal(fault: Fault) -> WireError {
    match fault {
        Fault::Refused(error) => error,
        Fault::Blocked | Fault::Elsewhere(_) => ErrorCode::BUSY.into(),
    }
}

/// Answers when what was prepared is on disk: the promise to commit has to outlive a power cut.
async fn prepare(
    state: &Rc<State>,
    tx: TxId,
    now: Time,
    list: Vec<TxPart>,
    stage: u8,
) -> Result<Vec<PartResult>, WireError> {
    let map = state.map();
    if list.iter().any(|part| map.slot_target(part.slot()) != Some(state.me)) {
        return Err(ErrorCode::WRONG_SERVER.into());
    }
    state.room().await;
    room_for_parts(state, &list).await?;
    clear_leases(state, tx, now, &list, stage).await?;
    let prepared = state.with_change(&Caller::service(now), Some(tx), |change, _| {
        participant::prepare(change, &state.ended.borrow(), tx, now, &list, stage)
    });
    let results = match prepared.map_err(refusal)? {
        Prepare::Repeated(results) => results,
        Prepare::New { batch, locks, results } => {
            state.apply(&batch)?;
            // They were free a moment ago, and nothing else ran since.
            state.lock(tx, &locks)?;
            state.prepared.borrow_mut().insert(tx, Promise::new(false));
            results
        }
    };
    state.flusher.flushed().await?;
    state.durable().await?;
    Ok(results)
}

/// ENOSPC if the parts would make full tables larger.
pub async fn room_for_parts(state: &State, parts: &[TxPart]) -> Result<(), WireError> {
    let grows = parts.iter().map(growth::of_part).find(|kind| *kind == ChangeKind::Grows);
    state.room_for(grows.unwrap_or(ChangeKind::Maintains)).await
}

/// Has clients let go of what the parts change, before it is locked: a client that has to write something first could
/// not do that afterwards. The locks then keep others from being given it. The coordinator's client is no exception: it
/// is not known here.
async fn clear_leases(state: &Rc<State>, tx: TxId, now: Time, list: &[TxPart], stage: u8) -> Result<(), WireError> {
    let mut passage = Passage::new(state, SessionId(0));
    let began = Instant::now();
    loop {
        let news = state.lease_news.notified();
        let prepared = state.with_change(&Caller::service(now), Some(tx), |change, _| {
            participant::prepare(change, &state.ended.borrow(), tx, now, list, stage)
        });
        let Ok(Prepare::New { locks, .. }) = prepared else { return Ok(()) };
        let inodes: Vec<_> = locks.iter().filter_map(LockKey::inode).collect();
        // Some of these may go.
        if state.leases.borrow().recovered() && passage.clear(&inodes, Need::Remove) {
            return Ok(());
        }
        if began.elapsed() > LEASE_PATIENCE {
            return Err(ErrorCode::BUSY.with("clients have not let go of their leases yet"));
        }
        passage.wait(news).await;
    }
}

/// Does what was prepared, or forgets it. If that happened before, a commit is confirmed only when it is on disk: the
/// coordinator forgets the transaction after the second confirmation.
async fn end(state: &Rc<State>, tx: TxId, commit: bool) -> Result<(), WireError> {
    let caller = Caller::service(Time::default());
    let ended = state.with_change(&caller, Some(tx), |change, _| participant::end(change, tx, commit));
    let batch: Option<Batch> = ended.map_err(|fault| {
        // What was prepared is locked, so nothing can stand in its way: this is a bug or a damaged table.
        tracing::error!(?tx, ?fault, "a prepared transaction cannot be ended");
        refusal(fault)
    })?;
    state.ended.borrow_mut().note(tx);
    let mut first = false;
    if let Some(batch) = batch {
        state.apply(&batch)?;
        let promise = state.prepared.borrow_mut().remove(&tx);
        state.unlock(tx);
        first = promise.is_some_and(|promise| !promise.taken_up);
    }
    state.flusher.flushed().await?;
    if commit && !first { state.durable().await } else { Ok(()) }
}

/// What became of a transaction that this server coordinates.
fn status(state: &State, tx: TxId) -> Result<Outcome, WireError> {
    if tx.coordinator != state.me {
        return Err(ErrorCode::WRONG_SERVER.into());
    }
    let undecided = state.undecided.borrow().contains(&tx.number);
    let caller = Caller::service(Time::default());
    state
        .with_change(&caller, Some(tx), |change, _| participant::outcome(&change, tx.number, undecided))
        .map_err(refusal)
}

/// Asks coordinators that keep silent what became of their transactions. Runs until the service stops.
pub async fn resolve_doubts(state: Rc<State>) {
    loop {
        tokio::time::sleep(DOUBT / 2).await;
        let mut doubtful: BTreeMap<TargetId, Vec<TxId>> = BTreeMap::new();
        for (tx, _) in state.prepared.borrow().iter().filter(|(_, promise)| promise.since.elapsed() > DOUBT) {
            doubtful.entry(tx.coordinator).or_default().push(*tx);
        }
        // Each coordinator on its own: one that is down holds up nobody else's.
        let asking = doubtful.into_values().map(|list| tokio::task::spawn_local(ask(state.clone(), list)));
        for asked in asking.collect::<Vec<_>>() {
            if asked.await.is_err() {
                tracing::error!("asking for outcomes ended badly");
            }
        }
    }
}

/// Asks one coordinator for the outcomes of its transactions, as long as it answers.
async fn ask(state: Rc<State>, list: Vec<TxId>) {
    for tx in list {
        let request = TxRequest { tx, action: TxAction::Status };
        let outcome = match state.peers.tx(&state.map(), tx.coordinator, &request).await {
            Ok(TxReply::Outcome(outcome)) => outcome,
            Ok(_) => continue,
            Err(error) => {
                tracing::debug!(?tx, %error, "outcome of a transaction is still open");
                return;
            }
        };
        if outcome == Outcome::Pending {
            continue;
        }
        if let Err(error) = end(&state, tx, outcome == Outcome::Committed).await {
            tracing::warn!(?tx, %error, "cannot end a transaction yet");
        }
    }
}
