// SPDX-License-Identifier: Apache-2.0

//! The participant's side of a transaction. Pure: takes the tables as they are, returns what to log and to lock.
//! `crate::tx` has the failure model.

use super::parts;
use crate::change::{Change, Fault, Step};
use crate::keys;
use crate::locks::LockKey;
use crate::records::PreparedRecord;
use nyala_kv::Batch;
use nyala_wire::meta_tx::{Outcome, PartResult, TxId, TxPart};
use nyala_wire::{ErrorCode, InodeId, Time};
use std::collections::{HashSet, VecDeque};

/// Transactions that ended here lately. A copy of their Prepare that comes late must not prepare them again: the
/// coordinator, asked for the outcome, would say "committed", and it would be done twice. In memory only: messages to a
/// process do not outlive it.
#[derive(Debug, Default)]
pub struct Ended {
    order: VecDeque<TxId>,
    known: HashSet<TxId>,
}

impl Ended {
    /// Most that are remembered; the oldest go.
    const MOST: usize = 1 << 16;

    /// It has ended, whether or not it was prepared.
    pub fn note(&mut self, tx: TxId) {
        if self.known.insert(tx) {
            self.order.push_back(tx);
        }
        if self.order.len() > Self::MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

/// What to do about a Prepare.
#[derive(Debug)]
pub enum Prepare {
    /// It was done before: answer the same.
    Repeated(Vec<PartResult>),
    /// Log the batch, take the locks (they are free), answer the results once the batch is on disk.
    New {
        /// What to log.
        batch: Batch,
        /// What to lock for the transaction.
        locks: Vec<LockKey>,
        /// What to answer.
        results: Vec<PartResult>,
    },
}

/// Prepares parts, or finds that it was done. Never waits: what is in the way is [`Fault::Blocked`].
///
/// One that has ended is refused. A later stage is refused if the earlier one is not known (any more): it was aborted, and its locks are gone.
pub fn prepare(mut change: Change, ended: &Ended, tx: TxId, now: Time, list: &[TxPart], stage: u8) -> Step<Prepare> {
    if ended.known.contains(&tx) {
        return Err(ErrorCode::NO_TRANSACTION.with("the transaction has ended").into());
    }
    let before: Option<PreparedRecord> = change.record(&keys::prepared(tx))?;
    if let Some(record) = before.as_ref().filter(|record| record.stage >= stage) {
        return repeated(record, list).map(Prepare::Repeated);
    }
    let known = before.as_ref().map_or(0, |record| record.stage.saturating_add(1));
    if known != stage {
        return Err(ErrorCode::NO_TRANSACTION.with("an earlier stage is not known").into());
    }
    let mut results = Vec::with_capacity(list.len());
    for part in list {
        results.push(parts::check(&mut change, part, now)?);
    }
    let locks: Vec<LockKey> = list.iter().zip(&results).flat_map(|(part, result)| parts::locks(part, result)).collect();
    if !change.locks().are_free(tx, &locks) {
        return Err(Fault::Blocked);
    }
    let mut record = before.unwrap_or(PreparedRecord { parts: Vec::new(), stage, now });
    record.stage = stage;
    record.parts.extend(list.iter().cloned().zip(results.iter().cloned()));
    change.put_record(keys::prepared(tx), &record);
    Ok(Prepare::New { batch: change.finish(), locks, results })
}

fn repeated(record: &PreparedRecord, list: &[TxPart]) -> Step<Vec<PartResult>> {
    let parts = record.parts.as_slice();
    let same = |at: &[(TxPart, PartResult)]| at.iter().map(|(part, _)| part).eq(list);
    let found = parts.windows(list.len().max(1)).find(|window| same(window));
    let found = found.ok_or_else(|| ErrorCode::BAD_MESSAGE.with("not what was prepared at this stage"))?;
    Ok(found.iter().map(|(_, result)| result.clone()).collect())
}

/// The end of what was prepared.
#[derive(Debug)]
pub struct End {
    /// What to log, after which the transaction's locks are released.
    pub batch: Batch,
    /// Inodes that are no more.
    pub destroyed: Vec<InodeId>,
}

/// Does what was prepared, or forgets it. `None` if nothing is prepared: that happened before, or there never was anything.
pub fn end(change: Change, tx: TxId, commit: bool) -> Step<Option<End>> {
    let mut change = change.promised();
    let Some(record) = change.record::<PreparedRecord>(&keys::prepared(tx))? else { return Ok(None) };
    for (part, result) in record.parts.iter().filter(|_| commit) {
        parts::perform(&mut change, part, result, record.now)?;
    }
    change.delete(keys::prepared(tx));
    let destroyed = change.destroyed();
    Ok(Some(End { batch: change.finish(), destroyed }))
}

/// What a prepared transaction locks; a restarted participant takes these locks before it answers anybody.
pub fn locks(record: &PreparedRecord) -> Vec<LockKey> {
    record.parts.iter().flat_map(|(part, result)| parts::locks(part, result)).collect()
}

/// The coordinator's answer to a participant in doubt. `undecided`: it is at work on the transaction right now. A
/// decision that is logged but not yet on disk is the caller's to hold back: it counts as undecided.
pub fn outcome(change: &Change, number: u64, undecided: bool) -> Step<Outcome> {
    if undecided {
        return Ok(Outcome::Pending);
    }
    Ok(match change.get(&keys::committed(number))? {
        Some(_) => Outcome::Committed,
        None => Outcome::Aborted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::TargetId;

    #[test]
    fn what_ended_is_remembered_within_bounds() {
        let tx = |number| TxId { coordinator: TargetId(1), number };
        let mut ended = Ended::default();
        (0..Ended::MOST as u64 + 10).for_each(|number| ended.note(tx(number)));
        ended.note(tx(20));
        assert_eq!((ended.order.len(), ended.known.len()), (Ended::MOST, Ended::MOST));
        assert!(!ended.known.contains(&tx(9)) && ended.known.contains(&tx(10)));
    }
}
