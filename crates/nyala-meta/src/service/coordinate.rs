// SPDX-License-Identifier: Apache-2.0

//! The coordinator's side of a transaction. `crate::tx` has the failure model and the recovery table.

use super::execute::{Body, keep_reply};
use super::state::{Caller, State};
use crate::change::{Change, Fault};
use crate::keys;
use crate::locks::LockKey;
use crate::ns::Env;
use crate::ns::rename::found;
use crate::records::CommittedRecord;
use crate::tx::plan::{Found, moves_directory, rename_parts};
use crate::tx::{Plan, parts};
use nyala_store::Batch;
use nyala_wire::meta::{MetaReply, MetaRequest, Rename};
use nyala_wire::meta_tx::{PartResult, TxAction, TxId, TxPart, TxReply, TxRequest};
use nyala_wire::{ErrorCode, FileKind, InodeId, Slot, TargetId, WireError, codec};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Why an attempt came to nothing.
#[derive(Debug)]
pub enum Failed {
    /// The operation is refused; this is the answer.
    Refused(WireError),
    /// Something stood in the way or changed meanwhile: start over.
    Again,
}

impl From<WireError> for Failed {
    fn from(error: WireError) -> Self {
        if error.code == ErrorCode::BUSY { Failed::Again } else { Failed::Refused(error) }
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

    /// Waits a random, growing time; `BUSY` when patience has run out.
    pub async fn wait(&mut self, state: &State) -> Result<(), WireError> {
        if self.since.elapsed() > Self::LIMIT {
            return Err(ErrorCode::BUSY.with("a conflicting transaction does not end"));
        }
        tokio::time::sleep(self.pause.mul_f64((state.random() % 1000) as f64 / 1000.0)).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(50));
        Ok(())
    }
}

/// A transaction in the making.
struct Attempt<'a> {
    state: &'a Rc<State>,
    request: &'a MetaRequest,
    tx: TxId,
    /// Servers that were asked to prepare something, and how often.
    asked: BTreeMap<TargetId, u8>,
}

/// Tries once to do the operation as a transaction.
pub async fn attempt(state: &Rc<State>, plan: &Plan, request: &MetaRequest) -> Result<Body, Failed> {
    let tx = state.new_tx();
    state.undecided.borrow_mut().insert(tx.number);
    let mut attempt = Attempt { state, request, tx, asked: BTreeMap::new() };
    let result = match plan {
        Plan::Rename(rename) => attempt.rename(rename).await,
        plan => attempt.simple(plan).await,
    };
    state.undecided.borrow_mut().remove(&tx.number);
    state.unlock(tx);
    let participants: Vec<TargetId> = attempt.asked.into_keys().collect();
    match &result {
        // The client hears of it when every server shows it.
        Ok(_) => tell_committed(state.clone(), tx.number, participants).await,
        Err(_) => abort(state, tx, participants),
    }
    result
}

impl Attempt<'_> {
    fn caller(&self) -> Caller {
        Caller { session: self.request.session, owner: self.request.owner, now: self.request.now }
    }

    fn is_here(&self, slot: Slot) -> bool {
        self.state.map().slot_target(slot) == Some(self.state.me)
    }

    /// Mkdir, link, unlink, rmdir: at most one part elsewhere, and the entry's here.
    async fn simple(&mut self, plan: &Plan) -> Result<Body, Failed> {
        let first = plan.first_parts();
        let (here, there): (Vec<TxPart>, Vec<TxPart>) = first.into_iter().partition(|part| self.is_here(part.slot()));
        let results = self.prepare(there).await?;
        let result = results.first().cloned();
        let entry = result.as_ref().and_then(|result| plan.entry_part(result));
        self.decide(here.into_iter().chain(entry).collect(), plan.reply(result.as_ref())).await
    }

    async fn rename(&mut self, rename: &Rename) -> Result<Body, Failed> {
        let caller = self.caller();
        let look = |change: &mut Change<'_>, env: &Env<'_>| {
            let from = found(change, rename.from_parent, &rename.from_name)?;
            let to_here = env.is_here(rename.to_parent);
            let to = if to_here { found(change, rename.to_parent, &rename.to_name)? } else { None };
            Ok::<_, Fault>((from, to_here, to))
        };
        let (from, to_here, mut to) = self.state.with_change(&caller, Some(self.tx), |mut c, env| look(&mut c, env))?;
        let from = from.ok_or_else(|| WireError::from(ErrorCode::NOT_FOUND))?;
        if !to_here {
            let peek = TxPart::PeekEntry { dir: rename.to_parent, name: rename.to_name.clone() };
            to = match self.prepare(vec![peek]).await?.first() {
                Some(PartResult::Entry(entry)) => *entry,
                _ => return Err(WireError::from(ErrorCode::BAD_MESSAGE).into()),
            };
        }
        let Some(list) = rename_parts(rename, from, to)? else {
            return self.decide(Vec::new(), MetaReply::Done).await;
        };
        if moves_directory(rename, from, to) {
            self.lock_renames().await?;
            self.refuse_loops(rename, from, to).await?;
        }
        let (here, there): (Vec<TxPart>, Vec<TxPart>) = list.into_iter().partition(|part| self.is_here(part.slot()));
        self.prepare(there).await?;
        self.decide(here, MetaReply::Done).await
    }

    async fn lock_renames(&mut self) -> Result<(), Failed> {
        if self.is_here(TxPart::RenameLock.slot()) {
            return Ok(self.state.lock(self.tx, &[LockKey::Rename])?);
        }
        self.prepare(vec![TxPart::RenameLock]).await.map(|_| ())
    }

    /// A directory may not go below itself: the way from each destination up to the root must not meet it. The rename
    /// lock is held, so no directory moves meanwhile.
    async fn refuse_loops(&self, rename: &Rename, from: Found, to: Option<Found>) -> Result<(), Failed> {
        let below_itself = |_| Failed::Refused(ErrorCode::INVALID.with("a directory cannot move below itself"));
        if from.1 == FileKind::Directory {
            self.walk_up(rename.to_parent, from.0).await?.map_err(below_itself)?;
        }
        if let Some((inode, FileKind::Directory)) = to {
            if rename.exchange {
                self.walk_up(rename.from_parent, inode).await?.map_err(below_itself)?;
            } else {
                // The replaced directory may not hold the one that moves: it would not be empty.
                let not_empty = |_| Failed::Refused(ErrorCode::NOT_EMPTY.into());
                self.walk_up(rename.from_parent, inode).await?.map_err(not_empty)?;
            }
        }
        Ok(())
    }

    /// Walks from `dir` up to the root; `Err(())` inside if it meets `forbidden`.
    async fn walk_up(&self, dir: InodeId, forbidden: InodeId) -> Result<Result<(), ()>, Failed> {
        let mut at = dir;
        while at != InodeId::ROOT {
            if at == forbidden {
                return Ok(Err(()));
            }
            at = self.parent(at).await?;
        }
        Ok(if forbidden == InodeId::ROOT { Err(()) } else { Ok(()) })
    }

    async fn parent(&self, dir: InodeId) -> Result<InodeId, Failed> {
        let map = self.state.map();
        let target = map.slot_target(dir.slot()).ok_or_else(|| WireError::from(ErrorCode::WRONG_SERVER))?;
        if target == self.state.me {
            let caller = self.caller();
            return Ok(self
                .state
                .with_change(&caller, Some(self.tx), |mut c, _| c.dir(dir).map(|(_, part)| part.parent))?);
        }
        let request = TxRequest { tx: self.tx, action: TxAction::GetParent { dir } };
        match self.state.peers.tx(&map, target, &request).await? {
            TxReply::Parent(parent) => Ok(parent),
            _ => Err(WireError::from(ErrorCode::BAD_MESSAGE).into()),
        }
    }

    /// Has parts prepared on their servers; results in the order of each server's parts.
    async fn prepare(&mut self, list: Vec<TxPart>) -> Result<Vec<PartResult>, Failed> {
        let map = self.state.map();
        let mut by_target: BTreeMap<TargetId, Vec<TxPart>> = BTreeMap::new();
        for part in list {
            let target = map.slot_target(part.slot()).ok_or_else(|| WireError::from(ErrorCode::WRONG_SERVER))?;
            by_target.entry(target).or_default().push(part);
        }
        let mut results = Vec::new();
        for (target, parts) in by_target {
            let asked = self.asked.entry(target).or_default();
            let action = TxAction::Prepare { now: self.request.now, parts, stage: *asked };
            *asked += 1;
            match self.state.peers.tx(&map, target, &TxRequest { tx: self.tx, action }).await? {
                TxReply::Prepared(prepared) => results.extend(prepared),
                _ => return Err(WireError::from(ErrorCode::BAD_MESSAGE).into()),
            }
        }
        Ok(results)
    }

    /// Does the parts that are here and logs the decision, in one record.
    async fn decide(&mut self, here: Vec<TxPart>, reply: MetaReply) -> Result<Body, Failed> {
        let body = codec::encode(&reply);
        let participants: Vec<TargetId> = self.asked.keys().copied().collect();
        let caller = self.caller();
        let batch = self.state.with_change(&caller, Some(self.tx), |mut change, env| {
            for part in &here {
                let result = parts::check(&mut change, part, env.now)?;
                parts::perform(&mut change, part, &result, env.now)?;
            }
            keep_reply(&mut change, self.request, &body);
            if !participants.is_empty() {
                change.put_record(keys::committed(self.tx.number), &CommittedRecord { participants });
            }
            Ok::<Batch, Fault>(change.finish())
        })?;
        self.state.apply(&batch)?;
        self.state.flusher.flushed().await?;
        Ok(body)
    }
}

/// Tells participants of a decided transaction until all have confirmed, then forgets it.
pub async fn tell_committed(state: Rc<State>, number: u64, participants: Vec<TargetId>) {
    if participants.is_empty() {
        return;
    }
    let tx = TxId { coordinator: state.me, number };
    let mut left: BTreeSet<TargetId> = participants.into_iter().collect();
    let mut pause = Duration::from_millis(10);
    loop {
        for target in left.clone() {
            let request = TxRequest { tx, action: TxAction::Commit };
            match state.peers.tx(&state.map(), target, &request).await {
                Ok(_) => drop(left.remove(&target)),
                Err(error) => tracing::debug!(%target, %error, "commit not confirmed yet"),
            }
        }
        if left.is_empty() {
            break;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
    let mut batch = Batch::new();
    batch.delete(keys::committed(number));
    if let Err(error) = state.apply(&batch) {
        tracing::warn!(number, %error, "a finished transaction is not forgotten yet; it is told again after a restart");
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
