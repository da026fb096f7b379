// SPDX-License-Identifier: Apache-2.0

//! What heartbeats say of the tables. They are sent by another task than the one that has the tables, and begin before these are open.
//!
//! Failure model: none of its own. What cannot be read is not reported; management then knows what it knew before.

use crate::tables::Tables;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How old the number of inodes may be.
const EVERY: Duration = Duration::from_secs(1);

/// Reported with each heartbeat.
#[derive(Default)]
pub(super) struct Reported {
    /// Bytes that names may still take.
    available: OnceLock<Arc<AtomicU64>>,
    inodes: OnceLock<AtomicU64>,
}

impl Reported {
    /// The tables are open.
    pub fn opened(&self, available: Arc<AtomicU64>) {
        // Nobody has set it before.
        let _ = self.available.set(available);
    }

    pub fn free(&self) -> Option<u64> {
        self.available.get().map(|available| available.load(Ordering::Relaxed))
    }

    pub fn inodes(&self) -> Option<u64> {
        self.inodes.get().map(|inodes| inodes.load(Ordering::Relaxed))
    }

    /// Takes the number of inodes from the tables, for ever.
    pub async fn follow(&self, tables: &Tables) -> std::convert::Infallible {
        loop {
            if let Some(inodes) = inodes(tables) {
                self.inodes.get_or_init(AtomicU64::default).store(inodes, Ordering::Relaxed);
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}

/// Inodes of the name space in the tables; none if the count cannot be read.
pub(super) fn inodes(tables: &Tables) -> Option<u64> {
    let inodes = tables.store.get(&nyala_namespace::keys::inode_count()).ok()?;
    inodes.map_or(Some(0), |bytes| <[u8; 8]>::try_from(&bytes[..]).ok().map(u64::from_le_bytes))
}
