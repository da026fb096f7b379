// SPDX-License-Identifier: Apache-2.0

//! The tables as the server changes them.
//!
//! Failure model: what is applied is in memory until the next write of the log ([`super::flusher`]); a crash before that takes it
//! back, and nobody was told of it.

use super::flusher::Flusher;
use crate::tables::{Tables, store_error};
use nyala_kv::{Batch, ChangeKind, Visit};
use nyala_namespace::server::io;
use nyala_namespace::view::View;
use nyala_wire::{InodeId, SessionId, WireError};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// What is applied waits for the next write of the log.
pub struct LoggedTables {
    /// The tables.
    pub tables: Tables,
    /// Writes the log.
    pub flusher: Rc<Flusher>,
}

impl View for LoggedTables {
    fn get(&self, key: &[u8]) -> Result<Option<Arc<[u8]>>, WireError> {
        self.tables.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit) -> Result<(), WireError> {
        self.tables.scan(from, to, visit)
    }

    fn is_locked(&self, inode: InodeId) -> Result<bool, WireError> {
        self.tables.is_locked(inode)
    }

    fn openers(&self, inode: InodeId) -> Result<usize, WireError> {
        self.tables.openers(inode)
    }
}

impl io::Tables for LoggedTables {
    fn apply(&self, batch: &Batch) -> Result<(), WireError> {
        self.flusher.apply(&self.tables, batch).map_err(store_error)
    }

    fn has_unwritten(&self) -> bool {
        self.flusher.has_unwritten()
    }

    fn is_full(&self) -> bool {
        self.tables.store.over_limit()
    }

    fn admits(&self, kind: ChangeKind) -> bool {
        self.tables.store.admits(kind)
    }

    fn opened_by(&self, session: SessionId) -> Result<Vec<InodeId>, WireError> {
        Ok(self.tables.opened_by(session))
    }

    fn deferred(&self) -> Result<BTreeSet<InodeId>, WireError> {
        Ok(self.tables.deferred())
    }
}
