// SPDX-License-Identifier: Apache-2.0

//! The participant's side of a transaction. `crate::tx` has the failure model and the recovery table.

use super::state::{Caller, State};
use crate::change::Fault;
use crate::keys;
use crate::locks::LockKey;
use crate::records::PreparedRecord;
use crate::tx::parts;
use nyala_store::Batch;
use nyala_wire::meta_tx::{Outcome, PartResult, TxAction, TxId, TxPart, TxReply, TxRequest};
use nyala_wire::{ErrorCode, Time, WireError};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// After so long without a word from the coordinator a participant asks.
const DOUBT: Duration = Duration::from_secs(1);

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
    let before = load(state, tx)?;
    if let Some(record) = before.as_ref().filter(|record| record.stage >= stage) {
        let tail = record.parts.len().saturating_sub(list.len());
        state.flusher.flushed().await?;
        return Ok(record.parts[tail..].iter().map(|(_, result)| result.clone()).collect());
    }
    let caller = Caller::service(now);
    let (batch, results) = state
        .with_change(&caller, Some(tx), |mut change, _| {
            let check = |part: &TxPart| parts::check(&mut change, part, now);
            let results = list.iter().map(check).collect::<Result<Vec<PartResult>, Fault>>()?;
            let mut record = before.unwrap_or(PreparedRecord { parts: Vec::new(), stage, now });
            record.stage = stage;
            record.parts.extend(list.iter().cloned().zip(results.iter().cloned()));
            change.put_record(keys::prepared(tx), &record);
            Ok((change.finish(), results))
        })
        .map_err(refusal)?;
    let wanted: Vec<LockKey> =
        list.iter().zip(&results).flat_map(|(part, result)| parts::locks(part, result)).collect();
    state.lock(tx, &wanted)?;
    state.apply(&batch)?;
    state.prepared.borrow_mut().insert(tx, Instant::now());
    state.flusher.flushed().await?;
    Ok(results)
}

fn load(state: &State, tx: TxId) -> Result<Option<PreparedRecord>, WireError> {
    let caller = Caller::service(Time::default());
    state.with_change(&caller, Some(tx), |change, _| change.record(&keys::prepared(tx))).map_err(refusal)
}

/// Does what was prepared, or forgets it. Fine if that happened before.
async fn end(state: &Rc<State>, tx: TxId, commit: bool) -> Result<(), WireError> {
    let Some(record) = load(state, tx)? else {
        return state.flusher.flushed().await;
    };
    let caller = Caller::service(record.now);
    let batch = state
        .with_change(&caller, Some(tx), |mut change, _| {
            for (part, result) in record.parts.iter().filter(|_| commit) {
                parts::perform(&mut change, part, result, record.now)?;
            }
            change.delete(keys::prepared(tx));
            Ok::<Batch, Fault>(change.finish())
        })
        .map_err(|fault| {
            // What was prepared is locked, so nothing can stand in its way: this is a bug or a damaged table.
            tracing::error!(?tx, ?fault, "a prepared transaction cannot be committed");
            refusal(fault)
        })?;
    state.apply(&batch)?;
    state.prepared.borrow_mut().remove(&tx);
    state.unlock(tx);
    state.flusher.flushed().await
}

/// What became of a transaction that this server coordinates.
fn status(state: &State, tx: TxId) -> Result<Outcome, WireError> {
    if tx.coordinator != state.me {
        return Err(ErrorCode::WRONG_SERVER.into());
    }
    if state.undecided.borrow().contains(&tx.number) {
        return Ok(Outcome::Pending);
    }
    let caller = Caller::service(Time::default());
    let committed = state.with_change(&caller, Some(tx), |change, _| change.get(&keys::committed(tx.number)));
    match committed.map_err(refusal)? {
        Some(_) => Ok(Outcome::Committed),
        None => Ok(Outcome::Aborted),
    }
}

/// Asks coordinators that keep silent what became of their transactions. Runs until the service stops.
pub async fn resolve_doubts(state: Rc<State>) {
    loop {
        tokio::time::sleep(DOUBT / 2).await;
        let doubtful: Vec<TxId> = {
            let prepared = state.prepared.borrow();
            prepared.iter().filter(|(_, since)| since.elapsed() > DOUBT).map(|(tx, _)| *tx).collect()
        };
        for tx in doubtful {
            let request = TxRequest { tx, action: TxAction::Status };
            let resolved = match state.peers.tx(&state.map(), tx.coordinator, &request).await {
                Ok(TxReply::Outcome(Outcome::Committed)) => end(&state, tx, true).await,
                Ok(TxReply::Outcome(Outcome::Aborted)) => end(&state, tx, false).await,
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = resolved {
                tracing::debug!(?tx, %error, "outcome of a transaction is still open");
            }
        }
    }
}
