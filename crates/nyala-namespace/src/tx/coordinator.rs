// SPDX-License-Identifier: Apache-2.0

//! The coordinator's side of a transaction, step by step. Pure: a step takes the tables as they are and what was heard,
//! and says what to do next. `crate::tx` has the failure model.

use super::common::common_parts;
use super::parts;
use super::plan::{Found, Plan};
use super::rename_parts::{Dirs, moves_directory, rename_parts};
use super::resplit::Move;
use super::resplit_parts::{self, locked};
use crate::access::{check_part, owned_elsewhere};
use crate::change::{Change, Fault, Step};
use crate::keys;
use crate::locks::LockKey;
use crate::ns::Env;
use crate::ns::rename::found;
use crate::records::CommittedRecord;
use crate::replies;
use nyala_kv::Batch;
use nyala_wire::meta::{MetaReply, MetaRequest, Rename};
use nyala_wire::meta_tx::{PartResult, TxId, TxPart};
use nyala_wire::{ErrorCode, FileKind, InodeId, SessionId, Slot, TargetId, WireError, codec};
use std::collections::BTreeMap;

/// Most directories between one and the root that a rename looks at; more are a loop, which is damage.
const MAX_DEPTH: u32 = 1 << 20;

/// What to do next.
#[derive(Debug)]
pub enum Ask {
    /// Have these prepared, each by its target as this stage; then [`Heard::Prepared`].
    Prepare(Vec<(TargetId, u8, Vec<TxPart>)>),
    /// Ask a target for the directory above one; then [`Heard::Parent`].
    Parent(TargetId, InodeId),
    /// Take these locks of this server for the transaction; then [`Heard::Ready`].
    Lock(Vec<LockKey>),
    /// All is prepared: do and log the rest with [`decide`].
    Decide {
        /// The parts that are here.
        here: Vec<TxPart>,
        /// The reply to the client.
        reply: MetaReply,
    },
}

/// What was heard.
#[derive(Debug)]
pub enum Heard {
    /// Nothing yet, or the lock was taken.
    Ready,
    /// The results of all parts, in the order of [`Ask::Prepare`].
    Prepared(Vec<PartResult>),
    /// The directory above.
    Parent(InodeId),
}

/// A way up to the root that must not meet a directory.
#[derive(Clone, Copy, Debug)]
struct Walk {
    at: InodeId,
    forbidden: InodeId,
    refusal: ErrorCode,
    steps: u32,
}

#[derive(Debug)]
enum State {
    Start,
    /// Mkdir, link, unlink, rmdir: the part elsewhere is being prepared.
    Simple(Vec<TxPart>),
    /// Waits to hear what stands under a rename's new name. What moves, and the directory that it is in.
    Peeking(Found, InodeId),
    /// Waits for a directory that is split, or to be.
    Split,
    /// Its parts elsewhere are being prepared.
    Fragments(Vec<TxPart>, MetaReply),
    /// Waits for the rename lock, or for a directory's parent.
    Walking(Vec<TxPart>, Vec<Walk>),
    /// A rename's parts elsewhere are being prepared.
    Last(Vec<TxPart>),
    Decided,
}

/// A transaction in the making.
#[derive(Debug)]
pub struct Coordinator {
    plan: Plan,
    state: State,
    /// Servers that were asked to prepare something, and how often.
    asked: BTreeMap<TargetId, u8>,
}

impl Coordinator {
    /// Nothing asked yet; the first step hears [`Heard::Ready`].
    pub fn new(plan: Plan) -> Coordinator {
        Coordinator { plan, state: State::Start, asked: BTreeMap::new() }
    }

    /// Whether entries go from one fragment to another: nobody may rest anything on where they are before that is on disk.
    pub fn moves_entries(&self) -> bool {
        matches!(self.plan, Plan::Resplit(_))
    }

    /// Who has to be told of the outcome.
    pub fn participants(&self) -> Vec<TargetId> {
        self.asked.keys().copied().collect()
    }

    /// One step. An error ends the attempt: tell the participants to abort.
    pub fn step(&mut self, change: &mut Change, env: &Env, heard: Heard) -> Step<Ask> {
        match (std::mem::replace(&mut self.state, State::Decided), heard) {
            (State::Start, Heard::Ready) => match self.plan.clone() {
                Plan::Rename(rename) => self.start_rename(change, env, &rename),
                Plan::Common { dir, .. } => Ok(self.lock(vec![dir])),
                Plan::Resplit(resplit) => Ok(self.lock(locked(&resplit, &|slot| here(env, slot)))),
                _ => self.start_simple(env),
            },
            (State::Split, Heard::Ready) => self.change_fragments(change, env),
            (State::Fragments(here, reply), Heard::Prepared(results)) => self.changed_fragments(here, reply, results),
            (State::Simple(here), Heard::Prepared(results)) => self.finish_simple(here, results.first()),
            (State::Peeking(from, dir), Heard::Prepared(results)) => match (results.first(), &self.plan) {
                (Some(PartResult::Entry(to)), Plan::Rename(rename)) => {
                    let dirs = (dir, rename.to_parent);
                    self.found_both(env, dirs, from, *to)
                }
                (Some(PartResult::EntryOf { entry, dir: to }), _) => self.found_both(env, (dir, *to), from, *entry),
                _ => Err(ErrorCode::BAD_MESSAGE.into()),
            },
            (State::Walking(list, walks), Heard::Prepared(_) | Heard::Ready) => self.walk(change, env, list, walks),
            (State::Walking(list, mut walks), Heard::Parent(parent)) => {
                if let Some(walk) = walks.last_mut() {
                    walk.at = parent;
                }
                self.walk(change, env, list, walks)
            }
            (State::Last(here), Heard::Prepared(_)) => Ok(decision(here, MetaReply::Done)),
            _ => Err(ErrorCode::BAD_MESSAGE.with("a step out of order").into()),
        }
    }

    /// Mkdir, link, unlink, rmdir: at most one part elsewhere, and the entry's here.
    fn start_simple(&mut self, env: &Env) -> Step<Ask> {
        let (here, there) = split(env, self.plan.first_parts());
        if there.is_empty() {
            // The map has changed since the operation was found to be elsewhere.
            return Err(Fault::Blocked);
        }
        self.state = State::Simple(here);
        self.prepare(env, there)
    }

    fn finish_simple(&mut self, mut here: Vec<TxPart>, result: Option<&PartResult>) -> Step<Ask> {
        let result = result.ok_or_else(|| WireError::from(ErrorCode::BAD_MESSAGE))?;
        here.extend(self.plan.entry_part(result));
        Ok(decision(here, self.plan.reply(Some(result))))
    }

    fn start_rename(&mut self, change: &mut Change, env: &Env, rename: &Rename) -> Step<Ask> {
        let from = found(change, rename.from_parent, &rename.from_name)?.ok_or(ErrorCode::NOT_FOUND)?;
        let dir = change.directory(rename.from_parent)?;
        if env.is_here(rename.to_parent) {
            let to = found(change, rename.to_parent, &rename.to_name)?;
            let dirs = (dir, change.directory(rename.to_parent)?);
            return self.found_both(env, dirs, from, to);
        }
        self.state = State::Peeking(from, dir);
        self.prepare(env, vec![TxPart::PeekEntry { dir: rename.to_parent, name: rename.to_name.clone() }])
    }

    fn found_both(&mut self, env: &Env, dirs: Dirs, from: Found, to: Option<Found>) -> Step<Ask> {
        let Plan::Rename(rename) = self.plan.clone() else { return Err(ErrorCode::BAD_MESSAGE.into()) };
        let Some(list) = rename_parts(&rename, dirs, from, to)? else {
            return Ok(decision(Vec::new(), MetaReply::Done));
        };
        if !moves_directory(&rename, dirs, from, to) {
            return self.last(env, list);
        }
        let walks = walks(&rename, from, to);
        self.state = State::Walking(list, walks);
        if here(env, TxPart::RenameLock.slot()) {
            return Ok(Ask::Lock(vec![LockKey::Rename]));
        }
        self.prepare(env, vec![TxPart::RenameLock])
    }

    /// The way from each destination up to the root must not meet what moves. The rename lock is held, so no directory
    /// moves meanwhile; one whose move is decided but not done everywhere is locked, and stops the walk.
    fn walk(&mut self, change: &mut Change, env: &Env, list: Vec<TxPart>, mut walks: Vec<Walk>) -> Step<Ask> {
        while let Some(walk) = walks.last_mut() {
            if walk.at == walk.forbidden {
                return Err(walk
                    .refusal
                    .with("a directory cannot move below itself, or over one that holds it")
                    .into());
            }
            if walk.at == InodeId::ROOT {
                walks.pop();
                continue;
            }
            walk.steps += 1;
            if walk.steps > MAX_DEPTH {
                return Err(ErrorCode::LOOP.with("the directories above form a loop").into());
            }
            if !here(env, walk.at.slot()) {
                let (target, dir) = (target(env, walk.at.slot())?, walk.at);
                self.state = State::Walking(list, walks);
                return Ok(Ask::Parent(target, dir));
            }
            walk.at = change.dir(walk.at)?.1.parent;
        }
        self.last(env, list)
    }

    fn last(&mut self, env: &Env, list: Vec<TxPart>) -> Step<Ask> {
        let (here, there) = split(env, list);
        if there.is_empty() {
            return Ok(decision(here, MetaReply::Done));
        }
        self.state = State::Last(here);
        self.prepare(env, there)
    }

    fn lock(&mut self, dirs: Vec<InodeId>) -> Ask {
        self.state = State::Split;
        Ask::Lock(dirs.into_iter().map(LockKey::Inode).collect())
    }

    /// The directory is locked: its fragments are those that it has now.
    fn change_fragments(&mut self, change: &mut Change, env: &Env) -> Step<Ask> {
        let (parts, reply) = match &self.plan {
            Plan::Common { dir, op } => common_parts(change, env, *dir, op)?,
            Plan::Resplit(resplit) => (resplit_parts::parts(resplit, change)?, MetaReply::Done),
            _ => return Err(ErrorCode::BAD_MESSAGE.into()),
        };
        let (here, there) = split(env, parts);
        if there.is_empty() {
            if matches!(&self.plan, Plan::Resplit(resplit) if matches!(resplit.step, Move::Add(_))) {
                // The slot has come here meanwhile; the number that it would get is not known before it is decided.
                return Err(Fault::Blocked);
            }
            let check = |part: &TxPart| parts::check(change, part, env.now);
            let results = here.iter().map(check).collect::<Step<Vec<PartResult>>>()?;
            return self.changed_fragments(here, reply, results);
        }
        self.state = State::Fragments(here, reply);
        self.prepare(env, there)
    }

    fn changed_fragments(&self, mut here: Vec<TxPart>, reply: MetaReply, results: Vec<PartResult>) -> Step<Ask> {
        if let Plan::Resplit(resplit) = &self.plan {
            here.extend(resplit_parts::made(resplit, &results)?);
        }
        Ok(decision(here, reply))
    }

    fn prepare(&mut self, env: &Env, list: Vec<TxPart>) -> Step<Ask> {
        let mut by_target: BTreeMap<TargetId, Vec<TxPart>> = BTreeMap::new();
        for part in list {
            by_target.entry(target(env, part.slot())?).or_default().push(part);
        }
        let mut asks = Vec::with_capacity(by_target.len());
        for (target, parts) in by_target {
            let stage = self.asked.entry(target).or_default();
            asks.push((target, *stage, parts));
            *stage += 1;
        }
        Ok(Ask::Prepare(asks))
    }
}

fn here(env: &Env, slot: Slot) -> bool {
    env.map.slot_target(slot) == Some(env.me)
}

fn target(env: &Env, slot: Slot) -> Step<TargetId> {
    env.map.slot_target(slot).ok_or_else(|| ErrorCode::WRONG_SERVER.with(format!("nobody serves slot {slot}")).into())
}

fn split(env: &Env, list: Vec<TxPart>) -> (Vec<TxPart>, Vec<TxPart>) {
    list.into_iter().partition(|part| here(env, part.slot()))
}

fn decision(here: Vec<TxPart>, reply: MetaReply) -> Ask {
    Ask::Decide { here, reply }
}

fn walks(rename: &Rename, from: Found, to: Option<Found>) -> Vec<Walk> {
    let walk = |at, forbidden, refusal| Walk { at, forbidden, refusal, steps: 0 };
    let mut walks = Vec::with_capacity(2);
    if let Some((inode, FileKind::Directory)) = to {
        // The replaced directory may not hold the one that moves: it would not be empty.
        let refusal = if rename.exchange { ErrorCode::INVALID } else { ErrorCode::NOT_EMPTY };
        walks.push(walk(rename.from_parent, inode, refusal));
    }
    if from.1 == FileKind::Directory {
        walks.push(walk(rename.to_parent, from.0, ErrorCode::INVALID));
    }
    walks
}

/// Does the parts that are here: the client's reply, directories that may have outgrown this server, and the batch with the decision, the
/// reply and the changes, one record.
pub fn decide(
    mut change: Change,
    env: &Env,
    request: &MetaRequest,
    (tx, participants): (TxId, Vec<TargetId>),
    here: &[TxPart],
    reply: &MetaReply,
    split_above: u64,
) -> Step<(Vec<u8>, Vec<InodeId>, Batch)> {
    let owned =
        env.user.map(|user| owned_elsewhere(&mut change, env, user, &request.op)).transpose()?.unwrap_or_default();
    for part in here {
        if let Some(user) = env.user {
            check_part(&mut change, env, user, &owned, part)?;
        }
        let result = parts::check(&mut change, part, env.now)?;
        parts::perform(&mut change, part, &result, env.now)?;
    }
    let body = codec::encode(reply);
    // What the server does by itself nobody asks for again.
    if request.session != SessionId(0) {
        replies::keep(&mut change, request, &body);
    }
    if !participants.is_empty() {
        let (session, sequence) = (request.session, request.sequence);
        change.put_record(keys::committed(tx.number), &CommittedRecord { participants, session, sequence });
    }
    let large = change.to_consider(split_above);
    Ok((body, large, change.finish()))
}
