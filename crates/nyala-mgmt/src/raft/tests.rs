// SPDX-License-Identifier: Apache-2.0

//! The log and state machine under openraft: its own storage suite, crashes at every point of the disk, three nodes.

mod crash;
mod three;

use super::log::RaftLog;
use super::machine::Machine;
use super::{StorageError, TypeConfig};
use nyala_cluster::Command;
use nyala_store::{Options, Store};
use nyala_wire::ClusterId;
use nyala_wire::map::Settings;
use openraft::testing::{StoreBuilder, Suite};
use std::path::Path;

fn store(dir: &Path) -> Store {
    let options = Options { segment_bytes: 1 << 20, table_bytes: 1 << 26, ..Options::default() };
    Store::open(dir, options).unwrap().0
}

fn init() -> Command {
    Command::Init { cluster: ClusterId([5; 16]), settings: Settings::default() }
}

fn create_pool(number: u64) -> Command {
    Command::CreatePool { alias: format!("pool-{number}") }
}

struct Builder;

impl StoreBuilder<TypeConfig, RaftLog, Machine, tempfile::TempDir> for Builder {
    async fn build(&self) -> Result<(tempfile::TempDir, RaftLog, Machine), StorageError> {
        let dir = tempfile::tempdir().unwrap();
        let log = RaftLog::new(store(dir.path()));
        let machine = Machine::load(log.clone()).unwrap();
        Ok((dir, log, machine))
    }
}

#[test]
fn storage_suite() {
    Suite::test_all(Builder).unwrap();
}

#[tokio::test]
async fn replication_gets_no_part_of_what_was_purged() {
    use super::{Entry, LogId};
    use openraft::storage::{RaftLogReader, RaftLogStorage, RaftLogStorageExt};
    let dir = tempfile::tempdir().unwrap();
    let mut log = RaftLog::new(store(dir.path()));
    let id = |index| LogId::new(openraft::CommittedLeaderId::new(1, 1), index);
    let entries = (0..10).map(|index| Entry { log_id: id(index), payload: openraft::EntryPayload::Blank });
    log.blocking_append(entries.collect::<Vec<_>>()).await.unwrap();
    log.purge(id(5)).await.unwrap();
    let mut indices = async |start, end| -> Vec<u64> {
        log.limited_get_log_entries(start, end).await.unwrap().iter().map(|entry| entry.log_id.index).collect()
    };
    assert_eq!(indices(6, 9).await, [6, 7, 8]);
    assert_eq!(indices(3, 9).await, [0_u64; 0], "not those from 6 on");
}

/// An error would end this node's part in Raft: openraft stops for good when its storage fails.
#[tokio::test]
async fn a_full_disk_delays_the_log_and_does_not_end_it() {
    use super::Vote;
    use openraft::storage::RaftLogStorage;
    use std::time::Duration;
    let machine = nyala_store::testing::Machine::new(0);
    let options = Options { manual: true, segment_bytes: 16 << 10, ..Options::default() };
    let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options).unwrap();
    let mut log = RaftLog::new(store);
    machine.set_free_bytes(Some(0));
    machine.set_ordered_full(true);
    let mut term = 0;
    let waits = async {
        loop {
            term += 1;
            log.save_vote(&Vote::new(term, 1)).await.unwrap();
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(2), waits).await;
    assert!(waited.is_err() && term > 10, "{term}");
    machine.set_free_bytes(None);
    let saved = tokio::time::timeout(Duration::from_secs(30), log.save_vote(&Vote::new(term, 1))).await;
    saved.expect("there is room").unwrap();
    assert_eq!(log.read_vote().await.unwrap(), Some(Vote::new(term, 1)));
}
