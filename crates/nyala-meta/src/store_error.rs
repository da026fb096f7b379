// SPDX-License-Identifier: Apache-2.0

//! What errors of the store are to those who asked.
//!
//! Failure model: an error is an answer, never something that is missing. Damage is EIO, unless another member of the mirror group has
//! everything: then it is worth another try, which that one answers (`crate::service::damage`).

use nyala_store::StoreError;
use nyala_wire::{ErrorCode, WireError};
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// The store's errors as clients see them: a full store is ENOSPC, one that is behind or closing is worth another try,
/// anything else is an I/O error that the log explains.
pub fn store_error(error: StoreError) -> WireError {
    match error {
        StoreError::Full { .. } | StoreError::Reserved { .. } => ErrorCode::NO_SPACE.with(error.to_string()),
        StoreError::Busy { .. } => ErrorCode::BUSY.with(error.to_string()),
        StoreError::Closed => ErrorCode::NOT_READY.with("the service stops"),
        other => {
            tracing::error!(error = %other, "metadata store");
            ErrorCode::IO.with(other.to_string())
        }
    }
}

/// Whether somebody else goes on where tables are damaged.
#[derive(Debug, Default)]
pub struct Takeover {
    possible: AtomicBool,
    needed: Notify,
}

impl Takeover {
    /// Another member has everything, or none has.
    pub fn set_possible(&self, possible: bool) {
        self.possible.store(possible, Ordering::Relaxed);
    }

    /// Returns when a reader has come upon damage since the last time, and somebody else can go on.
    pub async fn needed(&self) {
        self.needed.notified().await;
    }

    /// As [`store_error`]; damage is worth another try where somebody else goes on.
    pub fn error(&self, error: StoreError) -> WireError {
        if !error.is_damage() || !self.possible.load(Ordering::Relaxed) {
            return store_error(error);
        }
        self.needed.notify_one();
        ErrorCode::NOT_READY.with("the metadata tables are damaged here; another member of the mirror group takes over")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_worth_another_try_only_where_somebody_takes_over() {
        let damaged = || StoreError::TableDamaged { file: "tree".into(), offset: 4096, reason: "bad".into() };
        let takeover = Takeover::default();
        assert_eq!(takeover.error(damaged()).code, ErrorCode::IO);
        takeover.set_possible(true);
        assert_eq!(takeover.error(damaged()).code, ErrorCode::NOT_READY);
        assert_eq!(takeover.error(StoreError::Busy { bytes: 1 }).code, ErrorCode::BUSY);
        takeover.set_possible(false);
        assert_eq!(takeover.error(damaged()).code, ErrorCode::IO);
    }
}
