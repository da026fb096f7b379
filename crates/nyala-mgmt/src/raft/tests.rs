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
    let options = Options { segment_bytes: 1 << 20, map_bytes: 1 << 26, ..Options::default() };
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
