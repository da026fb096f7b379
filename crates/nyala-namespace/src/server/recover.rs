// SPDX-License-Identifier: Apache-2.0

//! What a server finds in its tables when it starts: sessions, prepared and decided transactions, truncations.

use super::replays::Replays;
use super::state::{Promise, State};
use super::telling::TellAgain;
use super::{deferred_unlink, forget, held, replay, resolve_doubts, resplit, session_expiry, slots};
use crate::keys;
use crate::records::{CommittedRecord, DirPart, InodeRecord, PreparedRecord, SessionRecord, TruncateRecord};
use crate::tx::participant;
use nyala_kv::Batch;
use nyala_wire::meta_tx::TxId;
use nyala_wire::{ErrorCode, InodeId, TargetId, Time, WireError, codec};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// The batch that makes the root directory, if it is to be here and is not.
pub fn root(state: &State, now: Time) -> Result<Option<Batch>, WireError> {
    let here = state.ground.is_here(InodeId::ROOT.slot());
    if !here || state.ground.tables.get(&keys::inode(InodeId::ROOT))?.is_some() {
        return Ok(None);
    }
    let record = InodeRecord::root_directory(DirPart::new(InodeId::ROOT, None), now);
    let mut batch = Batch::new();
    batch.put(keys::inode(InodeId::ROOT), codec::encode(&record));
    batch.put(keys::inode_count(), 1_u64.to_le_bytes());
    Ok(Some(batch))
}

/// Takes up what the last run left. `all_answered`: nothing is missing that it answered for. Whether nothing is missing at all.
pub fn recover(state: &mut State, all_answered: bool) -> Result<bool, WireError> {
    let (mut caching, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for (key, value) in rows(state, keys::SESSION)? {
        if let Some(session) = keys::parse_session(&key) {
            state.sessions.take_up(session, state.now.ms);
            let record: SessionRecord = codec::decode(&value)?;
            if record.guest != Some(true) {
                silent.insert(session);
            }
            caching.extend(record.caches.filter(|caches| *caches).map(|_| session));
        }
    }
    let held::TakenUp { may_hold, whole } = held::take_up(state, caching.into_iter(), all_answered)?;
    state.delegations.recover(may_hold, keys::first_sequence(state.boot));
    for (key, value) in rows(state, keys::PREPARED)? {
        let tx = parse_tx(&key).ok_or_else(|| ErrorCode::IO.with("a prepared transaction cannot be read"))?;
        let record: PreparedRecord = codec::decode(&value)?;
        state.lock(tx, &participant::locks(&record))?;
        state.prepared.insert(tx, Promise { since_ms: state.now.ms, recovered: true });
    }
    for (key, value) in rows(state, keys::COMMITTED)? {
        let record: CommittedRecord = codec::decode(&value)?;
        if let Some(number) = keys::parse_committed(&key) {
            let request = (record.session, record.sequence);
            state.unacknowledged.insert(request);
            state.begin(TellAgain::new(number, record.participants, request));
        }
    }
    let mut truncations = BTreeMap::new();
    for (key, value) in rows(state, keys::TRUNCATE)? {
        let record: TruncateRecord = codec::decode(&value)?;
        truncations.extend(keys::parse_inode(&key).map(|inode| (inode, record)));
    }
    state.replays = Replays::new(silent, truncations, whole);
    Ok(whole)
}

/// Begins what a server does by itself. `whole`: nothing is missing of what earlier runs answered for.
pub fn begin(state: &mut State, whole: bool) -> Result<(), WireError> {
    state.begin(replay::DoAgain::default());
    state.begin(session_expiry::Expire::default());
    state.begin(resolve_doubts::ResolveDoubts::default());
    state.begin(forget::Forget::default());
    state.begin(held::ForgetHeld::new(whole));
    state.begin(deferred_unlink::DeferredUnlinks::default());
    slots::follow_map(state)?;
    state.begin(slots::GiveSlots::default());
    state.begin(slots::Purge::default());
    state.begin(resplit::Resplits::default());
    Ok(())
}

/// Keys and values.
type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn rows(state: &State, tag: u8) -> Result<Rows, WireError> {
    let mut found = Vec::new();
    state.ground.tables.scan(&[tag], &[tag + 1], &mut |key, value| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn parse_tx(key: &[u8]) -> Option<TxId> {
    let (coordinator, number) = key.get(1..)?.split_first_chunk::<2>()?;
    let coordinator = TargetId(u16::from_be_bytes(*coordinator));
    Some(TxId { coordinator, number: u64::from_be_bytes(number.try_into().ok()?) })
}
