// SPDX-License-Identifier: Apache-2.0

//! An operator gives up the majority of management: the node of this directory, whose service is stopped, becomes the only one
//! with a vote, with everything that its log holds.
//!
//! **Failure model.** The process dies in between: the log, the snapshot and the vote are replaced in one record of the store, so
//! the directory is as before or as after. The service runs: the store's lock says so. Entries of this log that were never
//! decided are kept, for nobody can say of them that they were not. The nodes that are given up may come back, alone or as a
//! majority of what they remember; see [`nyala_cluster::recovered`] and `raft::peers` for what keeps them from being
//! believed. What was decided without this node is lost.

use crate::MgmtError;
use crate::clock::wall_ms;
use crate::directory::{self, Directory, Identity};
use crate::raft::log::{RaftLog, RecordError};
use crate::raft::machine::LoadError;
use crate::raft::record::{SnapshotHead, SnapshotRecord};
use crate::raft::{LogId, StoredMembership, Vote};
use crate::remains::{Other, Remains};
use nyala_cluster::ClusterState;
use nyala_wire::ClusterId;
use nyala_wire::audit::AuditRecord;
use nyala_wire::map::Role;
use openraft::{BasicNode, CommittedLeaderId, EntryPayload, Membership, SnapshotMeta};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a directory holds when everything in its log is applied.
struct Held {
    directory: Directory,
    log: RaftLog,
    state: ClusterState,
    last: LogId,
    vote: Option<Vote>,
}

/// Looks at a directory whose service is stopped. Blocks on the disk.
pub fn look_at_remains(dir: &Path) -> Result<Remains, MgmtError> {
    let held = Held::open(dir)?;
    let remains = held.remains()?;
    held.directory.store.close().map_err(MgmtError::Store)?;
    Ok(remains)
}

/// Makes the node of a directory, whose service is stopped, all that there is of management. `key` and `host` say who ordered it.
/// Blocks on the disk.
pub fn recover(dir: &Path, key: String, host: String) -> Result<Remains, MgmtError> {
    let held = Held::open(dir)?;
    if held.remains()?.others.is_empty() {
        held.directory.store.close().map_err(MgmtError::Store)?;
        return Err(MgmtError::NothingLost { dir: dir.to_owned() });
    }
    held.go_on_alone("mgmt recover", key, host)
}

/// The same of a directory that was put back from a copy, also an only node's: what was decided since is lost as if others had decided it.
pub fn go_on_from_copy(dir: &Path, key: String, host: String) -> Result<Remains, MgmtError> {
    Held::open(dir)?.go_on_alone("backup restore", key, host)
}

fn own_address(state: &ClusterState, uuid: ClusterId) -> String {
    let me = state.nodes.iter().find(|node| node.uuid == uuid);
    me.and_then(|node| node.addresses.first()).map(ToString::to_string).unwrap_or_default()
}

impl Held {
    fn open(dir: &Path) -> Result<Held, MgmtError> {
        let directory = directory::open_used(dir)?;
        let stored = |e: &dyn std::fmt::Display| MgmtError::Stored { dir: dir.to_owned(), reason: e.to_string() };
        let log = RaftLog::new(directory.store.clone());
        let (state, last) = all_applied(&log).map_err(|e| stored(&e))?;
        let last = last.ok_or_else(|| stored(&"its log is empty; this node holds nothing of the cluster"))?;
        let vote = log.vote().map_err(|e| stored(&e))?.map(Vote::from);
        Ok(Held { directory, log, state, last, vote })
    }

    /// Makes this node all that there is of management, by order of a command.
    fn go_on_alone(mut self, command: &str, key: String, host: String) -> Result<Remains, MgmtError> {
        let Identity { uuid, node_id: me, .. } = self.directory.identity;
        let dir = self.directory.path.clone();
        let stored = |e: &dyn std::fmt::Display| MgmtError::Stored { dir: dir.clone(), reason: e.to_string() };
        let what = format!("{command}: node {me} alone, from entry {} of its log", self.last.index);
        let order = AuditRecord { at_ms: wall_ms(), key, host, what, ..AuditRecord::default() };
        let drawn = directory::random_id()?.0.first_chunk().copied().map_or(1, u64::from_le_bytes).max(1);
        let state = nyala_cluster::recovered(&self.state, uuid, drawn, order).map_err(|e| stored(&e))?;
        let term = self.vote.map_or(0, |vote| vote.leader_id.term).max(self.last.leader_id.term) + 1;
        let at = LogId::new(CommittedLeaderId::new(term, me), self.last.index + 1);
        let alone = BTreeMap::from([(me, BasicNode::new(own_address(&state, uuid)))]);
        let members = Membership::new(vec![BTreeSet::from([me])], alone);
        let meta = SnapshotMeta {
            last_log_id: Some(at),
            last_membership: StoredMembership::new(Some(at), members),
            snapshot_id: format!("{term}-{}", at.index),
        };
        let snapshot = SnapshotRecord { head: SnapshotHead::from(&meta), state: state.encode() };
        self.log.begin_anew(at, Vote::new(term, me), &snapshot).map_err(|e| stored(&e))?;
        (self.state, self.last) = (state, at);
        let remains = self.remains()?;
        self.directory.store.close().map_err(MgmtError::Store)?;
        Ok(remains)
    }

    fn remains(&self) -> Result<Remains, MgmtError> {
        let Identity { cluster, uuid, node_id, .. } = self.directory.identity;
        let dir = self.directory.path.clone();
        let stored = |e: RecordError| MgmtError::Stored { dir: dir.clone(), reason: e.to_string() };
        let decided = self.log.decided().map_err(stored)?.map_or(0, |at| at.index);
        let vote = self.log.vote().map_err(stored)?.map(Vote::from);
        let mgmt = || self.state.nodes.iter().filter(|node| node.role == Role::Mgmt);
        let other = |node: &nyala_cluster::NodeRecord| Other {
            node: node.id.0,
            alias: node.alias.clone(),
            addresses: node.addresses.clone(),
        };
        Ok(Remains {
            cluster,
            node: node_id,
            alias: mgmt().find(|node| node.uuid == uuid).map(|node| node.alias.clone()).unwrap_or_default(),
            last_entry: self.last.index,
            last_term: self.last.leader_id.term,
            decided: decided.min(self.last.index),
            voted_term: vote.map_or(0, |vote| vote.leader_id.term),
            map_version: self.state.version.0,
            recoveries: self.state.version.recoveries(),
            services: self.state.nodes.len() - mgmt().count(),
            targets: self.state.targets.len(),
            groups: self.state.groups.len(),
            addresses: mgmt().find(|node| node.uuid == uuid).map(|node| node.addresses.clone()).unwrap_or_default(),
            others: mgmt().filter(|node| node.uuid != uuid).map(other).collect(),
            dir,
        })
    }
}

/// The state with all entries applied, decided or not, and the last of them.
fn all_applied(log: &RaftLog) -> Result<(ClusterState, Option<LogId>), LoadError> {
    let (mut state, mut last) = (ClusterState::default(), None);
    if let Some(record) = log.snapshot()? {
        last = SnapshotMeta::from(record.head).last_log_id;
        state = ClusterState::decode(&record.state)?;
    }
    for entry in log.behind(last)? {
        last = Some(entry.log_id);
        if let EntryPayload::Normal(command) = entry.payload {
            // One that the state refuses changes nothing, here as on every other node.
            let _ = state.apply(command);
        }
    }
    Ok((state, last))
}
