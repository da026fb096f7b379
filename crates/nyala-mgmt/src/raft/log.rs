// SPDX-License-Identifier: Apache-2.0

//! The Raft log, the vote and the last snapshot in a [`Store`].
//!
//! **Failure model.** See [`super`]. All of it shares one store, whose log is written in order: what is written later is
//! never on disk without what was written before. So an entry is never there without the ones before it, and a purge
//! never without the snapshot that made it possible. Where the disk has no room, not even the store's reserves, a write waits
//! until there is some and says so: an error would end this node's part in Raft for good. Others lead meanwhile.

use super::record::{EntryRecord, Position, SnapshotRecord, VoteRecord};
use super::{Entry, LogId, StorageError, TypeConfig, Vote};
use minicbor::{Decode, Encode};
use nyala_store::{Batch, Lsn, Store, StoreError};
use nyala_wire::codec;
use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{AnyError, ErrorSubject, ErrorVerb, LogState, OptionalSend, RaftLogReader};
use std::fmt::Debug;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::time::Duration;

/// Layout of all values: this byte, then the codec's encoding. A newer layout gets the next number.
const LAYOUT: u8 = 1;

/// Pause before a write that found no room is tried again.
const ROOM_PAUSE: Duration = Duration::from_millis(500);

const VOTE: &[u8] = b"V";
const COMMITTED: &[u8] = b"C";
const PURGED: &[u8] = b"P";
const SNAPSHOT: &[u8] = b"S";
const ENTRY: u8 = b'L';

/// `L` and the index, most significant byte first, so that keys sort as indices do.
fn entry_key(index: u64) -> [u8; 9] {
    let mut key = [ENTRY; 9];
    key[1..].copy_from_slice(&index.to_be_bytes()); // why big-endian: byte order is the order of the keys
    key
}

/// What can go wrong with a stored value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the record under key {key:02x?} has layout {found}, this build reads {LAYOUT}; use the newer build")]
    Newer { key: Vec<u8>, found: u8 },
    #[error("the record under key {key:02x?} cannot be read: {reason}")]
    Damaged { key: Vec<u8>, reason: String },
}

fn failed(subject: ErrorSubject<u64>, verb: ErrorVerb, error: &RecordError) -> StorageError {
    let io = openraft::StorageIOError::new(subject, verb, AnyError::new(error));
    StorageError::from(io)
}

/// The log; clones share the store.
#[derive(Clone)]
pub(crate) struct RaftLog {
    store: Store,
}

impl RaftLog {
    pub(crate) fn new(store: Store) -> RaftLog {
        RaftLog { store }
    }

    fn get<T: for<'b> Decode<'b, ()>>(&self, key: &[u8]) -> Result<Option<T>, RecordError> {
        self.store.get(key)?.map(|value| unpack(key, &value)).transpose()
    }

    async fn put<T: Encode<()>>(&self, key: &[u8], value: &T) -> Result<Lsn, RecordError> {
        Ok(self.apply(Batch::new().put(key, pack(value))).await?)
    }

    /// Applies a batch when there is room for it.
    async fn apply(&self, batch: &Batch) -> Result<Lsn, StoreError> {
        let mut is_said = false;
        loop {
            self.store.wait_room().await;
            match self.store.apply(batch) {
                Err(error @ (StoreError::Full { .. } | StoreError::Busy { .. })) => {
                    if !std::mem::replace(&mut is_said, true) {
                        tracing::error!(%error, "the log of management waits for room on its disk");
                    }
                    tokio::time::sleep(ROOM_PAUSE).await;
                }
                done => return done,
            }
        }
    }

    async fn put_durably<T: Encode<()>>(&self, key: &[u8], value: &T) -> Result<(), RecordError> {
        let lsn = self.put(key, value).await?;
        Ok(self.store.wait_durable(lsn).await?)
    }

    /// Whether nothing was ever stored.
    pub(crate) fn is_empty(&self) -> Result<bool, RecordError> {
        let mut empty = true;
        self.store.scan(Bound::Unbounded, Bound::Unbounded, &mut |_, _| {
            empty = false;
            ControlFlow::Break(())
        })?;
        Ok(empty)
    }

    pub(crate) fn snapshot(&self) -> Result<Option<SnapshotRecord>, RecordError> {
        self.get(SNAPSHOT)
    }

    pub(crate) async fn save_snapshot(&self, record: &SnapshotRecord) -> Result<(), RecordError> {
        self.put_durably(SNAPSHOT, record).await
    }

    /// The vote as it was stored last.
    pub(crate) fn vote(&self) -> Result<Option<VoteRecord>, RecordError> {
        self.get(VOTE)
    }

    /// Whether this entry is neither in the log nor in what a snapshot stands for.
    pub(crate) fn lacks(&self, id: LogId) -> Result<bool, RecordError> {
        let entry = self.get::<EntryRecord>(&entry_key(id.index))?;
        if entry.is_some_and(|entry| Entry::from(entry).log_id == id) {
            return Ok(false);
        }
        let purged = self.get::<Position>(PURGED)?.map(LogId::from);
        Ok(purged.is_none_or(|purged| purged.index < id.index))
    }

    fn entries(&self, range: impl RangeBounds<u64>) -> Result<Vec<Entry>, RecordError> {
        let (from, to) = (range.start_bound().map(|i| entry_key(*i)), range.end_bound().map(|i| entry_key(*i)));
        let from = match &from {
            Bound::Included(key) => Bound::Included(&key[..]),
            Bound::Excluded(key) => Bound::Excluded(&key[..]),
            Bound::Unbounded => Bound::Included(&[ENTRY][..]),
        };
        let to = match &to {
            Bound::Included(key) => Bound::Included(&key[..]),
            Bound::Excluded(key) => Bound::Excluded(&key[..]),
            Bound::Unbounded => Bound::Excluded(&[ENTRY + 1][..]),
        };
        let mut out = Vec::new();
        let mut damage = None;
        self.store.scan(from, to, &mut |key, value| match unpack::<EntryRecord>(key, value) {
            Ok(record) => {
                out.push(Entry::from(record));
                ControlFlow::Continue(())
            }
            Err(error) => {
                damage = Some(error);
                ControlFlow::Break(())
            }
        })?;
        damage.map_or(Ok(out), Err)
    }

    fn delete_entries(&self, range: impl RangeBounds<u64>, batch: &mut Batch) -> Result<(), RecordError> {
        for entry in self.entries(range)? {
            batch.delete(entry_key(entry.log_id.index));
        }
        Ok(())
    }

    /// Number of the last entry that is or was in the log; 0 if there was none.
    pub(crate) fn last_index(&self) -> Result<u64, RecordError> {
        let snapshot = self.snapshot()?.and_then(|record| openraft::SnapshotMeta::from(record.head).last_log_id);
        Ok(self.last_entry()?.max(snapshot).map_or(0, |id| id.index))
    }

    /// All entries behind this one, in order; all that there are without one.
    pub(crate) fn behind(&self, at: Option<LogId>) -> Result<Vec<Entry>, RecordError> {
        self.entries(at.map_or(0, |at| at.index + 1)..)
    }

    /// The last entry that is known to be decided.
    pub(crate) fn decided(&self) -> Result<Option<LogId>, RecordError> {
        Ok(self.get::<Position>(COMMITTED)?.map(LogId::from))
    }

    /// Puts a snapshot and a vote in the place of everything that there is, in one step and on disk, as if the entries up to
    /// `at` had been purged. For a log that no Raft runs on. Blocks on the disk.
    pub(crate) fn begin_anew(&self, at: LogId, vote: Vote, snapshot: &SnapshotRecord) -> Result<(), RecordError> {
        let mut batch = Batch::new();
        self.delete_entries(.., &mut batch)?;
        batch.put(SNAPSHOT, pack(snapshot)).put(VOTE, pack(&VoteRecord::from(vote)));
        batch.put(PURGED, pack(&Position::from(at))).put(COMMITTED, pack(&Position::from(at)));
        self.store.apply(&batch)?;
        Ok(self.store.sync_blocking()?)
    }

    fn last_entry(&self) -> Result<Option<LogId>, RecordError> {
        Ok(self.entries(..)?.last().map(|entry| entry.log_id))
    }
}

pub(crate) fn pack<T: Encode<()>>(value: &T) -> Vec<u8> {
    let mut out = vec![LAYOUT];
    codec::encode_into(value, &mut out);
    out
}

pub(crate) fn unpack<T: for<'b> Decode<'b, ()>>(key: &[u8], value: &[u8]) -> Result<T, RecordError> {
    let key = || key.to_vec();
    match value.split_first() {
        Some((&LAYOUT, body)) => {
            codec::decode(body).map_err(|e| RecordError::Damaged { key: key(), reason: e.message })
        }
        Some((&found, _)) => Err(RecordError::Newer { key: key(), found }),
        None => Err(RecordError::Damaged { key: key(), reason: "it is empty".to_owned() }),
    }
}

impl RaftLogReader<TypeConfig> for RaftLog {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry>, StorageError> {
        self.entries(range).map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Read, &e))
    }

    /// For replication: without a gap from `start` on, or nothing. A task that waits for a peer that is away may ask for
    /// what has been purged meanwhile; openraft would send the rest, and the peer would have a log with a hole. With
    /// nothing, it finds out that the peer needs a snapshot.
    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry>, StorageError> {
        let mut entries = self.try_get_log_entries(start..end).await?;
        let whole = entries.iter().zip(start..).take_while(|(entry, index)| entry.log_id.index == *index).count();
        entries.truncate(whole);
        Ok(entries)
    }
}

impl RaftLogStorage<TypeConfig> for RaftLog {
    type LogReader = RaftLog;

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, StorageError> {
        let read = || -> Result<_, RecordError> {
            let purged = self.get::<Position>(PURGED)?.map(LogId::from);
            let last_log_id = self.last_entry()?.or(purged);
            Ok(LogState { last_purged_log_id: purged, last_log_id })
        };
        read().map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Read, &e))
    }

    async fn get_log_reader(&mut self) -> RaftLog {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        let saved = self.put_durably(VOTE, &VoteRecord::from(*vote)).await;
        saved.map_err(|e| failed(ErrorSubject::Vote, ErrorVerb::Write, &e))
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        let vote = self.get::<VoteRecord>(VOTE).map_err(|e| failed(ErrorSubject::Vote, ErrorVerb::Read, &e))?;
        Ok(vote.map(Vote::from))
    }

    /// Not waited for: it only saves work at the next start, and comes to disk with whatever is written next.
    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        let Some(committed) = committed else { return Ok(()) };
        let saved = self.put(COMMITTED, &Position::from(committed)).await;
        saved.map(drop).map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Write, &e))
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        let read = self.get::<Position>(COMMITTED);
        Ok(read.map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Read, &e))?.map(LogId::from))
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<TypeConfig>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut batch = Batch::new();
        for entry in entries {
            let key = entry_key(entry.log_id.index);
            batch.put(key, pack(&EntryRecord::from(entry)));
        }
        let applied = self.apply(&batch).await.map_err(RecordError::from);
        let lsn = applied.map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Write, &e))?;
        let store = self.store.clone();
        tokio::spawn(async move {
            callback.log_io_completed(store.wait_durable(lsn).await.map_err(std::io::Error::other));
        });
        Ok(())
    }

    async fn truncate(&mut self, log_id: LogId) -> Result<(), StorageError> {
        let mut batch = Batch::new();
        let deleted = self.delete_entries(log_id.index.., &mut batch);
        deleted.map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Delete, &e))?;
        let write = self.apply(&batch).await.map_err(RecordError::from);
        let lsn = write.map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Delete, &e))?;
        let durable = self.store.wait_durable(lsn).await.map_err(RecordError::from);
        durable.map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Delete, &e))
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), StorageError> {
        let mut batch = Batch::new();
        batch.put(PURGED, pack(&Position::from(log_id)));
        let deleted = self.delete_entries(..=log_id.index, &mut batch);
        deleted.map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Delete, &e))?;
        let write = self.apply(&batch).await.map_err(RecordError::from);
        write.map(drop).map_err(|e| failed(ErrorSubject::Logs, ErrorVerb::Delete, &e))
    }
}
