// SPDX-License-Identifier: Apache-2.0

//! What a metadata service does with its tables before it serves: makes the root directory if slot 0 is its own and new,
//! and takes up what the last run left: sessions, prepared and decided transactions, truncations.

use super::coordinate::tell_committed;
use super::state::{Promise, State};
use super::truncate;
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::leases::Leases;
use nyala_namespace::records::{CommittedRecord, DirPart, InodeRecord, PreparedRecord, SessionRecord, TruncateRecord};
use nyala_namespace::tx::participant;
use nyala_namespace::view::View;
use nyala_wire::meta_tx::TxId;
use nyala_wire::{ErrorCode, FileKind, InodeId, TargetId, Time, WireError, codec};
use std::ops::ControlFlow;
use std::rc::Rc;

/// Makes the root directory if it is to be here and is not.
pub fn ensure_root(state: &State, now: Time) -> Result<(), WireError> {
    let here = state.map().slot_target(InodeId::ROOT.slot()) == Some(state.me);
    if !here || View::get(&state.tables, &keys::inode(InodeId::ROOT))?.is_some() {
        return Ok(());
    }
    let record = InodeRecord {
        kind: FileKind::Directory,
        perm: 0o755,
        nlink: 2,
        uid: 0,
        gid: 0,
        size: 0,
        atime: now,
        mtime: now,
        ctime: now,
        btime: now,
        rdev: None,
        dir: Some(DirPart { parent: InodeId::ROOT, entries: 0, pattern: None }),
        file: None,
        xattr_bytes: None,
    };
    let mut batch = Batch::new();
    batch.put(keys::inode(InodeId::ROOT), codec::encode(&record));
    batch.put(keys::inode_count(), 1_u64.to_le_bytes());
    state.apply(&batch)?;
    state.store.sync_blocking().map_err(crate::tables::store_error)
}

/// Takes up what the last run left.
pub fn take_up(state: &Rc<State>) -> Result<(), WireError> {
    let mut keepers = Vec::new();
    for (key, value) in rows(state, keys::SESSION)? {
        if let Some(session) = keys::parse_session(&key) {
            state.sessions.borrow_mut().take_up(session, state.now_ms());
            let record: SessionRecord = codec::decode(&value)?;
            keepers.extend(record.leases.filter(|keeps| *keeps).map(|_| session));
        }
    }
    *state.leases.borrow_mut() = Leases::recovering(keepers);
    for (key, value) in rows(state, keys::PREPARED)? {
        let tx = parse_tx(&key).ok_or_else(|| ErrorCode::IO.with("a prepared transaction cannot be read"))?;
        let record: PreparedRecord = codec::decode(&value)?;
        state.lock(tx, &participant::locks(&record))?;
        state.prepared.borrow_mut().insert(tx, Promise::new(true));
    }
    for (key, value) in rows(state, keys::COMMITTED)? {
        let record: CommittedRecord = codec::decode(&value)?;
        if let Some(number) = keys::parse_committed(&key) {
            let request = (record.session, record.sequence);
            state.untold.borrow_mut().insert(request);
            let state = state.clone();
            tokio::task::spawn_local(async move {
                tell_committed(&state, number, record.participants).await;
                state.untold.borrow_mut().remove(&request);
                state.released.notify_waiters();
            });
        }
    }
    let mut truncations = Vec::new();
    for (key, value) in rows(state, keys::TRUNCATE)? {
        let record: TruncateRecord = codec::decode(&value)?;
        truncations.extend(keys::parse_inode(&key).map(|inode| (inode, record)));
    }
    truncate::recover(state, truncations)
}

/// Keys and values.
type Rows = Vec<(Vec<u8>, Vec<u8>)>;

fn rows(state: &State, tag: u8) -> Result<Rows, WireError> {
    let mut found = Vec::new();
    View::scan(&state.tables, &[tag], &[tag + 1], &mut |key, value| {
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
