// SPDX-License-Identifier: Apache-2.0

//! The tables as the server changes them.
//!
//! Failure model: what is applied is in memory until the next write of the log ([`super::flusher`]); a crash before that takes it
//! back, and nobody was told of it.

use super::state::State;
use nyala_kv::{Batch, ChangeKind, Visit};
use nyala_namespace::server::io;
use nyala_namespace::view::View;
use nyala_wire::{InodeId, SessionId, WireError};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// What is applied waits for the next write of the log.
pub struct LoggedTables(pub Rc<State>);

impl View for LoggedTables {
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError> {
        self.0.tables.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError> {
        self.0.tables.scan(from, to, visit)
    }

    fn number(&self, key: &[u8]) -> Result<Option<u64>, WireError> {
        self.0.tables.number(key)
    }

    fn is_locked(&self, inode: InodeId) -> Result<bool, WireError> {
        self.0.tables.is_locked(inode)
    }

    fn openers(&self, inode: InodeId) -> Result<usize, WireError> {
        self.0.tables.openers(inode)
    }

    fn opened_by(&self, session: SessionId) -> Result<Vec<InodeId>, WireError> {
        Ok(self.0.tables.opened_by(session))
    }
}

impl io::Tables for LoggedTables {
    fn apply(&self, batch: &Batch) -> Result<(), WireError> {
        self.0.apply(batch)
    }

    fn position(&self) -> u64 {
        self.0.applied()
    }

    fn has_unwritten(&self) -> bool {
        self.0.flusher.has_unwritten()
    }

    fn is_full(&self) -> bool {
        self.0.tables.store.over_limit()
    }

    fn admits(&self, kind: ChangeKind) -> bool {
        self.0.tables.store.admits(kind)
    }

    fn deferred(&self) -> Result<BTreeSet<InodeId>, WireError> {
        Ok(self.0.tables.deferred())
    }
}
