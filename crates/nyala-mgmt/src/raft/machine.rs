// SPDX-License-Identifier: Apache-2.0

//! The replicated state machine: the cluster state in memory, and its snapshots on disk.
//!
//! **Failure model.** See [`super`]. `apply` writes nothing: after a crash the state is the last snapshot and the log
//! behind it, applied again; changes that are noted for people then have no time. A snapshot is on disk before openraft may purge what it stands for.

use super::log::{RaftLog, RecordError};
use super::record::{SnapshotHead, SnapshotRecord};
use super::{Entry, LogId, Outcome, StorageError, StoredMembership, TypeConfig};
use crate::clock::wall_ms;
use nyala_cluster::{Change, ChangeLog, ClusterError, ClusterState, Command, Event};
use nyala_wire::map::ClusterMap;
use openraft::storage::RaftStateMachine;
use openraft::{AnyError, BasicNode, EntryPayload, OptionalSend, RaftSnapshotBuilder, Snapshot, SnapshotMeta};
use openraft::{StorageError as OpenraftError, StorageIOError};
use parking_lot::RwLock;
use std::io::Cursor;
use std::sync::Arc;
use tokio::sync::watch;

/// What the state machine shows to the rest of the service.
pub(crate) struct View {
    state: RwLock<Arc<ClusterState>>,
    maps: watch::Sender<Arc<ClusterMap>>,
    changes: parking_lot::Mutex<ChangeLog>,
    /// The last entry of the log when it was opened: it and those before it are changes of an earlier time.
    opened_with: u64,
}

impl View {
    /// The last changes, newest first.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.changes.lock().newest().cloned().collect()
    }

    /// Applies a command, and notes what came of it.
    fn apply(&self, state: &mut ClusterState, index: u64, command: Command) -> Result<Vec<Event>, ClusterError> {
        let (before, noted) = (state.clone(), command.clone());
        let events = state.apply(command)?;
        let at_ms = (index > self.opened_with).then(wall_ms);
        self.changes.lock().note(at_ms, &before, &noted, &events, state);
        Ok(events)
    }

    /// The state as of the last applied entry.
    pub(crate) fn state(&self) -> Arc<ClusterState> {
        self.state.read().clone()
    }

    /// The newest map.
    pub(crate) fn map(&self) -> Arc<ClusterMap> {
        self.maps.borrow().clone()
    }

    /// Tells of every new map.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<ClusterMap>> {
        self.maps.subscribe()
    }

    fn publish(&self, state: &ClusterState) {
        let changed = self.state.read().version != state.version;
        *self.state.write() = Arc::new(state.clone());
        if changed {
            self.maps.send_replace(Arc::new(state.map()));
        }
    }
}

/// The state machine; clones share everything.
#[derive(Clone)]
pub(crate) struct Machine {
    log: RaftLog,
    view: Arc<View>,
    inner: Arc<parking_lot::Mutex<Inner>>,
}

#[derive(Clone, Default)]
struct Inner {
    state: ClusterState,
    applied: Option<LogId>,
    members: StoredMembership,
}

/// Why the state machine could not be loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    State(#[from] ClusterError),
}

impl Machine {
    /// Loads the last snapshot; openraft then applies the log behind it.
    pub(crate) fn load(log: RaftLog) -> Result<Machine, LoadError> {
        let inner = match log.snapshot()? {
            None => Inner::default(),
            Some(record) => {
                let meta = SnapshotMeta::from(record.head);
                let state = ClusterState::decode(&record.state)?;
                Inner { state, applied: meta.last_log_id, members: meta.last_membership }
            }
        };
        let state = Arc::new(inner.state.clone());
        let maps = watch::Sender::new(Arc::new(state.map()));
        let opened_with = log.last_index()?;
        let view = Arc::new(View { state: RwLock::new(state), maps, changes: Default::default(), opened_with });
        Ok(Machine { log, view, inner: Arc::new(parking_lot::Mutex::new(inner)) })
    }

    /// What others see of it.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.clone()
    }

    async fn save(&self, meta: &SnapshotMeta<u64, BasicNode>, state: Vec<u8>) -> Result<(), StorageError> {
        let record = SnapshotRecord { head: SnapshotHead::from(meta), state };
        let saved = self.log.save_snapshot(&record).await;
        saved.map_err(|e| StorageIOError::write_snapshot(Some(meta.signature()), AnyError::new(&e)).into())
    }
}

impl RaftStateMachine<TypeConfig> for Machine {
    type SnapshotBuilder = Machine;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), StorageError> {
        let inner = self.inner.lock();
        Ok((inner.applied, inner.members.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Outcome>, StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut inner = self.inner.lock();
        let mut outcomes = Vec::new();
        for entry in entries {
            inner.applied = Some(entry.log_id);
            outcomes.push(Outcome(match entry.payload {
                EntryPayload::Blank => Ok(Vec::new()),
                EntryPayload::Normal(command) => self.view.apply(&mut inner.state, entry.log_id.index, command),
                EntryPayload::Membership(members) => {
                    inner.members = StoredMembership::new(Some(entry.log_id), members);
                    Ok(Vec::new())
                }
            }));
        }
        self.view.publish(&inner.state);
        Ok(outcomes)
    }

    async fn get_snapshot_builder(&mut self) -> Machine {
        self.clone()
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta<u64, BasicNode>,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let bytes = snapshot.into_inner();
        let decoded = ClusterState::decode(&bytes).map_err(|e| {
            let io = StorageIOError::read_snapshot(Some(meta.signature()), AnyError::new(&e));
            OpenraftError::from(io)
        });
        let state = decoded?;
        self.save(meta, bytes).await?;
        self.view.publish(&state);
        *self.inner.lock() = Inner { state, applied: meta.last_log_id, members: meta.last_membership.clone() };
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<TypeConfig>>, StorageError> {
        let read = self.log.snapshot();
        let record = read.map_err(|e| StorageError::from(StorageIOError::read_snapshot(None, AnyError::new(&e))))?;
        Ok(record.map(|record| Snapshot { meta: record.head.into(), snapshot: Box::new(Cursor::new(record.state)) }))
    }
}

impl RaftSnapshotBuilder<TypeConfig> for Machine {
    async fn build_snapshot(&mut self) -> Result<Snapshot<TypeConfig>, StorageError> {
        let Inner { state, applied, members } = self.inner.lock().clone();
        let snapshot_id = applied.map_or_else(|| "0".to_owned(), |at| format!("{}-{}", at.leader_id.term, at.index));
        let meta = SnapshotMeta { last_log_id: applied, last_membership: members, snapshot_id };
        let bytes = state.encode();
        self.save(&meta, bytes.clone()).await?;
        Ok(Snapshot { meta, snapshot: Box::new(Cursor::new(bytes)) })
    }
}
